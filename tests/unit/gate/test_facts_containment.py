"""What the facts say about containment: as the workspace allows, and only as far as the host can."""

from pathlib import Path

import pytest

from mtbot.domain.call import Call, Facts
from mtbot.domain.ids import BotName, CallId, ChatId, TurnId
from mtbot.domain.turn import SYSTEM, Address, SurfaceName
from mtbot.gate.facts import FactFinder, Surroundings
from mtbot.policy.effects import prepare
from mtbot.policy.ruleset import RuleSet
from mtbot.policy.sensitive import Places
from mtbot.tools.exec import SPEC
from mtbot.tools.world import HostWorld


async def facts(cwd: Path, around: Surroundings, host: bool | None) -> tuple[Facts, int]:
    """The facts of a command on a host that can contain, cannot, or was never tried; how often that was asked."""
    asked = 0

    async def confines() -> bool:
        nonlocal asked
        asked += 1
        return host is True

    place = Address(SurfaceName.PRIVATE, BotName("main"), ChatId(1))
    call = Call(CallId("c"), TurnId("t"), "exec", {"command": "ls"}, str(cwd), place, SYSTEM)
    world = HostWorld(home="/home/mtclaw", path=("/usr/bin",), places=Places(home="/home/mtclaw"))
    finder = FactFinder(world, None if host is None else confines)
    return await finder.gather(call, prepare(call, SPEC, RuleSet()), around, tainted=False), asked


@pytest.mark.parametrize(
    ("profile", "workspace", "host", "expected"),
    [
        ("host", True, True, ("host", True, 1)),
        ("host", True, False, ("host", False, 1)),
        ("host", False, True, ("host", False, 0)),
        ("host", True, None, ("host", True, 0)),
        ("contained", True, True, ("contained", True, 1)),
        ("contained", True, False, ("host, NOT CONTAINED", False, 1)),
        ("contained", False, True, ("host, NOT CONTAINED", False, 0)),
    ],
)
async def test_workspace_and_host_must_both_allow_it(
    tmp_path: Path, profile: str, workspace: bool, host: bool | None, expected: tuple[str, bool, int]
) -> None:
    """A profile that cannot be had is named for what it is."""
    around = Surroundings("/home/mtclaw", (), profile=profile, containment_ready=workspace)
    found, asked = await facts(tmp_path, around, host)
    assert (found.profile, found.containment_ready, asked) == expected
