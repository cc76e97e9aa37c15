"""Read-only filters and searches over text: sorting, cutting, counting, matching.

None of them has an option here that writes, runs a helper, follows links, or takes names of files from a file.
"""

import re

from mtbot.policy.allow_rule import AllowRule, Role
from mtbot.policy.grammar import Read, grammar
from mtbot.policy.readonly_entry import entry, flat, no_response_file


def _plain_jq(read: Read) -> bool:
    """No module, no environment: a filter that only looks at its input."""
    return not any(re.search(r"\b(import|include|env|modulemeta)\b|\$ENV|\$__", text) for text in read.operands[:1])


_GREP_OPTIONS = """-EFGPcivnHhlLoqswxyzabTZUr -A:num -B:num -C:num -m:num -0123456789 --color?(always|auto|never) --colour?(always|auto|never)
    --include:text --exclude:text --exclude-dir:text --extended-regexp --fixed-strings --basic-regexp --perl-regexp --ignore-case
    --no-ignore-case --invert-match --word-regexp --line-regexp --count --files-with-matches --files-without-match --max-count:num
    --only-matching --quiet --silent --no-messages --byte-offset --with-filename --no-filename --line-number --initial-tab --null
    --after-context:num --before-context:num --context:num --text --binary-files:(text|binary|without-match) --line-buffered
    --recursive --label:text --help --version"""


def _outside_repository(read: Read) -> bool:
    return any(value in (".git", ".git/") for name, value in read.values if name == "--exclude-dir")


def _inside_repository(read: Read) -> bool:
    return not _outside_repository(read)


_GREP = flat(
    tuple(
        entry(
            "grep / egrep / fgrep",
            grammar(options, operands, requires=requires, deepens="-r --recursive", deep=deep, also=also),
            permits=permits,
            refuses=(
                "grep -f patterns x",
                "grep -R key .",
                "grep --include-from=x y",
                "grep --recu x .",
                "egrep -d recurse x .",
            ),
        )
        for deep, also in (
            (Role.CONTENT_BELOW, _inside_repository),
            (Role.OUTSIDE_REPOSITORY, _outside_repository),
        )
        for options, operands, requires, permits in (
            (
                _GREP_OPTIONS,
                "text path*",
                "",
                (
                    "grep -n --exclude-dir=.git TODO a.py",
                    "egrep -c --exclude-dir=.git 'a|b' f",
                    "fgrep --exclude-dir .git -r x src",
                )
                if deep is Role.OUTSIDE_REPOSITORY
                else (
                    "grep -rn TODO src",
                    "grep 'rm -rf' log.txt",
                    "egrep -i 'foo|bar' a b",
                    "fgrep -A 3 x y",
                    "grep x",
                ),
            ),
            (
                _GREP_OPTIONS + " -e:any --regexp:any",
                "path*",
                "-e",
                ("grep --exclude-dir=.git -r -e x .",)
                if deep is Role.OUTSIDE_REPOSITORY
                else ("grep -e -x -e y a.txt",),
            ),
        )
    )
)

_RG_OPTIONS = """-nNiSswxlcoFPvHIhqbuU0ap -A:num -B:num -C:num -g:text -t:name -T:name -m:num -d:num -M:num -r:text -E:name -j:num
    --no-config --no-heading --heading --line-number --no-line-number --ignore-case --smart-case --case-sensitive --word-regexp
    --line-regexp --files-with-matches --files-without-match --count --count-matches --only-matching --fixed-strings --pcre2
    --invert-match --with-filename --no-filename --hidden --no-ignore --no-ignore-vcs --glob:text --iglob:text --type:name
    --type-not:name --max-count:num --max-depth:num --max-columns:num --max-filesize:size --color:(always|auto|never|ansi)
    --colors:format --context:num --after-context:num --before-context:num --sort:(none|path|modified|accessed|created)
    --sortr:(none|path|modified|accessed|created) --json --stats --trim --vimgrep --column --multiline --multiline-dotall
    --null --no-messages --passthru --pretty --quiet --replace:text --text --threads:num --unrestricted --files --type-list
    --no-unicode --crlf --encoding:name --engine:(default|pcre2|auto) --one-file-system --version --help"""

