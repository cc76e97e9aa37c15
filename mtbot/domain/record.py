"""What is written down and what a person is shown: audit events, approvals, rulings, cards, outbox items."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from mtbot.domain.ids import ApprovalId, BotName, CallId, ChatId, Digest, SafeText, SessionId, ThreadId, TurnId
from mtbot.domain.turn import Actor, Address, Inbound, InboundKind, SurfaceName


class EventKind(StrEnum):
    """The kinds of audit events, in the order of a call's life; GAP and PRUNED are about the record itself."""

    PROPOSED = "proposed"
    DECIDED = "decided"
    APPROVAL_REQUESTED = "approval_requested"
    APPROVAL_RESOLVED = "approval_resolved"
    STARTED = "started"
    FINISHED = "finished"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    GAP = "gap"
    PRUNED = "pruned"
    ACKNOWLEDGED = "acknowledged"


class Word(StrEnum):
    """The decision words of the record."""

    NONE = ""
    DENIED_RULE = "denied_rule"
    ALLOWED_RULE = "allowed_rule"
    AUTO_ALLOWED = "auto_allowed"
    APPROVED = "approved"
    DENIED_USER = "denied_user"
    EXPIRED = "expired"
    REFUSED_TOO_LONG = "refused_too_long"


class Via(StrEnum):
    """By which road a ruling came."""

    NONE = ""
    BUTTON = "button"
    COMMAND = "command"
    REPLY = "reply"
    CLI = "cli"
    TERMINAL = "terminal"
    EXPIRY = "expiry"
    STOP = "stop"
    POLICY = "policy"
    CLASSIFIER = "classifier"


@dataclass(frozen=True, slots=True)
class EventDraft:
    """An audit event before the chain gives it its place. Every text in it is masked already.

    ``at_ms`` is Unix time in milliseconds. ``reason`` is a sentence or one of timeout, no_approver, canceled, shutdown.
    ``command`` is the masked command, or for other tools the masked target. Numbers are None where they mean nothing.
    """

    kind: EventKind
    at_ms: int
    session: SessionId
    call: CallId
    tool: str
    command: str
    cwd: str = ""
    bot: BotName = BotName("")
    chat: ChatId = ChatId(0)
    thread: ThreadId | None = None
    message: int | None = None
    requester: str = ""
    decider: str = ""
    via: Via = Via.NONE
    digest: Digest = Digest("")
    word: Word = Word.NONE
    stage: str = ""
    rule: str = ""
    reason: str = ""
    approval: ApprovalId | None = None
    profile: str = ""
    exit_code: int | None = None
    duration_ms: int | None = None
    dropped: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """An event in its place in the chain. ``instance`` names host, boot, pid and start time of the writer.

    ``previous`` and ``hash`` are lower-case hex SHA-256.
    """

    seq: int
    instance: str
    draft: EventDraft
    previous: str
    hash: str


