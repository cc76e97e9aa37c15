"""A call's values, and the digest that a yes is bound to."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

import pytest

from mtbot.domain.call import Call, Facts, Target, TargetKind
from mtbot.domain.ids import BotName, CallId, ChatId, TurnId
from mtbot.domain.turn import Actor, ActorKind, Address, SurfaceName

V = TypeVar("V")

PRIVATE = Address(SurfaceName.PRIVATE, BotName("ops"), ChatId(1001))
CALL = Call(
    CallId("c1"),
    TurnId("t1"),
    "exec",
    {"command": "sh deploy.sh", "note": "x"},
    "/srv/wiki",
    PRIVATE,
    Actor(ActorKind.TELEGRAM, 1001, "Chief"),
    shell=("/bin/bash", "-c"),
)
FACTS = Facts(
    cwd="/srv/wiki",
    directory="/srv/wiki",
    env_names=("HOME", "PATH"),
    targets=(Target("notes", "/srv/notes", TargetKind.FILE), Target("a", "/srv/a", TargetKind.FILE)),
    resolved={"deploy.sh": "/srv/wiki/deploy.sh", "b": "/b"},
    programs={"sh": "/usr/bin/dash", "x": "/x"},
    operand_digests={"/srv/wiki/deploy.sh": "4e1c09", "/y": "00"},
)


def turned(mapping: Mapping[str, V]) -> dict[str, V]:
    """The same mapping in the other order."""
    return dict(reversed(list(mapping.items())))


def test_the_command_is_that_of_an_exec_call() -> None:
    """Another tool has none, and one that is no text is none."""
    assert CALL.command == "sh deploy.sh"
    assert replace(CALL, tool="write_file").command == ""
    assert replace(CALL, arguments={"command": 5}).command == ""
    assert replace(CALL, arguments={}).command == ""


def test_the_digest_is_stable() -> None:
    """Lower-case hexadecimal SHA-256; order in mappings and lists that have none does not count."""
    digest = CALL.digest(FACTS)
    assert len(digest) == 64
    assert set(digest) <= set("0123456789abcdef")
    other = replace(
        FACTS,
        env_names=tuple(reversed(FACTS.env_names)),
        targets=tuple(reversed(FACTS.targets)),
        resolved=turned(FACTS.resolved),
        programs=turned(FACTS.programs),
        operand_digests=turned(FACTS.operand_digests),
    )
    assert replace(CALL, arguments=turned(CALL.arguments)).digest(other) == digest


@pytest.mark.parametrize(
    "change",
    [
        lambda call: replace(call, arguments={**call.arguments, "command": "sh deploy.sh "}),
        lambda call: replace(call, arguments={"command": "sh deploy.sh"}),
        lambda call: replace(call, tool="read_file"),
        lambda call: replace(call, cwd="/srv"),
        lambda call: replace(call, shell=("/bin/sh", "-c")),
        lambda call: replace(call, address=replace(PRIVATE, chat=ChatId(1002))),
        lambda call: replace(call, address=Address(SurfaceName.CRON, BotName("ops"), ChatId(1001), label="job:a")),
    ],
)
def test_any_other_call_has_another_digest(change: Callable[[Call], Call]) -> None:
    """One byte of an argument, the tool, the directory, the shell, the session or the job."""
    assert change(CALL).digest(FACTS) != CALL.digest(FACTS)


@pytest.mark.parametrize(
    "facts",
    [
        replace(FACTS, env_names=("HOME", "PATH", "TZ")),
        replace(FACTS, profile="workspace"),
        replace(FACTS, directory="/srv/other"),
        replace(FACTS, programs={**FACTS.programs, "sh": "/tmp/sh"}),
        replace(FACTS, operand_digests={**FACTS.operand_digests, "/srv/wiki/deploy.sh": "4e1c0a"}),
        replace(FACTS, resolved={**FACTS.resolved, "deploy.sh": "/tmp/deploy.sh"}),
        replace(FACTS, targets=(Target("notes", "/etc/notes", TargetKind.FILE), FACTS.targets[1])),
    ],
)
def test_another_world_has_another_digest(facts: Facts) -> None:
    """Environment, containment, directory, program, script content, and where words and targets lead."""
    assert CALL.digest(facts) != CALL.digest(FACTS)


def test_what_a_yes_is_not_bound_to_does_not_change_it() -> None:
    """The same call asked anew by a resumed turn is the same call."""
    again = replace(CALL, id=CallId("c2"), turn=TurnId("t2"), timeout=5.0)
    assert again.digest(replace(FACTS, tainted=True, attended=True)) == CALL.digest(FACTS)
