"""The table of docs/security.md is what the policy says."""

import re
from pathlib import Path

import pytest

from mtbot.domain.call import Call
from mtbot.domain.ids import BotName, CallId, ChatId, TurnId
from mtbot.domain.turn import SYSTEM, Address, SurfaceName
from mtbot.gate.facts import FactFinder, Surroundings
from mtbot.policy.effects import prepare
from mtbot.policy.evaluate import evaluate
from mtbot.policy.readonly import PACKS
from mtbot.policy.readonly_carriers import MAC_CARRIERS
from mtbot.policy.readonly_mac import MAC
from mtbot.policy.ruleset import RuleSet
from mtbot.policy.sensitive import Places
from mtbot.tools.exec import SPEC
from mtbot.tools.world import HostWorld

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
ROWS = [
    (command.replace("\\|", "|"), verdict)
    for command, verdict in re.findall(r"^\| `(.+)` \| (refuse|ask|run) \|$", PAGE.read_text(), re.MULTILINE)
]


def test_the_table_is_there() -> None:
    """Every row was found, so that a change of layout cannot empty the test."""
    assert len(ROWS) == 33


@pytest.mark.parametrize(("command", "verdict"), ROWS)
async def test_the_table_says_what_the_policy_says(command: str, verdict: str, tmp_path: Path) -> None:
    """Each command of the page gets the verdict that the page promises."""
    rules = RuleSet(allow=PACKS["readonly"], packs=("readonly",), places=Places(home="/home/mtclaw"))
    place = Address(SurfaceName.PRIVATE, BotName("main"), ChatId(1))
    call = Call(CallId("c"), TurnId("t"), "exec", {"command": command}, str(tmp_path), place, SYSTEM)
    prepared = prepare(call, SPEC, rules)
    world = HostWorld(home="/home/mtclaw", path=("/usr/bin", "/bin"), places=rules.places)
    facts = await FactFinder(world).gather(call, prepared, Surroundings("/home/mtclaw", ()), tainted=False)
    assert evaluate(prepared, facts).verdict.value == verdict


def test_the_page_names_every_program_of_the_pack_that_is_not_contained() -> None:
    """Those of macOS apart, where nothing is contained; ansible's tools are named together."""
    text = " ".join(PAGE.read_text().split())
    named = text.split("These programs of the pack run on the host", 1)[1].split(", and all that exist on macOS", 1)[0]
    listed = {name.strip() for name in named.split(":", 1)[1].split(",")}
    mac = {rule.program for rule in (*MAC, *MAC_CARRIERS)}
    on_host = {rule.program for rule in PACKS["readonly"] if not rule.needs.confinable} - mac
    together = {name for name in on_host if name is not None and name.startswith("ansible")}
    assert listed == (on_host - together) | {"ansible and its tools"}
