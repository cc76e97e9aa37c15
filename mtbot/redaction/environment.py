"""Which environment variables hold secrets, judged by their names."""

from collections.abc import Mapping

from mtbot.redaction.encodings import SHORTEST

_SECRET_WORDS = frozenset(
    [
        "KEY",
        "KEYS",
        "APIKEY",
        "TOKEN",
        "TOKENS",
        "SECRET",
        "SECRETS",
        "PASSWORD",
        "PASSWORDS",
        "PASSWD",
        "PASSPHRASE",
        "PASS",
        "PW",
        "PWD",
        "CREDENTIAL",
        "CREDENTIALS",
        "AUTH",
        "DSN",
        "PAT",
        "WEBHOOK",
        "COOKIE",
        "SIGNATURE",
        "SALT",
    ]
)
_ENDINGS = ("APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE")
_ABOUT = frozenset(
    [
        "FILE",
        "PATH",
        "DIR",
        "DIRECTORY",
        "SOCK",
        "SOCKET",
        "NAME",
        "ID",
        "TYPE",
        "TTL",
        "LENGTH",
        "SIZE",
        "COUNT",
        "PROGRAM",
        "COMMAND",
        "ASKPASS",
        "PUBLIC",
        "REQUIRE",
        "ENABLED",
    ]
)
_NEVER = frozenset(("PWD", "OLDPWD", "SSH_AUTH_SOCK", "GPG_KEY", "XAUTHORITY"))


def secret_env_names(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of `environ` that look like secrets, long enough to be searched for, with their values."""
    return {
        name: value for name, value in environ.items() if len(value.strip()) >= SHORTEST and _is_secret(name.upper())
    }


def _is_secret(name: str) -> bool:
    words = [word.rstrip("0123456789") for word in name.replace("-", "_").replace(".", "_").split("_")]
    if name in _NEVER or not _ABOUT.isdisjoint(words):
        return False
    return not _SECRET_WORDS.isdisjoint(words) or any(word.endswith(_ENDINGS) for word in words)
