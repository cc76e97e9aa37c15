"""The trash as the flow sees it: every failure is a StateError with a sentence."""

import os
from pathlib import Path

import pytest

from mtbot.domain.errors import StateError
from mtbot.domain.ids import CallId
from mtbot.domain.trash import Trashed
from mtbot.tools.trash_bin import HostBin
from mtbot.tools.trash_store import Limits, Trash


async def test_what_is_listed_comes_back_or_goes(workspace: Path) -> None:
    """Listed with what it was and where it came from."""
    trash = Trash(workspace.parent / "trash", lambda: 5)
    for name in ("a", "b"):
        (workspace / name).write_text(name)
    first = trash.take((f"{workspace}/a",), CallId("c1"), Limits(keep_days=1))
    with (workspace / "b").open("rb") as file:
        second = trash.keep(f"{workspace}/b", file.fileno(), CallId("c2"), Limits(keep_days=1))
    bin_ = HostBin(trash)
    until = 5 + 86_400_000
    assert set(await bin_.listed()) == {
        Trashed(
            first.id, CallId("c1"), (f"{workspace}/a",), overwritten=False, files=1, size=1, at_ms=5, until_ms=until
        ),
        Trashed(second, CallId("c2"), (f"{workspace}/b",), overwritten=True, files=1, size=1, at_ms=5, until_ms=until),
    }
    await bin_.bring_back(first.id)
    await bin_.remove(second)
    assert (await bin_.listed(), (workspace / "a").read_text()) == ((), "a")


async def test_failures_are_told_in_a_sentence(workspace: Path, outside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused path, a machine that does not go along, an id that is none."""
    trash = Trash(workspace.parent / "trash", lambda: 5)
    (workspace / "d").mkdir()
    (workspace / "d" / "a").write_text("a")
    entry = trash.take((f"{workspace}/d/a",), CallId("c1"), Limits())
    (workspace / "d").rmdir()
    (workspace / "d").symlink_to(outside)
    with pytest.raises(StateError, match="it leads through a link"):
        await HostBin(trash).bring_back(entry.id)
    with pytest.raises(StateError, match="no id of the trash"):
        await HostBin(trash).remove("..")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "rmdir", full)
        with pytest.raises(StateError, match="the file system says: no space left on device"):
            await HostBin(trash).remove(entry.id)