_RG = flat(
    (
        entry(
            "rg",
            grammar(_RG_OPTIONS, "text content*", implicit=Role.CONTENT_BELOW),
            environment=(("RIPGREP_CONFIG_PATH", ""),),
            permits=("rg -n 'rm -rf' README.md", "rg TODO", "rg -t py --no-heading x src lib", "rg -C 3 -g '*.rs' fn"),
            refuses=(
                "rg --pre sh x",
                "rg --pre=sh x",
                "rg -z x",
                "rg --search-zip x",
                "rg -L x",
                "rg --hostname-bin=id x",
                "rg --hid x",
            ),
        ),
        entry(
            "rg",
            grammar(_RG_OPTIONS, "content*", requires="--files", implicit=Role.CONTENT_BELOW),
            environment=(("RIPGREP_CONFIG_PATH", ""),),
            permits=("rg --files", "rg --files src"),
            refuses=("rg --files --follow", "rg --files --pre=sh"),
        ),
        entry(
            "rg",
            grammar(_RG_OPTIONS + " -e:any --regexp:any", "content*", requires="-e", implicit=Role.CONTENT_BELOW),
            environment=(("RIPGREP_CONFIG_PATH", ""),),
            permits=("rg -e --pre src",),
            refuses=("rg -e x --pre sh", "rg -e x -f patterns"),
        ),
    )
)

