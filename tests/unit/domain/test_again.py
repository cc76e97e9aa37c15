"""What is kept of a call that begins, and that it can be written down and read back."""

from dataclasses import replace

import pytest

from mtbot.domain.again import MOST, Keep, KeptCall, keep
from mtbot.domain.call import Call, Facts
from mtbot.domain.ids import BotName, CallId, ChatId, Digest, SessionId, TurnId
from mtbot.domain.turn import Actor, ActorKind, Address, SurfaceName

CHIEF = Actor(ActorKind.TELEGRAM, 1001, "Chief")
CHAT = Address(SurfaceName.PRIVATE, BotName("ops"), ChatId(1001))
CALL = Call(CallId("c1"), TurnId("t1"), "write_file", {"path": "ё", "content": "\udcff"}, "/srv", CHAT, CHIEF)
DIGEST = Digest("d" * 64)
KEPT = KeptCall(
    "write_file",
    '{"path":"\\u0451","content":"\\udcff"}',
    "/srv",
    DIGEST,
    SessionId("telegram:ops:1001:0"),
    "telegram:1001",
)


def test_a_call_is_kept_as_it_is() -> None:
    """Every argument, also what no record shows; and whether text from outside had been read before."""
    assert keep(CALL, Facts(), DIGEST, None) == Keep(TurnId("t1"), KEPT)
    assert keep(CALL, Facts(tainted=True), DIGEST, 7) == Keep(TurnId("t1"), replace(KEPT, tainted=True), 7)


@pytest.mark.parametrize("surface", [SurfaceName.TERMINAL, SurfaceName.CRON])
def test_nothing_is_kept_where_nobody_could_ask_for_it(surface: SurfaceName) -> None:
    """There is no button there."""
    place = Address(surface, BotName("ops"), ChatId(0), label="local")
    assert keep(replace(CALL, address=place), Facts(), DIGEST, None) == Keep(TurnId("t1"))


def test_a_call_that_is_too_long_is_not_kept() -> None:
    """A start must not write a whole file to the disk twice."""
    group = replace(CALL, address=replace(CHAT, surface=SurfaceName.GROUP), arguments={"content": ""})
    empty = keep(group, Facts(), DIGEST, None).call
    assert empty is not None
    room = MOST - len(empty.to_json())
    assert keep(replace(group, arguments={"content": "x" * room}), Facts(), DIGEST, None).call is not None
    assert keep(replace(group, arguments={"content": "x" * (room + 1)}), Facts(), DIGEST, 7).call is None


def test_it_is_read_back_unchanged() -> None:
    """As it was written."""
    assert KeptCall.from_json(KEPT.to_json()) == KEPT
    assert KeptCall.from_json(replace(KEPT, tainted=True).to_json()).tainted


@pytest.mark.parametrize("text", ["", "[]", "7", '{"tool": "exec"}', KEPT.to_json()[:-1]])
def test_anything_else_is_refused(text: str) -> None:
    """Never half a call."""
    with pytest.raises((KeyError, TypeError, ValueError)):
        KeptCall.from_json(text)
