"""Which version of an interpreter or a database client is installed, as exact commands and nothing near them.

All of these are on the never-by-rule list, so each entry spells out one whole argv. The interpreter itself reads no
file before it prints its version; a version chooser in front of it (pyenv, asdf, mise, volta ...) would read the
directory's wishes, and some of those wishes name a program to run, so the choosers are told to keep out. They may stand
in front of any program that is installed by them, so whole groups of the pack pass through `without_choosers`.
"""

from dataclasses import replace

from mtbot.policy.allow_rule import AllowRule, Argv, Match, Matcher
from mtbot.policy.readonly_entry import NO_PAGER, Environment
from mtbot.policy.words import words

_NO_FILE = "-" * 256
"""A file name one byte too long to exist."""

_NO_CHOOSER: Environment = (
    ("ASDF_DEFAULT_TOOL_VERSIONS_FILENAME", _NO_FILE),
    ("ASDF_TOOL_VERSIONS_FILENAME", _NO_FILE),
    ("MISE_OVERRIDE_TOOL_VERSIONS_FILENAMES", _NO_FILE),
    ("MISE_NO_CONFIG", "1"),
)

_SYSTEM_PYTHON: Environment = (
    ("PYENV_VERSION", "system"),
    ("ASDF_PYTHON_VERSION", "system"),
    ("MISE_PYTHON_VERSION", "system"),
)
_SYSTEM_NODE: Environment = (
    ("NODENV_VERSION", "system"),
    ("ASDF_NODEJS_VERSION", "system"),
    ("MISE_NODE_VERSION", "system"),
    ("VOLTA_BYPASS", "1"),
    ("NODE_OPTIONS", ""),
)
_SYSTEM_RUBY: Environment = (
    ("RBENV_VERSION", "system"),
    ("ASDF_RUBY_VERSION", "system"),
    ("MISE_RUBY_VERSION", "system"),
    ("RUBYOPT", ""),
)
_SYSTEM_PERL: Environment = (("PLENV_VERSION", "system"), ("ASDF_PERL_VERSION", "system"), ("PERL5OPT", ""))
_SYSTEM_PHP: Environment = (("PHPENV_VERSION", "system"), ("ASDF_PHP_VERSION", "system"), ("PHPRC", ""))

_SYSTEM_JAVA: Environment = (
    ("JENV_VERSION", "system"),
    ("ASDF_JAVA_VERSION", "system"),
    ("MISE_JAVA_VERSION", "system"),
    ("JAVA_TOOL_OPTIONS", ""),
    ("_JAVA_OPTIONS", ""),
    ("JDK_JAVA_OPTIONS", ""),
)

_SYSTEM_GO: Environment = (("GOENV_VERSION", "system"), ("ASDF_GOLANG_VERSION", "system"), ("GOTOOLCHAIN", "local"))

_INSTALLED_WITH: tuple[tuple[frozenset[str], Environment], ...] = (
    (
        words("""pip pip3 black isort ruff yamllint pre-commit uv yq aws az supervisorctl fail2ban-client docker-compose
        podman-compose ansible ansible-config ansible-console ansible-doc ansible-galaxy ansible-inventory ansible-lint ansible-playbook
        ansible-pull ansible-vault"""),
        _SYSTEM_PYTHON,
    ),
    (words("npm cdk"), _SYSTEM_NODE),
    (words("gem"), _SYSTEM_RUBY),
    (words("go gofmt"), _SYSTEM_GO),
)
"""Programs that come with a language, and so through its chooser."""

_TEXTS: tuple[tuple[str, Environment], ...] = (
    ("python --version|python -V|python -VV|python3 --version|python3 -V|python3 -VV", _SYSTEM_PYTHON),
    ("|".join(f"python3.{minor} --version|python3.{minor} -V" for minor in range(8, 16)), _SYSTEM_PYTHON),
    ("node --version|node -v|node --help|node -h", _SYSTEM_NODE),
    ("python3 --help|python3 -h", _SYSTEM_PYTHON),
    ("java -version|java --version", _SYSTEM_JAVA),
    ("ssh -V|tmux -V|vim --version|vi --version|nvim --version|emacs --version", ()),
    ("ulimit -a|ulimit -n|ulimit -u", ()),
    ("ruby --version", _SYSTEM_RUBY),
    ("perl --version|perl -v", _SYSTEM_PERL),
    ("php --version|php -v", _SYSTEM_PHP),
    ("gawk --version|gawk -V|gawk --help|gawk -h|awk --version|awk -W version|mawk -W version|mawk --version", ()),
    ("psql --version|psql -V|psql --help|mysql --version|mysql -V|mariadb --version|mariadb -V", NO_PAGER),
    (
        "sqlite3 --version|sqlite3 -version|sqlite3 -help|duckdb --version|duckdb -version|duckdb --help|duckdb -help",
        (),
    ),
    ("sqlcmd --version|sqlcmd --help|sqlcmd query --help|redis-cli --version|redis-cli -v", ()),
    (
        "bash --version|zsh --version|fish --version|busybox --help|pwsh --version|pwsh -v",
        (("BASH_ENV", ""), ("ENV", "")),
    ),
)

_NEIGHBOURS = ("{} x", "{} -c x", "{} -e x", "{} -i")


def _exactly(expected: Argv) -> Matcher:
    return lambda argv: Match() if argv == expected else None


def _rule(text: str, environment: Environment) -> AllowRule:
    argv = tuple(text.split())
    return AllowRule(
        id=f"readonly:{argv[0]}-version",
        match=_exactly(argv),
        program=argv[0],
        exact=argv,
        environment=environment,
        why="says which version is installed",
        permits=(text,),
        refuses=tuple(neighbour.format(text) for neighbour in _NEIGHBOURS),
    )


VERSIONS: tuple[AllowRule, ...] = tuple(
    _rule(text, environment) for texts, environment in _TEXTS for text in texts.split("|")
)


def without_choosers(rules: tuple[AllowRule, ...]) -> tuple[AllowRule, ...]:
    """The rules with every version chooser in front of their programs told to obey no file of the directory."""
    return tuple(replace(rule, environment=_guarded(rule)) for rule in rules)


def _guarded(rule: AllowRule) -> Environment:
    of_language = (guard for programs, guard in _INSTALLED_WITH if rule.program in programs)
    guards = (*_NO_CHOOSER, *(variable for guard in of_language for variable in guard))
    return (*rule.environment, *(variable for variable in guards if variable not in rule.environment))
