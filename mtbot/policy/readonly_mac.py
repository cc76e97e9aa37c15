"""Read-only commands of macOS: what the system is, what is installed, what is mounted.

Preferences, key chains, sessions and anything that could hold a secret are left out.
"""

from mtbot.policy.allow_rule import AllowRule
from mtbot.policy.grammar import any_of, grammar
from mtbot.policy.readonly_entry import entry, flat, no_response_file

MAC: tuple[AllowRule, ...] = flat(
    (
        entry(
            "sw_vers / vm_stat / system_profiler",
            grammar(
                "-productName -productVersion -buildVersion -listDataTypes",
                "(SP(?:Hardware|Software|Memory|Storage|Display|Displays|USB|Power|Network)DataType)*",
                whole_words=True,
            ),
            permits=("sw_vers -productVersion", "vm_stat", "system_profiler SPHardwareDataType"),
            refuses=("system_profiler -xml x", "sw_vers x"),
        ),
        entry(
            "networksetup",
            grammar(
                "-getMTU -getautoproxyurl -getcomputername -getcurrentlocation -getdnsservers -getinfo -getmacaddress -getmedia -getnetworkserviceenabled -getsearchdomains -getsecurewebproxy -getsocksfirewallproxy -getwebproxy -getftpproxy -getairportnetwork -getairportpower -getproxybypassdomains -getadditionalroutes -getv6additionalroutes -getpassiveftp -getproxyautodiscovery -help -listBonds -listVLANs -listallhardwareports -listallnetworkservices -listlocations -listpppoeservices -listpreferredwirelessnetworks -listvalidmedia -listvalidMTUrange -listnetworkserviceorder -listdevicesthatsupportVLAN -printcommands -showpppoestatus -version",
                "text?",
                whole_words=True,
                also=lambda read: bool(read.options),
            ),
            permits=("networksetup -getinfo Wi-Fi", "networksetup -listallhardwareports"),
            refuses=(
                "networksetup -setdnsservers Wi-Fi 1.1.1.1",
                "networksetup -removeallpreferredwirelessnetworks en0",
                "networksetup Wi-Fi x",
            ),
        ),
        entry(
            "pkgutil",
            grammar(
                "--export-plist:item --file-info:path --file-info-plist:path --files:item --group-pkgs:item --groups --help --packages --payload-files:path --pkg-groups:item --pkg-info:item --pkg-info-plist:item --pkgs?text --pkgs-plist --lsbom:item --check-signature:path -h -v --verbose --only-files --only-dirs"
            ),
            permits=("pkgutil --pkgs", "pkgutil --files com.apple.pkg.x"),
            refuses=(
                "pkgutil --forget x",
                "pkgutil --expand a b",
                "pkgutil --flatten a b",
                "pkgutil --volume /x --pkgs",
            ),
        ),
        entry(
            "diskutil list / diskutil info / diskutil information / diskutil listFilesystems",
            grammar("-plist -all --all internal external physical", "name?", whole_words=True),
            permits=("diskutil list", "diskutil info disk0"),
            refuses=("diskutil eraseDisk x y disk0", "diskutil unmount x"),
        ),
        entry(
            "hdiutil info / hdiutil help / hdiutil plugins / hdiutil imageinfo / hdiutil isencrypted / hdiutil pmap / hdiutil verify / hdiutil checksum",
            grammar("-plist -verbose -type:name", "path?", whole_words=True),
            permits=("hdiutil info", "hdiutil imageinfo x.dmg"),
            refuses=("hdiutil attach x.dmg", "hdiutil imageinfo -passphrase x y", "hdiutil convert x"),
        ),
        entry(
            "tmutil listbackups / tmutil latestbackup / tmutil destinationinfo / tmutil listlocalsnapshots / tmutil listlocalsnapshotdates / tmutil version / tmutil help / tmutil status / tmutil currentphase",
            grammar("-mtX", "text?"),
            permits=("tmutil listbackups", "tmutil latestbackup -m"),
            refuses=("tmutil delete x", "tmutil startbackup", "tmutil restore a b"),
        ),
        entry(
            "scutil",
            grammar(
                "--dns --proxy --get:(ComputerName|HostName|LocalHostName) --nwi",
                "",
                whole_words=True,
                also=lambda read: bool(read.options),
            ),
            permits=("scutil --dns", "scutil --get HostName"),
            refuses=("scutil --set HostName x", "scutil", "scutil --prefs x", "scutil --nc start x"),
        ),
        entry(
            "scutil",
            grammar("-w:([A-Z][A-Za-z]*:/[A-Za-z0-9/_.-]+) -t:num", "", whole_words=True, requires="-w"),
            permits=("scutil -w State:/Network/Global/IPv4 -t 10",),
            refuses=("scutil -w x", "scutil -t 3", "scutil -r evil.example"),
        ),
        entry(
            "launchctl list / launchctl managername / launchctl managerpid / launchctl version / launchctl variant / launchctl help / launchctl error / launchctl print-disabled / launchctl blame",
            grammar("", "text?"),
            permits=("launchctl list", "launchctl version"),
            refuses=(
                "launchctl load x",
                "launchctl bootout x",
                "launchctl print gui/501",
                "launchctl getenv PATH",
                "launchctl setenv a b",
            ),
        ),
        entry(
            "profiles list / profiles status / profiles help / profiles version",
            grammar("-type:name -verbose -user:name", "", whole_words=True),
            permits=("profiles list", "profiles status -type enrollment"),
            refuses=("profiles remove -all", "profiles install x", "profiles show -output x"),
        ),
        entry(
            "codesign",
            grammar(
                "-dv --display --verify --verbose?num --deep --strict -h:num --check-notarization --entitlements:(:?-) --xml",
                "path*",
                also=lambda read: not read.options.isdisjoint({"-d", "-v", "--display", "--verify", "-h"}),
            ),
            permits=("codesign -dv /x/app", "codesign -d --entitlements - /x/app", "codesign --verify --deep /x"),
            refuses=(
                "codesign -s x app",
                "codesign --sign x app",
                "codesign --remove-signature app",
                "codesign -d --extract-certificates=x app",
                "codesign -d --entitlements x app",
            ),
        ),
        entry(
            "symbols / lipo / otool / dwarfdump",
            grammar(
                "-uuid -noHeaders -printSignature -w -v -info -detailed_info -archs -L -h -l -arch:name -lookup:name",
                "path+",
                whole_words=True,
                also=no_response_file,
            ),
            permits=("symbols -uuid /x", "lipo -info x", "otool -L x"),
            refuses=(
                "lipo -create a b -output c",
                "lipo -thin x a -output b",
                "symbols -saveSignature x y",
                "dwarfdump --x y",
                "otool -L @x",
            ),
        ),
        entry(
            "lipo",
            grammar("-verify_arch:name", "path name*", whole_words=True),
            permits=("lipo x -verify_arch arm64",),
            refuses=("lipo x -output y",),
        ),
        entry(
            "plutil",
            grammar(
                "-p -lint -type:name -s",
                "path+",
                whole_words=True,
                also=lambda read: not read.options.isdisjoint({"-p", "-lint"}),
            ),
            permits=("plutil -p x.plist", "plutil -lint x.plist"),
            refuses=("plutil -convert xml1 x", "plutil -p x -o y", "plutil -replace a -string b x", "plutil x"),
        ),
        entry(
            "defaults domains / defaults help",
            grammar(),
            permits=("defaults domains",),
            refuses=("defaults write a b c", "defaults read", "defaults delete a"),
        ),
        entry(
            "launchctl error / launchctl resolveport",
            grammar("", "(posix|mach|bootstrap|[0-9]+) ([0-9]+|0x[0-9a-f]+)?"),
            permits=("launchctl error posix 2", "launchctl resolveport 1234 0x1234"),
            refuses=("launchctl error posix 2 x", "launchctl kill 9 x", "launchctl debug x"),
        ),
        entry(
            "mdimport",
            grammar("-t -d1 -d2 -d3", "path+", whole_words=True, requires="-t"),
            permits=("mdimport -t -d2 file.txt",),
            refuses=(
                "mdimport file.txt",
                "mdimport -i x",
                "mdimport -t -o out file.txt",
                "mdimport -r x",
                "mdimport -g x -t f",
            ),
        ),
        entry(
            "compression_tool",
            grammar(
                "-encode -decode -i:path -a:(zlib|lzfse|lz4|lzma|lzbitmap) -v -h", "", whole_words=True, requires="-i"
            ),
            permits=("compression_tool -encode -a lz4 -i input.dat",),
            refuses=("compression_tool -decode -i a -o b", "compression_tool -encode"),
        ),
        entry(
            "binhex probe / macbinary probe / applesingle probe",
            grammar("-v --verbose", "path+"),
            permits=("binhex probe file.hqx", "applesingle probe file.as"),
            refuses=(
                "binhex decode file.hqx",
                "macbinary encode x",
                "binhex probe -o out x",
                "applesingle probe --rename x",
            ),
        ),
        entry(
            "binhex decode / macbinary decode / applesingle decode / binhex encode / macbinary encode / applesingle encode",
            grammar("-cv --verbose --to-stdout --pipe", "path", also=any_of("-c", "--to-stdout", "--pipe")),
            permits=("binhex decode -c file.hqx", "macbinary decode --to-stdout file.bin"),
            refuses=("binhex decode file.hqx", "macbinary decode --to-stdout -o out x", "applesingle encode -C x -c y"),
        ),
        entry(
            "textutil -help / qlmanage -h / security error -h",
            grammar(),
            permits=("textutil -help", "qlmanage -h", "security error -h"),
            refuses=("textutil -convert txt x", "qlmanage -t x", "security leaks", "security dump-keychain -h"),
        ),
        entry(
            "security translocate-original-path / security translocate-policy-check / security translocate-status-check",
            grammar("", "path"),
            permits=("security translocate-status-check /x/app",),
            refuses=("security translocate-create /x/app", "security translocate-status-check -x a"),
        ),
        entry(
            "dscl . -list / dscl . list / dscl . -read / dscl . read",
            grammar(
                "",
                "(/(?:Users|Groups)[A-Za-z0-9_/-]*) (RecordName|UniqueID|PrimaryGroupID|NFSHomeDirectory|UserShell|RealName|GroupMembership)?",
            ),
            permits=("dscl . -list /Users", "dscl -plist . -read /Users/x UserShell", "dscl . read /Users/x UserShell"),
            refuses=(
                "dscl . -create /Users/x",
                "dscl . -passwd /Users/x y",
                "dscl . -read /Config/x",
                "dscl /LDAPv3/x -read /Users/y",
                "dscl -u admin -P x . -read /Users/x",
            ),
            before=grammar("-plist -raw -url -q", whole_words=True),
        ),
        entry(
            "spctl",
            grammar(
                "--assess --status -t:name -v --verbose --type:name",
                "path?",
                also=lambda read: not read.options.isdisjoint({"--assess", "--status"}),
            ),
            permits=("spctl --status", "spctl --assess -t execute /x"),
            refuses=("spctl --master-disable", "spctl --add x", "spctl x"),
        ),
        entry(
            "sips",
            grammar("-g:name --getProperty:name --verify --help -h", "path+"),
            permits=("sips -g all a.png",),
            refuses=("sips -s format jpeg a --out b", "sips -r 90 a", "sips --setProperty a b c"),
        ),
        entry(
            "mdls / xattr / GetFileInfo",
            grammar("-l -x -p:name -name:name -r -px:item -pl:item", "path+", whole_words=True),
            permits=("mdls x", "xattr -l x", "xattr x"),
            refuses=("xattr -w a b x", "xattr -d a x", "xattr -c x", "mdls --x y"),
        ),
        entry(
            "pmset -g / security help / security list-smartcards / security error / mdimport -A / mdimport -X",
            grammar("", "name?"),
            permits=("pmset -g batt", "pmset -g", "security help", "mdimport -A"),
            refuses=(
                "pmset sleepnow",
                "pmset -a x 1",
                "security dump-keychain",
                "security find-generic-password -s x -w",
            ),
        ),
        entry(
            "security find-certificate / security find-identity",
            grammar("-a -v -p:name -c:text"),
            permits=("security find-certificate -a", "security find-identity -p codesigning"),
            refuses=(
                "security find-generic-password -s x",
                "security export -k x",
                "security find-certificate -a x.keychain",
            ),
        ),
        entry(
            "tmutil compare / tmutil uniquesize / tmutil verifychecksums",
            grammar("-a", "path path?"),
            permits=("tmutil uniquesize /x",),
            refuses=("tmutil compare --x",),
        ),
        entry(
            "defaults read",
            grammar("", "(com[.]apple[.][A-Za-z.]+) ([A-Za-z]+)?"),
            permits=("defaults read com.apple.Finder",),
            refuses=("defaults read", "defaults read org.x", "defaults read /x/y"),
        ),
    )
)
