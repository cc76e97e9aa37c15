"""Read which keys the configuration of a git repository sets, without running git.

Git starts programs that a repository's own configuration names, so policy wants to know the names before git runs by
rule. Asking git for them would be running it. What this parser does not understand is unreadable, never absent.
"""

import os
import stat
from pathlib import Path

MAX_CONFIG = 256 * 1024
_SPACE = " \t\r\f\v"
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
_INCLUDES = ("include.", "includeif.")

MAX_INDEX = 64 * 1024 * 1024
NESTED = "submodule.gitlink"
"""Stands among the keys for a repository within the repository: git enters it and obeys the configuration there."""

_GITLINK = b"\0\0\xe0\0"
"""The mode of such an entry in an index."""


class Unreadable(Exception):
    """The configuration cannot be read, or says something that only git could follow."""


def keys_around(directory: str) -> frozenset[str]:
    """Lower-case ``section.key`` names (the part between them dropped) that hold in ``directory``; empty: no repository.

    Every repository upwards counts, because git passes by what only looks like one. Unreadable where a file cannot be
    read or parsed, or includes others.
    """
    here = Path(directory)
    found: set[str] = set()
    for place in (here, *here.parents):
        home = _git_directory(place)
        if home is not None:
            found |= _keys_of(home)
    if any(key.startswith(_INCLUDES) for key in found):
        raise Unreadable("it includes other files")
    return frozenset(found)


def _git_directory(place: Path) -> Path | None:
    """The git directory of a work tree whose top is ``place``, or ``place`` itself if it is one."""
    entry = place / ".git"
    try:
        mode = entry.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return place if (place / "HEAD").exists() and (place / "objects").exists() else None
    except OSError as error:
        raise Unreadable(str(error)) from error
    if stat.S_ISDIR(mode):
        return entry
    pointer = _content(entry)
    if pointer is None or not pointer.startswith("gitdir:"):
        raise Unreadable(f"{entry} points nowhere")
    return place / pointer.removeprefix("gitdir:").strip()


def _keys_of(home: Path) -> set[str]:
    shared = _content(home / "commondir")
    common = home / shared.strip() if shared is not None else home
    found: set[str] = set()
    for path in (common / "config", home / "config.worktree"):
        text = _content(path)
        if text is not None:
            found |= parse_keys(text)
    if _holds_repositories(home):
        found.add(NESTED)
    return found


def _holds_repositories(home: Path) -> bool:
    """Whether the index may name a repository within this one; bytes that only look like it count too."""
    for path in (home / "index", *home.glob("sharedindex.*")):
        try:
            if path.stat().st_size > MAX_INDEX:
                raise Unreadable(f"{path} is too large")
            if _GITLINK in path.read_bytes():
                return True
        except FileNotFoundError:
            continue
        except OSError as error:
            raise Unreadable(str(error)) from error
    return False


def _content(path: Path) -> str | None:
    """A small text file whole, None if there is none. Unreadable for everything else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unreadable(str(error)) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unreadable(f"{path} is not a regular file")
        data = b""
        while len(data) <= MAX_CONFIG and (piece := os.read(descriptor, MAX_CONFIG + 1 - len(data))):
            data += piece
    except OSError as error:
        raise Unreadable(str(error)) from error
    finally:
        os.close(descriptor)
    if len(data) > MAX_CONFIG or b"\0" in data:
        raise Unreadable(f"{path} is too large or no text")
    return data.decode("utf-8-sig", "replace")


def parse_keys(text: str) -> frozenset[str]:
    """The ``section.key`` names that a text in git's configuration syntax sets. Unreadable where it has a fault."""
    return _Parser(text).keys()


class _Parser:
    """One pass over the text; values are only skipped, but as git would read them."""

    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._at = 0

    def keys(self) -> frozenset[str]:
        found: set[str] = set()
        section = ""
        while (char := self._peek()) != "":
            if char in _SPACE or char == "\n":
                self._at += 1
            elif char in "#;":
                self._skip_line()
            elif char == "[":
                section = self._section()
            elif char.isascii() and char.isalpha() and section:
                found.add(f"{section}.{self._key()}")
            else:
                raise Unreadable(f"nothing can begin with {char!r}")
        return frozenset(found)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip_line(self) -> None:
        end = self._text.find("\n", self._at)
        self._at = len(self._text) if end < 0 else end

    def _name(self, more: str = "") -> str:
        begin = self._at
        while self._peek() and (self._peek() in _NAME or self._peek() in more):
            self._at += 1
        return self._text[begin : self._at].lower()

    def _section(self) -> str:
        """``[name]``, ``[name "any text"]`` or the old ``[name.part]``; the name alone."""
        self._at += 1
        name = self._name(".")
        self._blanks()
        if self._peek() == '"':
            self._quoted()
        if not name or self._peek() != "]":
            raise Unreadable("a section header has a fault")
        self._at += 1
        return name.partition(".")[0]

    def _quoted(self) -> None:
        self._at += 1
        while (char := self._peek()) != '"':
            if char in ("", "\n"):
                raise Unreadable("a section header does not end")
            self._at += 2 if char == "\\" else 1
        self._at += 1

    def _key(self) -> str:
        name = self._name()
        self._blanks()
        if self._peek() == "=":
            self._at += 1
            self._value()
        elif self._peek() not in ("", "\n", "#", ";"):
            raise Unreadable(f"the key {name} has a fault")
        return name

    def _blanks(self) -> None:
        while self._peek() and self._peek() in _SPACE:
            self._at += 1

    def _value(self) -> None:
        """Up to the end of the line; a backslash continues it, and in quotes nothing begins a comment."""
        quoted = False
        while (char := self._peek()) not in ("", "\n"):
            if char == "\\":
                if self._text[self._at + 1 : self._at + 2] not in ("\n", '"', "\\", "n", "t", "b"):
                    raise Unreadable("a value has an unknown escape")
                self._at += 2
                continue
            if char == '"':
                quoted = not quoted
            elif char in "#;" and not quoted:
                self._skip_line()
                return
            self._at += 1
        if quoted:
            raise Unreadable("a quote in a value does not end")
