"""A host, its people, a clock that a test moves, and questions as the gate would put them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mtbot.approvals.card import Cards, Place
from mtbot.domain.call import Call, Facts
from mtbot.domain.ids import ApprovalId, BotName, CallId, ChatId, SafeText, ThreadId, TurnId, UserId
from mtbot.domain.ports import Question
from mtbot.domain.record import Approval, Card
from mtbot.domain.turn import (
    Actor,
    ActorKind,
    Address,
    Message,
    Role,
    SourceRef,
    SurfaceName,
    ToolCall,
    TurnState,
)
from mtbot.policy.people import Approvers, BotPeople, Deciders, GroupPeople, People
from mtbot.redaction.mask import Redactor

MINUTE = 60_000
START = 19 * 60 * MINUTE + 6 * MINUTE
"""Six past seven in the evening of a day that needs no date."""

REDACTOR = Redactor({"model": "swordfish9"}, b"key")
BOT = BotName("ops")
CHIEF, DEPLOY, REVIEW, STRANGER = (
    Actor(ActorKind.TELEGRAM, number, name)
    for number, name in ((1001, "C."), (1002, "D."), (1003, "R."), (6666, "Mallory"))
)
HOST = Actor(ActorKind.LOCAL, 1000)
PRIVATE = Address(SurfaceName.PRIVATE, BOT, ChatId(1001))
GROUP = Address(SurfaceName.GROUP, BOT, ChatId(-100), ThreadId(7))
TERMINAL = Address(SurfaceName.TERMINAL, BotName(""), ChatId(0), label="local")
PULL = (
    "docker compose -f /srv/media/compose.yml pull jellyfin && docker compose -f /srv/media/compose.yml up -d jellyfin"
)


@dataclass(slots=True)
class Clock:
    """Time that stands still until a test moves it; told as hours and minutes."""

    now: int = START

    def now_ms(self) -> int:
        """Where it stands."""
        return self.now

    def clock_text(self, at_ms: int) -> str:
        """``19:06``."""
        hours, minutes = divmod(at_ms // MINUTE, 60)
        return f"{hours % 24:02}:{minutes:02}"

    def day_text(self, at_ms: int) -> str:
        """``day 30``."""
        return f"day {at_ms // (24 * 60 * MINUTE)}"


@dataclass(slots=True)
class Names:
    """Names in the order of ``approvals``, then numbered ones."""

    approvals: list[str] = field(default_factory=list)
    given: int = 0

    def turn(self) -> TurnId:
        """A turn."""
        return TurnId("t1")

    def call(self) -> CallId:
        """A call."""
        self.given += 1
        return CallId(f"c{self.given}")

    def approval(self) -> ApprovalId:
        """The next of the list."""
        self.given += 1
        return ApprovalId(self.approvals.pop(0) if self.approvals else f"A{self.given:03}")

    def token(self) -> str:
        """A token."""
        self.given += 1
        return f"token-{self.given}"


def people(approvers: Approvers = Approvers(Deciders.ANY)) -> People:  # noqa: B008 - frozen
    """Three listed people in one bot and one group."""
    listed = frozenset(UserId(actor.id) for actor in (CHIEF, DEPLOY, REVIEW))
    names = {UserId(1001): "chief", UserId(1002): "deploy", UserId(1003): "review"}
    group = GroupPeople(listed, approvers=approvers)
    return People(names, UserId(1001), {BOT: BotPeople(listed, approvers, {GROUP.chat: group})})


def call(
    command: str = PULL,
    *,
    tool: str = "exec",
    address: Address = PRIVATE,
    requester: Actor = CHIEF,
    cwd: str = "/srv/media",
    ident: str = "c1",
    turn: str = "t1",
) -> Call:
    """A call of the model."""
    arguments: Mapping[str, object] = {"command": command} if tool == "exec" else {"path": command}
    return Call(CallId(ident), TurnId(turn), tool, arguments, cwd, address, requester, shell=("/bin/bash", "-c"))


def question(
    of: Call | None = None,
    *,
    display: str | None = None,
    detail: tuple[str, ...] = (),
    why: str = 'no rule allows "docker compose pull"',
    masked: int = 0,
    elevates: bool = False,
    owner_only: bool = False,
    facts: Facts | None = None,
) -> Question:
    """What the gate wants decided."""
    asked, found = of or call(), facts or Facts()
    return Question(
        call=asked,
        facts=found,
        digest=asked.digest(found),
        display=safe(display if display is not None else str(asked.arguments.get("command", ""))),
        detail=tuple(safe(line) for line in detail),
        why=safe(why),
        masked=masked,
        elevates=elevates,
        owner_only=owner_only,
    )


def state(of: Call | None = None, message: int | None = 6) -> TurnState:
    """The turn of a call."""
    asked = of or call()
    wanted = ToolCall(CallId("model-1"), asked.tool, '{"command": "..."}')
    return TurnState(
        asked.turn,
        asked.address,
        asked.requester,
        SourceRef(5, message),
        (Message(Role.USER, "do it"), Message(Role.ASSISTANT, "", (wanted,))),
        (wanted,),
        step=1,
    )


def safe(text: str) -> SafeText:
    """Masked text."""
    return REDACTOR.mask(text)


def plain(card: Card) -> str:
    """A card as a person reads it: title, body, lines, buttons."""
    parts = [str(card.title)]
    if card.body:
        parts += ["```", str(card.body), "```"]
    parts += [str(line) for line in card.lines]
    if card.choices:
        parts.append("  ".join(f"[{choice.label}]" for choice in card.choices))
    return "\n".join(parts)


CARDS = Cards(Place("nas", "mtclaw"), Clock(), REDACTOR)
HALF_HOUR = START + 30 * MINUTE
OPEN = "open until 19:36 (30 min) · reply to this message to deny with a reason"


def asked(
    what: Question, ident: str = "K7QD", expires: int = HALF_HOUR, who: str = "Chief", deciders: str = ""
) -> Card:
    """The card of a question."""
    return CARDS.question(what, ApprovalId(ident), "tok", expires, (who, deciders))


def approval(card: Card | None = None) -> Approval:
    """An open request with its card."""
    shown = card or asked(question())
    of = call()
    return Approval(
        ApprovalId("K7QD"),
        of.id,
        TurnId("t1"),
        of.address,
        CHIEF,
        "exec",
        PULL,
        of.digest(Facts()),
        shown,
        "tok",
        START,
        HALF_HOUR,
    )
