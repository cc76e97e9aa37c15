"""The trash of one state directory: what tools take away or overwrite is moved here and can be brought back.

An entry is a directory of its own with a manifest, which is on disk before anything is moved: whatever happens in
between, what is here says where it belongs. Only ``remove`` deletes, and only a person or a lapsed entry leads there.
"""

import contextlib
import hashlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mtbot.domain.errors import StateError
from mtbot.domain.ids import CallId
from mtbot.tools import moving, roots
from mtbot.tools.moving import Spot
from mtbot.tools.roots import PathRefused
from mtbot.tools.trash_entry import Entry, Item, Reason

MAX_ENTRIES = 200_000
"""Files and directories that are moved at once."""

MAX_DIGESTED = 16 * 1024 * 1024
DAY_MS = 86_400_000
MANIFEST = "manifest.json"
MAX_MANIFEST = 1024 * 1024

_ALPHABET = "ABCDEFGHJKLMNPQRTUVWXYZ2346789"
_ID_LENGTH = 6
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Limits:
    """What a profile grants: ``max_bytes`` of everything in the trash together, and for how many days it is kept."""

    max_bytes: int = 1024 * 1024 * 1024
    keep_days: int = 30


@dataclass(frozen=True, slots=True)
class Bin:
    """The trash as a profile may use it."""

    trash: "Trash"
    limits: Limits = Limits()


