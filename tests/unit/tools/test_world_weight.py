"""How much lies somewhere, as a question needs it."""

from pathlib import Path

import pytest

from mtbot.domain.call import Weight
from mtbot.policy.sensitive import Places
from mtbot.tools import world
from mtbot.tools.world import HostWorld


async def test_how_much_lies_somewhere_is_found_out_or_not_said(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file, a tree, more than is looked at; what is not there or no file has no weight."""
    eyes = HostWorld(home="/", path=(), places=Places(home="/"))
    (workspace / "d").mkdir()
    for name in ("a", "b"):
        (workspace / "d" / name).write_text("xx")
    assert await eyes.weigh(f"{workspace}/d/a") == Weight(1, 2)
    assert await eyes.weigh(f"{workspace}/d") == Weight(2, 4)
    assert await eyes.weigh(f"{workspace}/none") is None
    assert await eyes.weigh("/proc") is None
    monkeypatch.setattr(world, "MAX_WEIGHED", 2)
    found = await eyes.weigh(f"{workspace}/d")
    assert found is not None
    assert (found.files, found.whole) == (1, False)
