"""The trash: all or nothing on the way in, never over anything on the way back, and a limit that deletes nothing."""

import os
from pathlib import Path

import pytest

from mtbot.domain.errors import StateError
from mtbot.domain.ids import CallId
from mtbot.tools import moving
from mtbot.tools.roots import PathRefused
from mtbot.tools.trash_entry import Item, Reason
from mtbot.tools.trash_store import DAY_MS, Limits, Trash
from tests.unit.tools.builders import state_of

CALL = CallId("c1")
LIMITS = Limits(max_bytes=1000, keep_days=30)


class Time:
    """A clock that a test sets."""

    now = 1_000_000

    def __call__(self) -> int:
        """Where it stands."""
        return self.now


@pytest.fixture
def trash(tmp_path: Path) -> Trash:
    """An empty trash beside the workspace."""
    (tmp_path / "state").mkdir()
    return Trash(tmp_path.resolve() / "state" / "trash", Time())


def test_a_file_and_a_directory_go_in_and_come_back(trash: Trash, workspace: Path) -> None:
    """The manifest says what they were; afterwards everything is as it was, and the trash is empty."""
    (workspace / "a.txt").write_text("a\n")
    (workspace / "a.txt").chmod(0o640)
    (workspace / "old").mkdir()
    (workspace / "old" / "b.txt").write_text("bb\n")
    before = {path: state[:5] for path, state in state_of(workspace).items()}
    entry = trash.take((f"{workspace}/a.txt", f"{workspace}/old"), CALL, LIMITS)
    assert list(workspace.iterdir()) == []
    assert (entry.reason, entry.call, entry.at_ms, entry.until_ms) == (
        Reason.TRASHED,
        CALL,
        Time.now,
        Time.now + 30 * DAY_MS,
    )
    digest = "87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7"
    own = (os.geteuid(), os.getegid())
    assert entry.items == (
        Item(f"{workspace}/a.txt", directory=False, mode=0o640, uid=own[0], gid=own[1], files=1, size=2, sha256=digest),
        Item(f"{workspace}/old", directory=True, mode=entry.items[1].mode, uid=own[0], gid=own[1], files=1, size=3),
    )
    assert trash.entries() == (entry,)
    assert trash.of_call(CALL) == entry
    assert trash.restore(entry.id) == entry
    assert {path: state[:5] for path, state in state_of(workspace).items()} == before
    assert trash.entries() == ()


def test_the_trash_is_for_its_owner_alone(trash: Trash, workspace: Path, tmp_path: Path) -> None:
    """Directories 0700, manifests 0600, whatever the umask."""
    (workspace / "a").write_text("a")
    entry = trash.take((f"{workspace}/a",), CALL, LIMITS)
    place = tmp_path / "state" / "trash"
    modes = [path.stat().st_mode & 0o777 for path in (place, place / entry.id, place / entry.id / "manifest.json")]
    assert modes == [0o700, 0o700, 0o600]


def test_all_of_it_is_moved_or_nothing(trash: Trash, workspace: Path) -> None:
    """The second path is gone when its turn comes: the first one is back."""
    (workspace / "a").write_text("a")
    (workspace / "b").write_text("b")
    real = moving.move
    moved: list[str] = []

    def once(source: moving.Spot, target: moving.Spot) -> None:
        if source.name == "b":
            raise PermissionError(1, "no")
        moved.append(source.name)
        real(source, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moving, "move", once)
        with pytest.raises(PermissionError):
            trash.take((f"{workspace}/a", f"{workspace}/b"), CALL, LIMITS)
    assert moved == ["a", "0"]
    assert sorted(path.name for path in workspace.iterdir()) == ["a", "b"]
    assert trash.entries() == ()


def test_what_does_not_fit_stays_and_nothing_is_deleted(trash: Trash, workspace: Path) -> None:
    """The limit counts everything in the trash; to the last byte it may be full."""
    for name, size in (("a", 600), ("b", 401), ("c", 400)):
        (workspace / name).write_bytes(b"x" * size)
    first = trash.take((f"{workspace}/a",), CALL, LIMITS)
    with pytest.raises(
        PathRefused, match="does not fit into the trash: it holds 600 of at most 1000 bytes and this needs 401"
    ):
        trash.take((f"{workspace}/b",), CALL, LIMITS)
    assert trash.entries() == (first,)
    assert (workspace / "b").exists()
    trash.take((f"{workspace}/c",), CALL, LIMITS)
    assert len(trash.entries()) == 2


