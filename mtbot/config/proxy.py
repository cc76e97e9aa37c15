"""The address of a proxy: what it may look like, and what is wrong with one, said without the address itself.

With a user and a password an address is a secret and stands in a file of its own or in a variable, like a token.
"""

from typing import Annotated, Final
from urllib.parse import SplitResult, unquote, urlsplit

from pydantic import AfterValidator, StrictStr

from mtbot.config.values import Rule

SCHEMES: Final = ("http", "https", "socks5", "socks5h")
SOCKS: Final = ("socks5", "socks5h")

_SHAPE = f"must be SCHEME://HOST:PORT, where SCHEME is one of {', '.join(SCHEMES)}"
_LONGEST = 255
"""Bytes of a user and of a password in SOCKS (RFC 1929)."""


def secret_problem(text: str) -> str | None:
    """What is wrong with an address that may hold a user and a password; None if nothing. It is never quoted."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return f"{_SHAPE}; with a user and a password, SCHEME://USER:PASSWORD@HOST:PORT"
    if _misshapen(text, parts):
        return f"{_SHAPE}; in a user and a password, what is no letter or digit is written as %XX"
    named = [unquote(one) for one in (parts.username, parts.password) if one is not None]
    if parts.scheme not in SOCKS:
        return _basic_problem(named)
    if not port:
        return "must name the port of the SOCKS proxy"
    if named and not (len(named) == 2 and all(one.isascii() and 0 < len(one) <= _LONGEST for one in named)):
        return f"must have both a user and a password, each of 1 to {_LONGEST} ASCII characters, or neither"
    return None


def _basic_problem(named: list[str]) -> str | None:
    """What keeps a user and a password from being sent to an HTTP proxy (RFC 7617), which says nothing of other characters."""
    if not all(one.isascii() for one in named):
        return "must have a user and a password of ASCII characters"
    return "must have a user without a colon" if named and ":" in named[0] else None


def password_of(text: str) -> str:
    """The password in an address as it is sent; empty where there is none."""
    try:
        return unquote(urlsplit(text).password or "")
    except ValueError:
        return ""


def _misshapen(text: str, parts: SplitResult) -> bool:
    return (
        text.partition("://")[0] not in SCHEMES  # in lower case, as those read it who connect
        or not parts.hostname
        or parts.port == 0
        or parts.path not in {"", "/"}
        or bool(parts.query or parts.fragment)
        or not text.isprintable()
        or any(c.isspace() for c in text)
    )


def in_the_open(value: str) -> str:
    """An address that stands in the configuration; ValueError if it is none, or holds a secret."""
    if not value:
        return value
    if "@" in value:
        raise ValueError("must not hold a user or password: put the whole address where the keys _env or _file say")
    problem = secret_problem(value)
    if problem is not None:
        raise ValueError(problem.partition(";")[0])
    return value.rstrip("/")


OptionalProxy = Annotated[
    StrictStr, AfterValidator(in_the_open), Rule(f"{', '.join(SCHEMES)} address without a path, or empty")
]
