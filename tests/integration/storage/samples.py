"""Values as the flow would make them, for the stores to keep."""

import hashlib
from dataclasses import replace

from mtbot.domain.ids import ApprovalId, BotName, CallId, ChatId, Digest, SafeText, SessionId, ThreadId, TurnId
from mtbot.domain.record import (
    Approval,
    ApprovalState,
    Card,
    CardKind,
    Choice,
    ChoiceAction,
    EventDraft,
    EventKind,
    InboxRow,
    OutboxItem,
    OutKind,
    Ruling,
    Via,
    Word,
)
from mtbot.domain.turn import Actor, ActorKind, Address, Message, Role, SourceRef, SurfaceName, ToolCall, TurnState
from mtbot.storage.engine import Database
from mtbot.storage.instance import Instance

NOW = 1_700_000_000_000
MINUTE = 60_000

CHIEF = Actor(ActorKind.TELEGRAM, 1001, "Chief")
REVIEW = Actor(ActorKind.TELEGRAM, 1003, "Review")
GROUP = Address(SurfaceName.GROUP, BotName("ops"), ChatId(-1001112223334), ThreadId(7))
PRIVATE = Address(SurfaceName.PRIVATE, BotName("ops"), ChatId(1001))
TERMINAL = Address(SurfaceName.TERMINAL, BotName(""), ChatId(0), label="local")


def safe(text: str) -> SafeText:
    """Text as the redactor would give it; the samples hold no secret."""
    return SafeText(text)


def draft(
    kind: EventKind = EventKind.PROPOSED, call: str = "c1", at_ms: int = NOW, address: Address = GROUP
) -> EventDraft:
    """An event of an exec call."""
    return EventDraft(
        kind=kind,
        at_ms=at_ms,
        session=address.session,
        call=CallId(call),
        tool="exec",
        command="docker compose up -d",
        cwd="/srv/media",
        bot=address.bot,
        chat=address.chat,
        thread=address.thread,
        requester=CHIEF.key,
        digest=digest(call),
    )


def digest(call: str) -> Digest:
    """A digest for a call."""
    return Digest(hashlib.sha256(call.encode()).hexdigest())


def card(title: str = "Run this on nas?") -> Card:
    """A question."""
    return Card(
        CardKind.QUESTION,
        safe(title),
        safe("docker compose up -d"),
        (safe("in /srv/media"), safe("Asked by Chief")),
        (Choice("Approve once", ChoiceAction.APPROVE, "tok"), Choice("Deny", ChoiceAction.DENY, "tok")),
        attachment=safe("whole text"),
    )


def approval(name: str = "K7QD", call: str = "c1", turn: str = "t1", address: Address = GROUP) -> Approval:
    """A request that is open for half an hour."""
    return Approval(
        id=ApprovalId(name),
        call=CallId(call),
        turn=TurnId(turn),
        address=address,
        requester=CHIEF,
        tool="exec",
        command="docker compose up -d",
        digest=digest(call),
        card=card(),
        token=f"token-{name}",
        opened_ms=NOW,
        expires_ms=NOW + 30 * MINUTE,
    )


def turn_state(turn: str = "t1", address: Address = GROUP, secret: str = "plain-words-only-here") -> TurnState:
    """A turn whose first open call waits; its arguments are what must be replayed word for word."""
    call = ToolCall(CallId("c1"), "exec", '{"command": "echo ' + secret + '"}')
    return TurnState(
        id=TurnId(turn),
        address=address,
        requester=CHIEF,
        ref=SourceRef(5, 6),
        messages=(Message(Role.USER, "do it"), Message(Role.ASSISTANT, "", (call,))),
        open_calls=(call,),
        step=1,
    )


def asked(name: str = "K7QD", call: str = "c1") -> EventDraft:
    """The event of a question."""
    return event_of(draft(EventKind.APPROVAL_REQUESTED, call), name)


def event_of(bare: EventDraft, name: str) -> EventDraft:
    """That event, naming a request."""
    return replace(bare, approval=ApprovalId(name))


def resolved(name: str = "K7QD", call: str = "c1", word: Word = Word.APPROVED, at_ms: int = NOW + MINUTE) -> EventDraft:
    """The event of a ruling."""
    bare = draft(EventKind.APPROVAL_RESOLVED, call, at_ms)
    return replace(bare, approval=ApprovalId(name), word=word, decider=REVIEW.key, via=Via.BUTTON)


def yes(at_ms: int = NOW + MINUTE, decider: Actor = REVIEW) -> Ruling:
    """A press on Approve."""
    return Ruling(ApprovalState.APPROVED, decider, Via.BUTTON, at_ms)


def no(at_ms: int = NOW + MINUTE, reason: str = "not today") -> Ruling:
    """A reply that denies."""
    return Ruling(ApprovalState.DENIED, REVIEW, Via.REPLY, at_ms, reason)


def reply(text: str = "Done.", address: Address = GROUP) -> OutboxItem:
    """An answer."""
    return OutboxItem(OutKind.REPLY, address, text=safe(text), quote=6)


def question(name: str = "K7QD", address: Address = GROUP) -> OutboxItem:
    """A card that asks."""
    return OutboxItem(OutKind.CARD, address, card=card(), quote=6, approval=ApprovalId(name))


def update(number: int, text: str = "hello", bot: str = "ops") -> InboxRow:
    """An update as it came."""
    payload = f'{{"update_id": {number}, "text": "{text}"}}'
    return InboxRow(BotName(bot), number, Digest(hashlib.sha256(payload.encode()).hexdigest()), payload)


SESSION = SessionId(GROUP.session)


def start(call: str = "c1", name: str | None = None, at_ms: int = NOW + 2 * MINUTE) -> EventDraft:
    """The event that permits a call to run."""
    return replace(draft(EventKind.STARTED, call, at_ms), approval=None if name is None else ApprovalId(name))


def end(call: str = "c1", kind: EventKind = EventKind.FINISHED) -> EventDraft:
    """The event that ends it."""
    return replace(draft(kind, call, NOW + 3 * MINUTE), exit_code=0, duration_ms=41_000, dropped=0)


def dead(db: Database) -> Instance:
    """A process of this host that ran before the last boot."""
    return replace(db.instance, boot="00000000")
