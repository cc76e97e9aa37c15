"""Change one thing in the configuration file and keep everything else: comments, order, quoting, mode.

The changed text is checked as a whole before it replaces the file in one step; if it would not load, nothing is changed.
"""

import io
import os
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError

from mtbot.domain.errors import ConfigError

Check = Callable[[Path], object]


def add_to_list(file: Path, keys: Sequence[str], entry: str | dict[str, object], check: Check) -> None:
    """Append ``entry`` to the list at the dotted place ``keys``, making what is missing on the way.

    ``check`` loads a candidate file and raises ConfigError if it cannot be used. ConfigError if the file is no mapping
    there, StateError-like OSErrors pass through.
    """
    root = _read(file)
    _list_at(root, keys, file).append(_flow(entry))
    _write(file, root, check)


def add_person(file: Path, name: str, user: int, bot: str, check: Check) -> None:
    """Write a person into ``people`` and onto the list of a bot, both or nothing. ConfigError, and OSErrors pass through."""
    root = _mapping(_read(file), "people", file)
    if root.get("people") is None:
        root["people"] = CommentedMap()
    named = _mapping(root["people"], name, file)
    if name in named:
        raise ConfigError((f"{file}: people: there is a {name} already",))
    named[name] = user
    telegram = root.get("channels", {}).get("telegram", {})
    place = ("channels", "telegram", "bots", bot) if telegram.get("bots") else ("channels", "telegram")
    _list_at(root, (*place, "allow_from"), file).append(name)
    _write(file, root, check)


def _read(file: Path) -> object:
    try:
        document = _yaml().load(file.read_text(encoding="utf-8"))
    except YAMLError as error:
        raise ConfigError((f"{file}: cannot be edited: {str(error).splitlines()[0]}",)) from error
    return document if document is not None else CommentedMap()


def _list_at(root: object, keys: Sequence[str], file: Path) -> CommentedSeq:
    """The list at that place, made if it is missing."""
    place = _mapping(root, keys[0], file)
    for key, following in pairwise(keys):
        if place.get(key) is None:
            place[key] = CommentedMap()
        place = _mapping(place[key], following, file)
    listed = place.get(keys[-1])
    if listed is None:
        listed = place[keys[-1]] = CommentedSeq()
    if not isinstance(listed, CommentedSeq):
        raise ConfigError((f"{file}: {keys[-1]} is not a list",))
    return listed


def _write(file: Path, root: object, check: Check) -> None:
    stream = io.StringIO()
    _yaml().dump(root, stream)
    _replace(file, stream.getvalue(), check)


def _yaml() -> YAML:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


def _mapping(place: object, key: str, file: Path) -> CommentedMap:
    """``place``, which has to be a mapping if ``key`` is to be found or added there."""
    if not isinstance(place, CommentedMap):
        raise ConfigError((f"{file}: {key} cannot be added, what should hold it is no mapping",))
    return place


def _flow(entry: str | dict[str, object]) -> object:
    """An entry on one line, as people write them."""
    if isinstance(entry, str):
        return entry
    made = CommentedMap()
    for key, value in entry.items():
        if isinstance(value, list | tuple):
            words = CommentedSeq(value)
            words.fa.set_flow_style()
            made[key] = words
        else:
            made[key] = value
    made.fa.set_flow_style()
    return made


def _replace(file: Path, text: str, check: Check) -> None:
    """Put ``text`` in place of ``file`` once ``check`` is content with it; mode and owner stay."""
    candidate = file.with_name(f".{file.name}.{os.getpid()}.new")
    before = file.stat()
    fd = os.open(candidate, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        check(candidate)
        candidate.chmod(before.st_mode & 0o7777)
        if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
            os.chown(candidate, before.st_uid, before.st_gid)
        candidate.replace(file)
    finally:
        candidate.unlink(missing_ok=True)