class Trash:
    """The trash at ``place``, made when it is first needed. ``now_ms`` gives Unix milliseconds."""

    def __init__(self, place: Path, now_ms: Callable[[], int]) -> None:
        self._place = place
        self._now_ms = now_ms

    # --- looking

    def entries(self) -> tuple[Entry, ...]:
        """Everything that is here, oldest first; what nobody can read is left out (and never removed)."""
        try:
            names = [child.name for child in self._place.iterdir()]
        except FileNotFoundError:
            return ()
        found = (self._read(name) for name in names if _is_id(name))
        return tuple(sorted((one for one in found if one is not None), key=lambda one: (one.at_ms, one.id)))

    def find(self, ident: str) -> Entry:
        """The entry of that id. StateError if there is none."""
        entry = self._read(ident) if _is_id(ident) else None
        if entry is None:
            raise StateError(f"there is nothing called {ident[:20]} in the trash", hint="`mtclaw trash list` lists it")
        return entry

    def of_call(self, call: CallId) -> Entry | None:
        """What that call left here; None if it is gone, or never was."""
        return next((entry for entry in self.entries() if entry.call == call), None)

    # --- taking in

    def take(self, paths: Sequence[str], call: CallId, limits: Limits, reason: Reason = Reason.TRASHED) -> Entry:
        """Move what lies at those resolved paths here: all of it or, with PathRefused or OSError, nothing."""
        items = tuple(self._look(path) for path in paths)
        entry = self._begin(reason, call, items, limits)
        moved: list[int] = []
        try:
            with self._open(entry.id) as inside:
                for number, item in enumerate(items):
                    parent, name = roots.parted(item.path)
                    with roots.directory(parent) as held:
                        moving.move(Spot(held, name), Spot(inside, str(number)))
                    moved.append(number)
                os.fsync(inside)
        except BaseException:
            self._give_back(entry, moved)
            raise
        return entry

    def keep(self, path: str, opened: int, call: CallId, limits: Limits) -> str:
        """Keep a copy of an open file that is about to be overwritten; the id of its entry. PathRefused, OSError."""
        status = os.fstat(opened)
        item = _item(path, status, 1, status.st_size, _digest(opened, status))
        entry = self._begin(Reason.OVERWRITTEN, call, (item,), limits)
        try:
            with self._open(entry.id) as inside:
                moving.copy_open_file(opened, Spot(inside, "0"))
                os.fsync(inside)
        except BaseException:
            self.remove(entry.id)
            raise
        return entry.id

    # --- giving back

    def restore(self, ident: str) -> Entry:
        """Put an entry back to where it came from. StateError, PathRefused or OSError say why not; it stays here then.

        What was trashed needs a free place. What was overwritten changes places with what is there now, which is kept
        here as a new entry.
        """
        entry = self.find(ident)
        kept = self._swap_out(entry) if entry.reason is Reason.OVERWRITTEN else None
        placed: list[int] = []
        try:
            with self._open(entry.id) as inside:
                for number, item in enumerate(entry.items):
                    self._check(inside, number, item)
                for number, item in enumerate(entry.items):
                    self._put(inside, number, item)
                    placed.append(number)
        except BaseException:
            self._take_again(entry, placed)
            if kept is not None:
                self.restore(kept.id)
            raise
        self.remove(entry.id)
        return entry

    def remove(self, ident: str) -> None:
        """Delete an entry for good. StateError if there is none of that id."""
        if not _is_id(ident):
            raise StateError(f"{ident[:20]} is no id of the trash")
        with self._open() as held:
            try:
                moving.remove_tree(held, ident)
            except FileNotFoundError:
                raise StateError(f"there is nothing called {ident} in the trash") from None

    def lapsed(self, now_ms: int) -> tuple[Entry, ...]:
        """The entries that were kept for as long as was said."""
        return tuple(entry for entry in self.entries() if entry.until_ms <= now_ms)

    # --- how

    @contextlib.contextmanager
    def _open(self, ident: str = "") -> Iterator[int]:
        opened = os.open(self._place / ident, _OPEN)
        try:
            if os.fstat(opened).st_uid != os.geteuid():
                raise StateError(f"{self._place / ident} does not belong to the user that mtclaw runs as")
            yield opened
        finally:
            os.close(opened)

    def _read(self, ident: str) -> Entry | None:
        try:
            with self._open(ident) as inside:
                opened = os.open(MANIFEST, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=inside)
                with os.fdopen(opened, "rb") as file:
                    return Entry.from_json(ident, file.read(MAX_MANIFEST).decode())
        except (OSError, ValueError):
            return None

    def _look(self, path: str) -> Item:
        if str(self._place) == path or str(self._place).startswith(path.rstrip("/") + "/"):
            raise PathRefused("holds the trash itself")
        parent, name = roots.parted(path)
        with roots.directory(parent) as held:
            status = os.stat(name, dir_fd=held, follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode) and not stat.S_ISREG(status.st_mode):
                raise PathRefused(f"is {roots.kind_of(status.st_mode)}, neither a file nor a directory")
            weight = moving.weigh(held, name, MAX_ENTRIES)
        if not weight.whole:
            raise PathRefused(f"holds over {MAX_ENTRIES} files, too many to be moved at once")
        digest = ""
        if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_DIGESTED:
            with contextlib.suppress(PermissionError), roots.regular_file(path) as opened:
                digest = _digest(opened, status)
        return _item(path, status, weight.files, weight.size, digest)

    def _begin(self, reason: Reason, call: CallId, items: tuple[Item, ...], limits: Limits) -> Entry:
        """An entry that holds its manifest and nothing else yet. PathRefused if there is no room for what shall come."""
        held = sum(entry.size for entry in self.entries())
        more = sum(item.size for item in items)
        if held + more > limits.max_bytes:
            raise PathRefused(
                f"does not fit into the trash: it holds {held} of at most {limits.max_bytes} bytes and this needs {more} "
                "more; a person can make room on the host (mtclaw trash empty)"
            )
        now = self._now_ms()
        entry = Entry("", reason, call, now, now + limits.keep_days * DAY_MS, items)
        self._place.mkdir(mode=0o700, exist_ok=True)
        with self._open() as opened:
            while True:
                ident = "".join(secrets.choice(_ALPHABET) for _ in range(_ID_LENGTH))
                try:
                    os.mkdir(ident, 0o700, dir_fd=opened)
                    break
                except FileExistsError:
                    continue
            os.fsync(opened)
        entry = replace(entry, id=ident)
        try:
            self._write_manifest(entry)
        except BaseException:
            self.remove(ident)
            raise
        return entry

    def _write_manifest(self, entry: Entry) -> None:
        with self._open(entry.id) as inside:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(MANIFEST, flags, 0o600, dir_fd=inside), "wb") as file:
                file.write(entry.to_json().encode())
                file.flush()
                os.fsync(file.fileno())
            os.fsync(inside)

    def _give_back(self, entry: Entry, moved: Sequence[int]) -> None:
        """Undo a move that did not come to its end; what cannot be put back stays here under its manifest."""
        try:
            with self._open(entry.id) as inside:
                for number in reversed(moved):
                    self._put(inside, number, entry.items[number])
        except (OSError, PathRefused):
            return
        self.remove(entry.id)

    def _check(self, inside: int, number: int, item: Item) -> None:
        try:
            status = os.stat(str(number), dir_fd=inside, follow_symlinks=False)
        except FileNotFoundError:
            raise StateError(f"{item.path} is not in the trash any more") from None
        if stat.S_ISDIR(status.st_mode) is not item.directory:
            raise StateError(f"what lies in the trash for {item.path} is something else")
        if item.sha256:
            opened = os.open(str(number), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=inside)
            try:
                if _digest(opened, os.fstat(opened)) != item.sha256:
                    raise StateError(f"what lies in the trash for {item.path} was changed there")
            finally:
                os.close(opened)

    def _put(self, inside: int, number: int, item: Item) -> None:
        parent, name = roots.parted(item.path)
        with roots.directory(parent, create=True) as held:
            try:
                moving.move(Spot(inside, str(number)), Spot(held, name))
            except FileExistsError:
                raise StateError(f"something else lies at {item.path} now; move that away first") from None

    def _swap_out(self, entry: Entry) -> Entry | None:
        """Take in what lies where an overwritten file belongs; None if nothing does."""
        (item,) = entry.items
        if not os.path.lexists(item.path):
            return None
        limits = Limits(max_bytes=2**63, keep_days=max(1, (entry.until_ms - self._now_ms()) // DAY_MS))
        return self.take((item.path,), CallId(""), limits, Reason.OVERWRITTEN)

    def _take_again(self, entry: Entry, placed: Sequence[int]) -> None:
        """Undo half of a restore."""
        with contextlib.suppress(OSError, PathRefused), self._open(entry.id) as inside:
            for number in placed:
                parent, name = roots.parted(entry.items[number].path)
                with roots.directory(parent) as held:
                    moving.move(Spot(held, name), Spot(inside, str(number)))


def _is_id(text: str) -> bool:
    return len(text) == _ID_LENGTH and all(char in _ALPHABET for char in text)


def _item(path: str, status: os.stat_result, files: int, size: int, digest: str) -> Item:
    directory = stat.S_ISDIR(status.st_mode)
    return Item(path, directory, stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid, files, size, digest)


def _digest(opened: int, status: os.stat_result) -> str:
    """SHA-256 of a small open file, else the empty string."""
    if status.st_size > MAX_DIGESTED:
        return ""
    total, at = hashlib.sha256(), 0
    while piece := os.pread(opened, 1024 * 1024, at):
        total.update(piece)
        at += len(piece)
    return total.hexdigest()
