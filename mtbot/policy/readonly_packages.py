"""Read-only package managers: what is installed, what there is to know about a package.

No entry runs a package's code, refreshes an index by itself, unpacks, or reads a project's configuration that could
name a program.
"""

from mtbot.policy.allow_rule import AllowRule, Needs
from mtbot.policy.grammar import Read, any_of, grammar
from mtbot.policy.readonly_entry import NO_PAGER, Environment, entry, flat

_NETWORK = Needs(network=True)

_PIP: Environment = (("PIP_DISABLE_PIP_VERSION_CHECK", "1"), ("PIP_NO_INPUT", "1"))

_NPM: Environment = (
    ("npm_config_offline", "true"),
    ("npm_config_update_notifier", "false"),
    ("npm_config_onload_script", ""),
    ("npm_config_audit", "false"),
)

_NPM_PUBLIC: Environment = (
    ("npm_config_global", "true"),
    ("npm_config_registry", "https://registry.npmjs.org/"),
    ("npm_config_strict_ssl", "true"),
    ("npm_config_update_notifier", "false"),
    ("npm_config_onload_script", ""),
)
"""A project's own npm settings could send the question, and the owner's token, elsewhere: with `global` they are not read."""

_BREW: Environment = (
    ("HOMEBREW_NO_AUTO_UPDATE", "1"),
    ("HOMEBREW_NO_ANALYTICS", "1"),
    ("HOMEBREW_PAGER", "cat"),
    ("PAGER", "cat"),
)

_PYTHON = flat(
    (
        entry(
            "pip list / pip3 list / pip freeze / pip3 freeze",
            grammar(
                "-lo -v -q --local --user --outdated --uptodate --not-required --editable --include-editable --exclude-editable --format:(columns|freeze|json) --exclude:name --all --pre --path:path --verbose --quiet"
            ),
            environment=_PIP,
            needs=_NETWORK,
            permits=("pip list", "pip list --outdated --format=json", "pip freeze --local", "pip3 list"),
            refuses=(
                "pip list --log x",
                "pip list -i http://x",
                "pip list --index-url=x",
                "pip list --python x",
                "pip freeze -r x",
                "pip3 list --proxy x",
                "pip list --outd",
            ),
        ),
        entry(
            "pip show / pip3 show",
            grammar("-fv --files --verbose", "name+"),
            environment=_PIP,
            permits=("pip show -f requests", "pip3 show x"),
            refuses=("pip show --log x y", "pip3 show --cert x y"),
        ),
        entry(
            "pip index versions / pip3 index versions",
            grammar("--pre --platform:name --python-version:name", "name"),
            environment=_PIP,
            needs=_NETWORK,
            permits=("pip index versions requests", "pip3 index versions x"),
            refuses=("pip index versions -i x y", "pip3 index versions --extra-index-url x y"),
        ),
        entry(
            "pip check / pip inspect / pip debug / pip help / pip --version / pip -V / pip --help / pip -h / pip3 check / pip3 inspect / pip3 --version / pip cache dir / pip cache list / pip version",
            grammar("--local --user --verbose -v --format:name", "name?"),
            environment=_PIP,
            permits=("pip check", "pip --version", "pip inspect --local", "pip3 --version", "pip help install"),
            refuses=(
                "pip install x",
                "pip check --log x",
                "pip cache purge",
                "pip --python x list",
                "pip3 inspect --log=x",
                "pip download x",
            ),
        ),
        entry(
            "pip hash / pip3 hash",
            grammar("-a:name --algorithm:name", "path+"),
            environment=_PIP,
            permits=("pip hash a.whl",),
            refuses=("pip hash --log x a",),
        ),
    )
)