@pytest.mark.parametrize("name", ["link", "pipe"])
def test_what_is_neither_file_nor_directory_stays(trash: Trash, workspace: Path, outside: Path, name: str) -> None:
    """A link is refused and what it leads to untouched."""
    (workspace / "link").symlink_to(outside / "notes.txt")
    os.mkfifo(workspace / "pipe")
    with pytest.raises(PathRefused, match=r"is a (link|named pipe), neither a file nor a directory"):
        trash.take((f"{workspace}/{name}",), CALL, LIMITS)
    assert (workspace / "link").is_symlink()
    assert (outside / "notes.txt").read_text() == "not yours\n"


def test_a_directory_that_became_a_link_is_not_walked(trash: Trash, workspace: Path, outside: Path) -> None:
    """Between the decision and the move somebody turns a directory into a link: nothing outside is moved."""
    (workspace / "d").symlink_to(outside)
    with pytest.raises(PathRefused, match="leads through a link"):
        trash.take((f"{workspace}/d/notes.txt",), CALL, LIMITS)
    assert (outside / "notes.txt").exists()


def test_the_trash_does_not_hold_itself(trash: Trash, tmp_path: Path) -> None:
    """Neither it nor what it lies in can be moved into it."""
    for path in (tmp_path.resolve(), tmp_path.resolve() / "state", tmp_path.resolve() / "state" / "trash"):
        with pytest.raises(PathRefused, match="holds the trash itself"):
            trash.take((str(path),), CALL, LIMITS)


def test_nothing_comes_back_over_something_else(trash: Trash, workspace: Path) -> None:
    """The new file stays as it is, the old one stays in the trash, and of several none comes back."""
    (workspace / "a").write_text("old a")
    (workspace / "b").write_text("old b")
    entry = trash.take((f"{workspace}/a", f"{workspace}/b"), CALL, LIMITS)
    (workspace / "b").write_text("new b")
    with pytest.raises(StateError, match=r"something else lies at .*/b now"):
        trash.restore(entry.id)
    assert {path.name: path.read_text() for path in workspace.iterdir()} == {"b": "new b"}
    (workspace / "b").unlink()
    trash.restore(entry.id)
    assert {path.name: path.read_text() for path in workspace.iterdir()} == {"a": "old a", "b": "old b"}


def test_missing_directories_are_made_on_the_way_back(trash: Trash, workspace: Path) -> None:
    """Whoever removed them meanwhile does not make the file unreachable."""
    (workspace / "d").mkdir()
    (workspace / "d" / "a").write_text("a")
    entry = trash.take((f"{workspace}/d/a",), CALL, LIMITS)
    (workspace / "d").rmdir()
    trash.restore(entry.id)
    assert (workspace / "d" / "a").read_text() == "a"


def test_a_way_back_that_leads_through_a_link_is_refused(trash: Trash, workspace: Path, outside: Path) -> None:
    """A directory that was turned into a link meanwhile would let the file land outside."""
    (workspace / "d").mkdir()
    (workspace / "d" / "a").write_text("a")
    entry = trash.take((f"{workspace}/d/a",), CALL, LIMITS)
    (workspace / "d").rmdir()
    (workspace / "d").symlink_to(outside)
    with pytest.raises(PathRefused):
        trash.restore(entry.id)
    assert sorted(path.name for path in outside.iterdir()) == ["notes.txt"]
    assert trash.entries() == (entry,)


def test_what_was_changed_in_the_trash_does_not_come_back(trash: Trash, workspace: Path, tmp_path: Path) -> None:
    """Its content is not what was taken away; nor does something that is gone from there."""
    (workspace / "a").write_text("a")
    entry = trash.take((f"{workspace}/a",), CALL, LIMITS)
    kept = tmp_path / "state" / "trash" / entry.id / "0"
    kept.write_text("b")
    with pytest.raises(StateError, match="was changed there"):
        trash.restore(entry.id)
    kept.unlink()
    kept.mkdir()
    with pytest.raises(StateError, match="is something else"):
        trash.restore(entry.id)
    kept.rmdir()
    with pytest.raises(StateError, match="not in the trash any more"):
        trash.restore(entry.id)
    assert list(workspace.iterdir()) == []


def test_an_overwritten_file_changes_places_with_the_new_one(trash: Trash, workspace: Path) -> None:
    """Back and forth, nothing is lost; where nothing lies any more the old one just comes back."""
    path = workspace / "a"
    path.write_text("old")
    with path.open("rb") as file:
        first = trash.keep(str(path), file.fileno(), CALL, LIMITS)
    path.write_text("newer")
    trash.restore(first)
    assert path.read_text() == "old"
    (second,) = trash.entries()
    assert (second.reason, second.call, second.size) == (Reason.OVERWRITTEN, "", 5)
    trash.restore(second.id)
    assert path.read_text() == "newer"
    (third,) = trash.entries()
    path.unlink()
    trash.restore(third.id)
    assert (path.read_text(), trash.entries()) == ("old", ())


