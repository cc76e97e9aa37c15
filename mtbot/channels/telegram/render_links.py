"""What a link in an answer may be: an address that Telegram accepts, whose host a reader can't be misled about.

A model repeats what it read, and it read strangers. So only four schemes become links, anything else stays visible
as text, and a label that looks like an address of its own gets the true host behind it.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import SplitResult, urlsplit

__all__ = ["MAX_LABEL", "MAX_URL", "linkable", "note_for"]

MAX_URL = 2048
"""Longest address that becomes a link, in characters; a longer one is shown as text."""

MAX_LABEL = 256
"""Longest label that is searched for addresses, in characters; the host stands behind every longer one."""

_ADDRESS = re.compile(
    r"(?:(?P<scheme>[a-z][a-z0-9+.-]*)://|\bwww\.)?"
    r"(?:[^\s/@<>()\[\]]*@)?"
    r"(?P<host>(?:[\w-]+\.)+(?=[\w-]*[^\W\d_])[\w-]{2,}|\d{1,3}(?:\.\d{1,3}){3}|(?<=://)[^\s/:?#]+)",
    re.IGNORECASE,
)
_DOTS = str.maketrans("\u3002\u00b7", "..")


def linkable(url: str) -> bool:
    """Whether Telegram shall get this address as a link: http, https, tg or mailto, with a host that it accepts."""
    if len(url) > MAX_URL or re.search(r"[\s\x00-\x1f]", url):
        return False
    parts = _split(url)
    if parts is None:
        return False
    if parts.scheme in {"http", "https"}:
        return "." in (parts.hostname or "").strip(".") or ":" in (parts.hostname or "")
    if parts.scheme == "tg":
        return re.fullmatch(r"[A-Za-z0-9_-]+", parts.netloc) is not None
    return parts.scheme == "mailto" and re.fullmatch(r"[^@?]+@[^@?]+\.[^@?]+", parts.path) is not None


def note_for(label: str, url: str) -> str | None:
    """What must stand behind a link with this label: its host or address, None when the label misleads nobody.

    Noted is every mail address that the label does not show, every host behind a user name in the address or a very
    long label, and every host that differs from one which the label shows.
    """
    parts = _split(url)
    if parts is None:
        return None
    shown = _plain(label[:MAX_LABEL])
    if parts.scheme == "mailto":
        return None if parts.path.casefold() in shown else parts.path
    host = _bare(parts.hostname or "")
    if parts.scheme == "tg":
        host = f"tg://{host}"
    named = {_bare(found["host"]) if found["scheme"] != "tg" else found[0] for found in _ADDRESS.finditer(shown)}
    misleads = bool(named - {host}) or "@" in parts.netloc or len(label) > MAX_LABEL
    return host if misleads else None


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  a port that is no number raises here
    except ValueError:
        return None
    return parts


def _plain(label: str) -> str:
    """The label as an eye reads it: compatibility forms folded, what has no width left out."""
    folded = unicodedata.normalize("NFKC", label).translate(_DOTS).casefold()
    return "".join(char for char in folded if unicodedata.category(char) != "Cf").strip()


def _bare(host: str) -> str:
    return host.casefold().rstrip(".").removeprefix("www.")
