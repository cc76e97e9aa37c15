"""What doctor says of grants that hold."""

from pathlib import Path

import pytest

from mtbot.doctor.checks import Status, storage
from mtbot.doctor.probes import DatabaseFound
from mtbot.domain.grant import MINUTE_MS, Grant
from mtbot.domain.ids import ApprovalId, BotName, CallId, ChatId, Digest
from mtbot.domain.record import Via
from mtbot.domain.turn import Actor, ActorKind, Address, SurfaceName
from tests.unit.doctor.test_checks import found


def grant(minutes: int, command: str) -> Grant:
    """A grant that lasts so long."""
    chief = Actor(ActorKind.TELEGRAM, 1001, "Chief")
    place = Address(SurfaceName.PRIVATE, BotName("main"), ChatId(1001))
    name, until = ApprovalId(f"G{minutes}"), 1_700_000_000_000 + minutes * MINUTE_MS
    return Grant(
        name, CallId("c"), place, chief, chief, Via.BUTTON, command, Digest("d"), "t", 1_700_000_000_000, until, uses=3
    )


@pytest.mark.parametrize(
    ("minutes", "status", "count"),
    [
        ((5,), Status.INFO, "1 grant holds"),
        ((240, 15), Status.INFO, "2 grants hold"),
        ((241, 15), Status.WARN, "2 grants hold"),
    ],
)
def test_grants_that_hold_are_counted_and_the_longest_is_named(
    tmp_path: Path, minutes: tuple[int, ...], status: Status, count: str
) -> None:
    """A long one is warned of, because it is easily forgotten."""
    grants = tuple(grant(number, "touch a\n" if number == minutes[0] else "x" * 90) for number in minutes)
    rows = storage(found(tmp_path, database=DatabaseFound("m.db", grants=grants)))
    (row,) = [row for row in rows if row.check == "grants"]
    assert row.status is status
    assert row.message.startswith(f"{count}; the last to end is #G{minutes[0]} at ")
    assert ", for Chief in telegram:main:1001:0, 3 runs so far: touch a. `mtclaw grants list` shows all" in row.message


def test_a_long_command_of_a_grant_is_cut(tmp_path: Path) -> None:
    """A row is one line."""
    (row,) = [
        row
        for row in storage(found(tmp_path, database=DatabaseFound("m.db", grants=(grant(5, "x" * 90),))))
        if row.check == "grants"
    ]
    assert f": {'x' * 79}…. `mtclaw" in row.message