_STREAM = flat(
    (
        entry(
            "sort",
            grammar(
                """-bcCdfghiMmnRrsuVz -k:words -t:any -S:size -T:(/tmp|/var/tmp) --temporary-directory:(/tmp|/var/tmp) --key:words --field-separator:any --buffer-size:size --parallel:num --batch-size:num
                --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --ignore-nonprinting --month-sort
                --human-numeric-sort --numeric-sort --random-sort --reverse --version-sort --check?(quiet|silent|diagnose-first) --merge
                --stable --unique --zero-terminated --debug --sort:name --help --version""",
                "path*",
            ),
            permits=("sort -k2,2 -n f", "sort -u", "sort -t : -k 3 f", "sort --reverse f", "sort -T /tmp f"),
            refuses=(
                "sort -o f f",
                "sort --output=f f",
                "sort --compress-program=sh f",
                "sort -T /srv f",
                "sort -T /tmp/x f",
                "sort --temporary-directory=/etc f",
                "sort --files0-from=x",
                "sort --compress-prog=sh f",
                "sort --rev f",
            ),
        ),
        entry(
            "uniq",
            grammar(
                "-cdDiuz -f:num -s:num -w:num --count --repeated --unique --ignore-case --skip-fields:num --skip-chars:num --check-chars:num --zero-terminated --help --version",
                "path?",
            ),
            permits=("uniq -c", "uniq f"),
            refuses=("uniq in out", "uniq --coun f"),
        ),
        entry(
            "cut / paste / fold / fmt / expand / unexpand / column / tsort",
            grammar(
                "-b:range -c:range -d:any -f:range -nsz -w:num -t -x -J -N:text --bytes:range --characters:range --delimiter:any --fields:range"
                " --only-delimited --complement --output-delimiter:any --serial --zero-terminated --width:num --spaces --tabs:num --table"
                " --separator:any --help --version",
                "path*",
            ),
            permits=(
                "cut -d: -f1 f",
                "cut -d , -f 2-3",
                "paste -s f",
                "fold -w 80 f",
                "column -t",
                "fmt f",
                "expand f",
                "unexpand f",
                "tsort f",
            ),
            refuses=("cut --fiel=1 f", "cut -X f", "paste --zero f", "column --unknown f"),
        ),
        entry(
            "tr",
            grammar("-cCdst --complement --delete --squeeze-repeats --truncate-set1 --help --version", "text text?"),
            permits=("tr a-z A-Z", "tr -d '\\n'"),
            refuses=("tr -x a b", "tr --del a"),
        ),
        entry(
            "xxd",
            grammar(
                "-a -b -e -i -p -ps -u -C -E -c:num -g:num -l:size -s:size -o:num -n:text -d -v -h --help --version",
                "path?",
                whole_words=True,
            ),
            permits=("xxd -p f", "xxd -l 64 f", "xxd --help"),
            refuses=(
                "xxd -r dump out",
                "xxd f out",
                "xxd --revert f",
                # the first letters of a word decide: -in is -i, and what follows is a file to write
                "xxd -in f out",
                "xxd -ic 5 out",
            ),
        ),
        entry(
            "od / hexdump / hd",
            grammar(
                "-abcdCilovx -A:name -t:name -N:size -j:size -n:size -w:num --width?num --canonical --length:size --skip:size --read-bytes:size --help --version",
                "path*",
            ),
            permits=("od -c f", "hexdump -C f", "hd f", "od -A x -t x1 f"),
            refuses=("hexdump -f fmt f", "od --strings=3x f", "hd -f x f"),
        ),
        entry(
            "base64 / base32 / basenc",
            grammar(
                "-dDinu -w:num --decode --ignore-garbage --wrap:num --noerrcheck -h --help --version --copyright",
                "path?",
            ),
            permits=("base64 f", "base64 -d", "base32 f"),
            refuses=("base64 -o out f", "base64 --output=x f", "base64 --dec f", "base32 a b"),
        ),
        entry(
            "strings / size / nm / readelf",
            grammar(
                "-aACDghloprsSuVWdew -n:num --all --bytes:num --radix:(o|d|x) --file-header --sections --segments --dynamic --symbols --syms --wide --demangle --help --version",
                "path+",
                also=no_response_file,
            ),
            permits=("strings -n 8 f", "size f", "nm -D f", "readelf -h f"),
            refuses=("strings @f", "nm --plugin x.so f", "nm --plug f", "readelf --unknown f"),
        ),
        entry(
            "jq",
            grammar(
                "-rcnesSMCajR --raw-output --compact-output --null-input --exit-status --slurp --sort-keys --monochrome-output --color-output"
                " --ascii-output --join-output --raw-input --tab --indent:num --stream --help --version",
                "text path*",
                also=_plain_jq,
            ),
            permits=("jq . f.json", "jq -r '.a[] | .b' f", "jq .x"),
            refuses=(
                "jq -n env",
                "jq -n '$ENV'",
                "jq 'import \"a\" as $x; .' f",
                "jq --slurpfile x f .",
                "jq -f prog f",
                "jq --rawfile a b .",
                "jq -L dir .",
            ),
        ),
        entry(
            "yq",
            grammar(
                "-rMCje -o:name -p:name -P -N --output-format:name --input-format:name --colors --no-colors --prettyPrint --help --version",
                '([.][][A-Za-z0-9_."*-]*) path?',
            ),
            permits=("yq .key f.yaml", "yq -o json . f"),
            refuses=("yq -i .a f", "yq --inplace .a f", "yq '.a = load(\"x\")' f", "yq 'env(HOME)' f", "yq -s .a f"),
        ),
        entry(
            "yq",
            grammar(
                "-rMCj -o:name -p:name -P -N --output-format:name --input-format:name --colors --no-colors --prettyPrint",
                "data",
            ),
            permits=("yq -o json file.yaml", "yq -p yaml -o json conf/file.yml"),
            refuses=("yq -i file.yaml", "yq -o json a.yaml b.yaml", "yq -o json load", "yq 'a.yaml | env'"),
        ),
        entry(
            "iconv",
            grammar("-f:name -t:name -cls --from-code:name --to-code:name --list --silent --help --version", "path*"),
            permits=("iconv -f UTF-8 -t ASCII f", "iconv -l"),
            refuses=("iconv -o out f", "iconv --output=x f"),
        ),
        entry(
            "tee",
            grammar(
                "-ai --append --ignore-interrupts --output-error?(warn|warn-nopipe|exit|exit-nopipe) --help --version",
                "stream*",
            ),
            permits=("tee", "tee /dev/stderr", "tee --output-error=warn /dev/fd/2"),
            refuses=("tee out", "tee -p x", "tee /dev/null out", "tee /dev/fd/3", "tee --output-error=x"),
        ),
        entry(
            "true / false / pwd / tty",
            grammar("-LP"),
            permits=("true", "false", "pwd -P", "tty"),
            refuses=("pwd --x", "true x"),
        ),
        entry(
            "seq / factor / sleep",
            grammar("-w -s:any -f:format --equal-width --help --version", "([0-9.]{1,6})+"),
            permits=("seq 1 10", "factor 12", "sleep 5"),
            refuses=("seq --x 1", "sleep infinity"),
        ),
        entry(
            "numfmt / cal / ncal",
            grammar(
                "-hjmy3 --to:name --from:name --suffix:name --padding:int --field:range --help --version",
                "([0-9A-Za-z.]{1,20})*",
            ),
            permits=("numfmt --to=iec 1024", "cal", "ncal 2024"),
            refuses=("cal --x", "numfmt --debu 1"),
        ),
        entry(
            "which / type / whereis",
            grammar("-aptPsbm --all --help --version", "name+"),
            permits=("which -a git", "type git", "whereis ls"),
            refuses=("which /bin/ls", "type --x git", "whereis -B /x -f ls"),
        ),
    )
)

TEXT: tuple[AllowRule, ...] = (*_STREAM, *_GREP, *_RG)