_NODE = flat(
    (
        entry(
            "npm ls / npm list / npm la / npm ll / npm why / npm explain / npm root / npm prefix / npm bin",
            grammar("-ag --all --global --json --long --depth:num --parseable --link --production --prod", "item*"),
            environment=_NPM,
            permits=("npm ls --depth=0", "npm list --json", "npm why lodash", "npm root -g"),
            refuses=(
                "npm ls --prefix x",
                "npm ls --userconfig=x",
                "npm ls --script-shell=x",
                "npm run x",
                "npm ls --node-options=x",
                "npm ls --globalconfig x",
            ),
        ),
        entry(
            "npm help-search / npm whoami / npm access list packages / npm access list collaborators",
            grammar("--json --long", "([a-z][a-z0-9._-]*)?"),
            environment=_NPM_PUBLIC,
            needs=_NETWORK,
            permits=("npm help-search install", "npm whoami", "npm access list collaborators lodash"),
            refuses=(
                "npm whoami --registry=http://x",
                "npm access public x",
                "npm access grant read-only a b",
                "npm access set mfa=none x",
                "npm help install",
                "npm token list",
            ),
        ),
        entry(
            "npm help / npm run / npm run-script / npm sbom",
            grammar(
                "--sbom-format:(cyclonedx|spdx) --sbom-type:name --package-lock-only --omit:(dev|optional|peer)",
                "",
            ),
            environment=_NPM,
            why="without a word behind it `run` only lists the scripts",
            permits=("npm help", "npm run", "npm sbom --sbom-format cyclonedx"),
            refuses=(
                "npm run test",
                "npm run -- x",
                "npm help install",
                "npm sbom --workspace x",
                "npm exec x",
                "npm start",
            ),
        ),
        entry(
            "npm --version / npm -v / npm version / npm fund / npm cache ls / npm config get registry / npm config get prefix",
            grammar(),
            environment=_NPM,
            permits=("npm -v", "npm version", "npm config get registry"),
            refuses=(
                "npm -v run x",
                "npm version patch",
                "npm config set a b",
                "npm config get //x/:_authToken",
                "npm cache clean",
            ),
        ),
        entry(
            "npm view / npm info / npm show / npm v / npm search / npm s / npm dist-tag ls / npm owner ls",
            grammar("--json --long", "([a-z0-9][a-z0-9._-]*(?:@[0-9a-z.-]+)?) ([a-z][a-zA-Z.-]*)?"),
            environment=_NPM_PUBLIC,
            needs=_NETWORK,
            permits=("npm view lodash version", "npm info react", "npm search react"),
            refuses=(
                "npm view @evil/x",
                "npm view https://x/y",
                "npm view x --registry=http://y",
                "npm view ./x",
                "npm view x --proxy=http://y",
                "npm view a b c",
            ),
        ),
    )
)

_NAME = "([A-Za-z0-9][A-Za-z0-9_.@+-]*)"

_BREW_OPTIONS = """-1lrtvqdnsg --formula --formulae --cask --casks --installed --json?(v1|v2) --all --tree --verbose --versions --quiet --full-name --pinned --multiple
--installed-on-request --installed-as-dependency --poured-from-bottle --built-from-source --outdated --greedy --direct --declared --missing --union
--include-build --include-test --include-optional --skip-recommended --topological --annotate --graph --include-aliases --desc --name --description --search
--open --closed --pull-request --analytics --recursive --fetch-HEAD --eval-all --variations --list-checks --audit-debug -D"""

_BREW_ENTRIES = flat(
    (
        entry(
            "brew list / brew ls / brew info / brew deps / brew uses / brew leaves / brew outdated / brew missing / brew desc / brew config / brew commands"
            " / brew formulae / brew casks / brew options / brew cat / brew tap-info / brew --config / brew doctor / brew abv / brew --caskroom",
            grammar(_BREW_OPTIONS, f"{_NAME}*"),
            environment=_BREW,
            needs=_NETWORK,
            permits=(
                "brew list --versions",
                "brew info --json=v2 python",
                "brew deps --tree python",
                "brew outdated",
                "brew leaves -r",
                "brew config",
            ),
            refuses=(
                "brew info ./evil.rb",
                "brew info evil/tap/x",
                "brew install x",
                "brew uninstall x",
                "brew info --github x",
                "brew analytics on",
                "brew tap x/y",
                "brew edit x",
                "brew list --x",
            ),
        ),
        entry(
            "brew search / brew log",
            grammar(f"{_BREW_OPTIONS} -n:num --patch --max-count:num", f"{_NAME}"),
            environment=(*_BREW, ("GIT_PAGER", "cat")),
            needs=_NETWORK,
            permits=("brew search python", "brew search --cask firefox"),
            refuses=("brew search --x a", "brew log --oneline-x a", "brew search a/b/c"),
        ),
        entry(
            "brew tap-info / brew analytics",
            grammar("--json?(v1) --installed", "([A-Za-z0-9_-]+/[A-Za-z0-9_-]+)*"),
            environment=_BREW,
            permits=("brew tap-info homebrew/cask", "brew analytics"),
            refuses=("brew analytics off", "brew tap homebrew/cask", "brew tap-info https://x/y", "brew untap a/b"),
        ),
        entry(
            "brew --version / brew -v / brew --help / brew -h / brew config",
            grammar(),
            environment=_BREW,
            permits=("brew --version",),
            refuses=("brew -v install x", "brew --version x"),
        ),
        entry(
            "brew install / brew uninstall / brew upgrade / brew services",
            grammar("--help -h", also=lambda read: bool(read.options)),
            environment=_BREW,
            permits=("brew install --help",),
            refuses=("brew install x --help", "brew upgrade"),
        ),
        entry(
            "brew help / brew --prefix / brew --cellar / brew --repository / brew --cache / brew shellenv / brew bundle list / brew analytics state",
            grammar("--installed --cask --HEAD --build-from-source --formula --all", f"{_NAME}?"),
            environment=_BREW,
            permits=("brew --prefix python", "brew help install", "brew --cache python"),
            refuses=("brew bundle install", "brew services start x", "brew --cache a b", "brew bundle list --file=x"),
        ),
    )
)


def _queries(read: Read) -> bool:
    """The first option asks for a query; without it `rpm -i` would install."""
    return bool(read.values) and read.values[0][0] in ("-q", "--query", "--version")


