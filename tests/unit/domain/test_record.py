"""What is written down and shown: cards, choices, approvals."""

import json
from dataclasses import replace

import pytest

from mtbot.domain.ids import ApprovalId, BotName, CallId, ChatId, Digest, SafeText, ThreadId, TurnId
from mtbot.domain.record import Approval, ApprovalState, Card, CardKind, Choice, ChoiceAction
from mtbot.domain.turn import Actor, ActorKind, Address, SurfaceName
from mtbot.redaction.mask import Redactor

REDACTOR = Redactor({"model": "swordfish9"}, b"key")
MASK = REDACTOR.mask
CARD = Card(
    CardKind.QUESTION,
    MASK("Run this on nas?  #K7QD"),
    MASK("docker compose pull"),
    (MASK("in /srv"), MASK("Asked by Chief")),
    (Choice("Approve once", ChoiceAction.APPROVE, "tok"), Choice("Deny", ChoiceAction.DENY, "tok")),
    silent=True,
    attachment=MASK("whole"),
)
GROUP = Address(SurfaceName.GROUP, BotName("ops"), ChatId(-100))
APPROVAL = Approval(
    ApprovalId("K7QD"),
    CallId("c1"),
    TurnId("t1"),
    GROUP,
    Actor(ActorKind.TELEGRAM, 1001),
    "exec",
    "docker compose pull",
    Digest("00"),
    CARD,
    "tok",
    opened_ms=1000,
    expires_ms=2000,
)


@pytest.mark.parametrize("action", list(ChoiceAction))
def test_a_button_carries_its_action_and_token(action: ChoiceAction) -> None:
    """In at most the 64 bytes that Telegram gives, with the longest token."""
    choice = Choice("x", action, "t" * 32)
    assert choice.data == f"{action.value}.{'t' * 32}"
    assert len(choice.data.encode()) <= 64


@pytest.mark.parametrize(
    "card", [CARD, replace(CARD, attachment=None), Card(CardKind.NOTICE, MASK("Hello"), MASK(""), ())]
)
def test_a_card_is_read_back_unchanged(card: Card) -> None:
    """Through JSON, with everything on it."""
    read = Card.from_dict(json.loads(json.dumps(card.to_dict())), MASK)
    assert read == card
    assert all(isinstance(text, SafeText) for text in (read.title, read.body, *read.lines))


def test_a_card_that_somebody_wrote_a_secret_into_comes_out_masked() -> None:
    """In each of its texts."""
    forged = {
        **CARD.to_dict(),
        "title": "swordfish9",
        "body": "swordfish9",
        "lines": ["swordfish9"],
        "attachment": "swordfish9",
    }
    read = Card.from_dict(forged, MASK)
    assert "swordfish9" not in json.dumps(read.to_dict())


@pytest.mark.parametrize("key", ["lines", "choices"])
def test_a_row_that_is_no_card_is_refused(key: str) -> None:
    """As a store reports it."""
    with pytest.raises(TypeError, match="not lists"):
        Card.from_dict({**CARD.to_dict(), key: "text"}, MASK)


def test_closing_a_card_keeps_what_was_asked() -> None:
    """Only the lines and the choices change; by default nothing can be pressed any more."""
    closed = CARD.closed(MASK("Approved once by Chief 19:07"))
    assert closed == replace(CARD, kind=CardKind.RESULT, lines=(MASK("Approved once by Chief 19:07"),), choices=())
    again = (Choice("Ask again", ChoiceAction.ASK_AGAIN, "tok"),)
    assert CARD.closed(MASK("Expired"), choices=again).choices == again


def test_a_question_is_where_it_was_put() -> None:
    """In its own place unless it had to move."""
    moved = replace(GROUP, surface=SurfaceName.PRIVATE, chat=ChatId(1001))
    assert APPROVAL.place == GROUP
    assert replace(APPROVAL, asked_at=moved).place == moved


def test_a_question_concerns_the_place_where_it_is_shown_and_the_one_where_its_turn_waits() -> None:
    """By bot and chat, whatever the topic; no other chat and no other bot."""
    moved = replace(APPROVAL, asked_at=Address(SurfaceName.PRIVATE, BotName("ops"), ChatId(1001)))
    places = [
        replace(GROUP, thread=ThreadId(7)),
        moved.place,
        replace(GROUP, chat=ChatId(-200)),
        replace(GROUP, bot=BotName("other")),
    ]
    assert [moved.concerns(place) for place in places] == [True, True, False, False]
    assert [APPROVAL.concerns(place) for place in places] == [True, False, False, False]


@pytest.mark.parametrize("state", list(ApprovalState))
def test_only_a_yes_that_has_not_lapsed_can_be_used(state: ApprovalState) -> None:
    """To the millisecond."""
    approval = replace(APPROVAL, state=state)
    assert approval.usable(1999) is (state is ApprovalState.APPROVED)
    assert approval.usable(2000) is False