def test_a_failed_way_back_leaves_the_new_version_in_its_place(trash: Trash, workspace: Path, tmp_path: Path) -> None:
    """The kept version turns out to be spoilt after the newer one was set aside: that one is put back."""
    path = workspace / "a"
    path.write_text("old")
    with path.open("rb") as file:
        ident = trash.keep(str(path), file.fileno(), CALL, LIMITS)
    path.write_text("new")
    (tmp_path / "state" / "trash" / ident / "0").write_text("spoilt")
    with pytest.raises(StateError, match="was changed there"):
        trash.restore(ident)
    assert path.read_text() == "new"
    assert [entry.id for entry in trash.entries()] == [ident]


def test_only_what_has_lapsed_is_called_so(trash: Trash, workspace: Path) -> None:
    """Kept until the very moment that was promised."""
    (workspace / "a").write_text("a")
    entry = trash.take((f"{workspace}/a",), CALL, LIMITS)
    assert trash.lapsed(entry.until_ms - 1) == ()
    assert trash.lapsed(entry.until_ms) == (entry,)


def test_a_trash_of_somebody_else_is_not_used(trash: Trash, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever owns it could put anything in its place."""
    (workspace / "a").write_text("a")
    entry = trash.take((f"{workspace}/a",), CALL, LIMITS)
    uid = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    with pytest.raises(StateError, match="does not belong to the user"):
        trash.restore(entry.id)
    assert list(workspace.iterdir()) == []


def test_too_many_files_at_once_stay(trash: Trash, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody means a million of them."""
    monkeypatch.setattr("mtbot.tools.trash_store.MAX_ENTRIES", 2)
    (workspace / "d").mkdir()
    for name in ("a", "b"):
        (workspace / "d" / name).touch()
    with pytest.raises(PathRefused, match="holds over 2 files"):
        trash.take((f"{workspace}/d",), CALL, LIMITS)
    assert trash.entries() == ()


@pytest.mark.parametrize(
    "broken", ["mtbot.tools.moving.copy_open_file", "mtbot.tools.trash_store.Trash._write_manifest"]
)
def test_what_could_not_be_kept_leaves_no_entry(
    trash: Trash, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """A disk that is full while the old version is copied, or while its manifest is written."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = workspace / "a"
    path.write_text("old")
    monkeypatch.setattr(broken, full)
    with path.open("rb") as file, pytest.raises(OSError, match="No space left"):
        trash.keep(str(path), file.fileno(), CALL, LIMITS)
    assert list((tmp_path / "state" / "trash").iterdir()) == []


@pytest.mark.parametrize("ident", ["", "..", "../..", "abcdef", "ABCDE", "ABC/EF", "ZZZZZZ"])
def test_an_id_that_is_none_leads_nowhere(trash: Trash, workspace: Path, ident: str) -> None:
    """Nothing outside the trash can be named by one."""
    (workspace / "a").write_text("a")
    trash.take((f"{workspace}/a",), CALL, LIMITS)
    with pytest.raises(StateError):
        trash.find(ident)
    with pytest.raises(StateError):
        trash.remove(ident)
    assert len(trash.entries()) == 1


def test_an_entry_without_a_readable_manifest_is_left_alone(trash: Trash, workspace: Path, tmp_path: Path) -> None:
    """It is not listed, so nothing removes it, and a link in place of an entry is not followed."""
    (workspace / "a").write_text("a")
    entry = trash.take((f"{workspace}/a",), CALL, LIMITS)
    place = tmp_path / "state" / "trash"
    (place / entry.id / "manifest.json").write_text("{")
    (place / "ABCDEF").symlink_to(place / entry.id)
    assert trash.entries() == ()
    assert (place / entry.id / "0").read_text() == "a"


def test_an_entry_is_deleted_for_good_only_when_asked(trash: Trash, workspace: Path, outside: Path) -> None:
    """With all below it, and nothing behind its links."""
    (workspace / "old").mkdir()
    (workspace / "old" / "link").symlink_to(outside)
    entry = trash.take((f"{workspace}/old",), CALL, LIMITS)
    trash.remove(entry.id)
    assert trash.entries() == ()
    assert (outside / "notes.txt").exists()
    with pytest.raises(StateError, match="there is nothing called"):
        trash.remove(entry.id)
