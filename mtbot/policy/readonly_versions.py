"""Which version of an interpreter or a database client is installed, as exact commands and nothing near them.

All of these are on the never-by-rule list, so each entry spells out one whole argv. The interpreter itself reads no
file before it prints its version; a version chooser in front of it (pyenv, asdf, mise, volta ...) would read the
directory's wishes, and some of those wishes name a program to run, so the choosers are told to keep out.
"""

from mtbot.policy.allow_rule import AllowRule, Argv, Match, Matcher
from mtbot.policy.readonly_entry import NO_PAGER, Environment

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

_TEXTS: tuple[tuple[str, Environment], ...] = (
    ("python --version|python -V|python -VV|python3 --version|python3 -V|python3 -VV", _SYSTEM_PYTHON),
    ("|".join(f"python3.{minor} --version|python3.{minor} -V" for minor in range(8, 16)), _SYSTEM_PYTHON),
    ("node --version|node -v|node --help|node -h", _SYSTEM_NODE),
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