class ApprovalState(StrEnum):
    """Where a request stands; every change away from PENDING is one compare-and-set."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class Ruling:
    """Who decided, by which road, when, and for a denial why.

    ``lasts_ms``: for so long the same command may run again without a question; 0 is this once.
    """

    state: ApprovalState
    decider: Actor
    via: Via
    at_ms: int
    reason: str = ""
    lasts_ms: int = 0


@dataclass(frozen=True, slots=True)
class Offer:
    """A question may be answered with a yes that lasts ``ms``, for what ``binding`` identifies (policy/grants)."""

    binding: Digest
    ms: int


class ChoiceAction(StrEnum):
    """What a button does."""

    APPROVE = "ok"
    GRANT = "for"
    DENY = "no"
    REVOKE = "end"
    SHOW = "show"
    ASK_AGAIN = "again"
    STOP = "stop"
    DISMISS = "dismiss"
    UNDO = "undo"
    OUTPUT = "out"
    USE = "use"


@dataclass(frozen=True, slots=True)
class Choice:
    """A button: its label, and what the press carries back (``action.token``, at most 64 bytes)."""

    label: str
    action: ChoiceAction
    token: str

    @property
    def data(self) -> str:
        """The callback data."""
        return f"{self.action}.{self.token}"


def withdraws(inbound: Inbound) -> bool:
    """Whether it can only stop something: that acts even when the database cannot be written, and twice does no harm."""
    if inbound.kind is InboundKind.PRESS:
        ending = (ChoiceAction.DENY, ChoiceAction.STOP, ChoiceAction.REVOKE)
        return inbound.press_token.startswith(tuple(f"{action}." for action in ending))
    return inbound.kind is InboundKind.COMMAND and inbound.command in ("stop", "deny", "grants", "kill")


class CardKind(StrEnum):
    """A question wants an answer, a notice does not, a result tells how something ended."""

    QUESTION = "question"
    NOTICE = "notice"
    RESULT = "result"


@dataclass(frozen=True, slots=True)
class Card:
    """What a person is shown, the same on every surface: a title, a verbatim body, lines below it, choices.

    ``body`` is shown preformatted and whole; ``attachment`` is its full text when it is too long for a message and is
    sent as a file beside a card whose body then names the file and its digest.
    """

    kind: CardKind
    title: SafeText
    body: SafeText
    lines: tuple[SafeText, ...]
    choices: tuple[Choice, ...] = ()
    silent: bool = False
    attachment: SafeText | None = None

    def closed(self, *lines: SafeText, choices: tuple[Choice, ...] = ()) -> "Card":
        """This card with how it ended in place of its lines; title and body stay."""
        return replace(self, kind=CardKind.RESULT, lines=lines, choices=choices)

    def to_dict(self) -> dict[str, object]:
        """A JSON-ready mapping."""
        return {
            "kind": self.kind.value,
            "title": str(self.title),
            "body": str(self.body),
            "lines": [str(line) for line in self.lines],
            "choices": [[c.label, c.action.value, c.token] for c in self.choices],
            "silent": self.silent,
            "attachment": None if self.attachment is None else str(self.attachment),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, object], mask: Callable[[str], SafeText]) -> "Card":
        """Read what ``to_dict`` wrote; every text passes ``mask`` again, so a forged row cannot carry a secret out."""
        lines, choices, attachment = data["lines"], data["choices"], data["attachment"]
        if not isinstance(lines, list) or not isinstance(choices, list):
            raise TypeError("card rows are not lists")
        return cls(
            CardKind(str(data["kind"])),
            mask(str(data["title"])),
            mask(str(data["body"])),
            tuple(mask(str(line)) for line in lines),
            tuple(Choice(label, ChoiceAction(action), token) for label, action, token in choices),
            bool(data["silent"]),
            None if attachment is None else mask(str(attachment)),
        )


@dataclass(frozen=True, slots=True)
class Approval:
    """A request for a person's yes. ``token`` is what its buttons carry; ``message`` is the channel's message id.

    Times are Unix milliseconds. ``command`` is the masked text that was shown. ``asked_at`` is where the question went
    when that is not ``address`` itself (nobody there may decide). ``elevates``: only a person at the host can run it, in
    their own terminal; ``owner_only``: of the people in the chat only the owner can approve it. ``offer``: the yes may be
    one that lasts.
    """

    id: ApprovalId
    call: CallId
    turn: TurnId
    address: Address
    requester: Actor
    tool: str
    command: str
    digest: Digest
    card: Card
    token: str
    opened_ms: int
    expires_ms: int
    elevates: bool = False
    owner_only: bool = False
    state: ApprovalState = ApprovalState.PENDING
    ruling: Ruling | None = None
    message: int | None = None
    asked_at: Address | None = None
    offer: Offer | None = None

    @property
    def place(self) -> Address:
        """Where the question can be seen and answered."""
        return self.asked_at or self.address

    def concerns(self, address: Address) -> bool:
        """Whether it may be ruled on from there: where it is shown, or where the turn is that waits for it."""
        return any((place.bot, place.chat) == (address.bot, address.chat) for place in (self.place, self.address))

    def usable(self, now_ms: int) -> bool:
        """Whether a yes may be used now; expiry counts at use, not only at decision."""
        return self.state is ApprovalState.APPROVED and now_ms < self.expires_ms


class OutKind(StrEnum):
    """What leaves by the outbox."""

    REPLY = "reply"
    NOTICE = "notice"
    CARD = "card"
    EDIT = "edit"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that is sent whole. ``readable``: its bytes are UTF-8 text, masked; nothing else can be masked."""

    name: SafeText
    data: bytes
    readable: bool

    def to_dict(self) -> dict[str, object]:
        """A JSON-ready mapping."""
        data = base64.b64encode(self.data).decode("ascii")
        return {"name": str(self.name), "data": data, "readable": self.readable}

    @classmethod
    def from_dict(cls, data: Mapping[str, object], mask: Callable[[str], SafeText]) -> "Attachment":
        """Read what ``to_dict`` wrote; every text passes ``mask`` again, so a forged row cannot carry a secret out."""
        content, readable = base64.b64decode(str(data["data"]), validate=True), data["readable"] is True
        if readable:
            content = str(mask(content.decode())).encode()
        return cls(mask(str(data["name"])), content, readable)


@dataclass(frozen=True, slots=True)
class OutboxItem:
    """Something to be said at ``address``: a Markdown text (REPLY, NOTICE), a new card, or an edit of a sent card.

    EDIT names the ``approval`` whose message is edited. ``quote`` is the message that it answers. Where ``file`` is, it
    is what is sent, and ``text`` says what it is to a surface that can show no files.
    """

    kind: OutKind
    address: Address
    text: SafeText | None = None
    card: Card | None = None
    quote: int | None = None
    silent: bool = False
    approval: ApprovalId | None = None
    file: Attachment | None = None


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """An item in its place; ``id`` orders the rows of a chat. ``attempts`` counts tries that failed cleanly."""

    id: int
    item: OutboxItem
    attempts: int
    due_ms: int


@dataclass(frozen=True, slots=True)
class InboxRow:
    """An update as it came, identified by bot, update id and the SHA-256 of its payload (JSON text).

    ``taken``: a turn was begun for it; after a crash such a row is reported in its chat and not acted on again.
    """

    bot: BotName
    update: int
    digest: Digest
    payload: str
    taken: bool = False


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session as ``sessions list`` shows it."""

    id: SessionId
    surface: SurfaceName
    chat: ChatId
    thread: ThreadId | None
    messages: int
    prompt_tokens: int
    completion_tokens: int
    created_ms: int
    updated_ms: int


class CronStatus(StrEnum):
    """How a run of a job stands."""

    STARTED = "started"
    OK = "ok"
    ERROR = "error"
    SKIPPED = "skipped"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class CronRun:
    """One occurrence of a job: (job, ``due_ms``) happens once. ``error`` is masked.

    ``waiting`` is the request that a STARTED run waits for.
    """

    id: int
    job: str
    due_ms: int
    session: SessionId
    status: CronStatus
    started_ms: int
    finished_ms: int | None = None
    error: str = ""
    waiting: ApprovalId | None = None