_SYSTEM = flat(
    (
        entry(
            "apt list / apt show / apt search / apt policy / apt depends / apt rdepends",
            grammar(
                "-a --installed --upgradable --all-versions --names-only -n --full",
                "(['\"]?[A-Za-z0-9*][A-Za-z0-9.+:*~^$_-]*)*",
            ),
            environment=NO_PAGER,
            permits=("apt list --installed", "apt show nginx", "apt policy nginx", "apt list --upgradable"),
            refuses=(
                "apt install x",
                "apt list -o x=y",
                "apt -c f list",
                "apt update",
                "apt list --instal",
                "apt show ./x.deb",
            ),
        ),
        entry(
            "apt-cache policy / apt-cache show / apt-cache search / apt-cache depends / apt-cache rdepends / apt-cache madison / apt-cache pkgnames / apt-cache stats",
            grammar("-na --names-only --installed --recurse --no-all-versions", "([A-Za-z0-9*][A-Za-z0-9.+:*~^$_-]*)*"),
            permits=("apt-cache policy nginx", "apt-cache search foo"),
            refuses=("apt-cache -o x=y show z", "apt-cache gencaches", "apt-cache show -c f x"),
        ),
        entry(
            "dpkg / dpkg-query",
            grammar(
                "-lLsSW --list --listfiles --status --search --show -f:format --showformat:format --print-architecture --get-selections --version",
                "([A-Za-z0-9*/][A-Za-z0-9.+:*~/_-]*)*",
                also=lambda read: (
                    not read.options.isdisjoint(
                        {
                            "-l",
                            "-L",
                            "-s",
                            "-S",
                            "-W",
                            "--list",
                            "--listfiles",
                            "--status",
                            "--search",
                            "--show",
                            "--print-architecture",
                            "--get-selections",
                            "--version",
                        }
                    )
                ),
            ),
            environment=NO_PAGER,
            permits=("dpkg -l", "dpkg -L nginx", "dpkg -S /bin/ls", "dpkg-query -W -f '${Package}\\n'"),
            refuses=(
                "dpkg -i x.deb",
                "dpkg -r x",
                "dpkg --purge x",
                "dpkg --root=/x -l",
                "dpkg --pre-invoke=x -l",
                "dpkg x",
                "dpkg --configure -a",
                "dpkg -c x",
                "dpkg-query --load-avail -s x",
                "dpkg-query --admindir=x -l",
            ),
        ),
        entry(
            "rpm",
            grammar(
                "-qailRcd --query --all --info --list --requires --provides --changelog --last -f:path --file:path --version",
                "([A-Za-z0-9*][A-Za-z0-9.+*~_-]*)*",
                also=_queries,
            ),
            permits=("rpm -qa", "rpm -qi bash", "rpm -qf /bin/ls"),
            refuses=(
                "rpm -i x.rpm",
                "rpm -e x",
                "rpm -qp http://x",
                "rpm -q --pipe sh x",
                "rpm --eval x",
                "rpm -q --qf x y",
                "rpm -qa --root /x",
                "rpm -q --define x y",
                "rpm -V x",
            ),
        ),
        entry(
            "dnf list / dnf info / dnf repolist / dnf search / dnf provides / yum list / yum info / yum repolist / yum search",
            grammar(
                "-qC --cacheonly --installed --available --updates --quiet --all", "([A-Za-z0-9*/][A-Za-z0-9.+*~/_-]*)*"
            ),
            needs=_NETWORK,
            permits=("dnf list --installed", "yum info bash"),
            refuses=(
                "dnf install x",
                "dnf -c f list",
                "dnf list --setopt=x=y",
                "yum update",
                "yum list --enablerepo=x",
            ),
        ),
        entry(
            "pacman",
            grammar(
                "-Qiqlosetmuk --query --info --list --search --quiet --upgrades --explicit",
                "([A-Za-z0-9*][A-Za-z0-9.+*~_-]*)*",
                also=any_of("-Q", "--query"),
            ),
            permits=("pacman -Qi bash", "pacman -Q"),
            refuses=(
                "pacman -S x",
                "pacman -R x",
                "pacman -U x",
                "pacman -Q --root /x",
                "pacman -i x",
                "pacman -Q --config x",
            ),
        ),
        entry(
            "apk list / apk info / apk policy / snap list / snap info / flatpak list / flatpak info",
            grammar(
                "-quvIa --installed --upgradable --all --user --system --app --columns:words",
                "([A-Za-z0-9*][A-Za-z0-9.+*~_-]*)*",
            ),
            permits=("apk list --installed", "snap list", "flatpak list --app"),
            refuses=("apk add x", "snap install x", "flatpak run x", "flatpak info --show-x y"),
        ),
        entry(
            "gem list / gem --version / go version",
            grammar("", "name?"),
            environment=(("GOTOOLCHAIN", "local"),),
            permits=("gem list", "gem --version", "go version"),
            refuses=("gem install x", "go version -m x", "go env -w a=b"),
        ),
    )
)

PACKAGES: tuple[AllowRule, ...] = (*_PYTHON, *_NODE, *_BREW_ENTRIES, *_SYSTEM)
