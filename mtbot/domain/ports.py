"""Every border that the flow sees through, as small Protocols; bootstrap/ builds what stands behind them.

All methods that are ``async`` may raise the errors named in their docstrings (mtbot/domain/errors.py) and nothing else
on purpose. Times are Unix milliseconds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from mtbot.domain.again import Keep
from mtbot.domain.call import Below, Call, Decision, Facts, Outcome, Permit, Target, ToolSpec, Weight
from mtbot.domain.ids import ApprovalId, BotName, CallId, Digest, SafeText, SessionId, TurnId, UserId
from mtbot.domain.jobs import RunEnd
from mtbot.domain.model import ModelAnswer, ModelRequest, OnText
from mtbot.domain.record import (
    Approval,
    AuditEvent,
    EventDraft,
    InboxRow,
    Offer,
    OutboxItem,
    OutboxRow,
    Ruling,
    SessionSummary,
)
from mtbot.domain.turn import Address, Message, TurnState, Usage


class Clock(Protocol):
    """Time, injected."""

    def now_ms(self) -> int:
        """Unix time in milliseconds."""
        ...

    def clock_text(self, at_ms: int) -> str:
        """That moment as people read it here: ``19:36``, with a weekday when it is not today."""
        ...

    def day_text(self, at_ms: int) -> str:
        """The day of that moment: ``30 December``, with the year when it is not this one."""
        ...


class Names(Protocol):
    """Fresh identifiers, injected."""

    def turn(self) -> TurnId:
        """A new turn id."""
        ...

    def call(self) -> CallId:
        """A new call id, unique for ever (the provider's own ids repeat)."""
        ...

    def approval(self) -> ApprovalId:
        """Four characters without look-alikes, as shown after the # of a question."""
        ...

    def token(self) -> str:
        """An unguessable token of at most 32 characters for buttons."""
        ...


class Masker(Protocol):
    """The one maker of SafeText (redaction/mask)."""

    def mask(self, raw: str, /) -> SafeText:
        """``raw`` with every secret masked."""
        ...

    def count(self, raw: str, /) -> int:
        """How many values ``mask`` would hide."""
        ...

    def made_mask(self, text: str, /) -> bool:
        """Whether ``text`` contains a mask that this process produced, or one that it was told of by ``recall``."""
        ...

    def recall(self, text: str, /) -> None:
        """Know the masks in ``text``, which an earlier process produced."""
        ...


class World(Protocol):
    """What gate/facts looks at: the file system, read only, never following into what it should not open."""

    async def resolve(self, written: str, cwd: str) -> Target:
        """Where ``written`` leads from ``cwd``: ``~`` expanded, every link resolved."""
        ...

    async def digest(self, path: str) -> Digest | None:
        """SHA-256 of a regular file's content, at most 16 MiB; None if it cannot be read whole."""
        ...

    async def below(self, path: str) -> Below:
        """What lies below a directory; UNKNOWN when there is too much to look through."""
        ...

    async def weigh(self, path: str) -> Weight | None:
        """How much lies at a resolved path, looked at for a moment only; None if nobody could look."""
        ...

    async def repository_keys(self, directory: str) -> frozenset[str] | None:
        """Lower-case ``section.key`` names configured in the repository around ``directory``; None: unreadable."""
        ...

    async def program(self, word: str, cwd: str, path: Sequence[str] = ()) -> str | None:
        """The file that runs for a command word under that PATH (or the usual one); None if there is none."""
        ...


class Tool(Protocol):
    """A tool: its spec, and how it is performed once it is permitted."""

    @property
    def spec(self) -> ToolSpec:
        """What it is."""
        ...

    async def perform(self, call: Call, permit: Permit, progress: Callable[[SafeText], None]) -> Outcome:
        """Do exactly what was permitted. Never raises for a failure of the work itself; that is an Outcome."""
        ...


class AuditLog(Protocol):
    """The record. Each append is durable when it returns; RecordUnavailable when it cannot be written."""

    async def append(self, *drafts: EventDraft) -> tuple[AuditEvent, ...]:
        """Chain and commit these events together, in order."""
        ...

    async def start(
        self,
        draft: EventDraft,
        approval: ApprovalId | None,
        grant: ApprovalId | None = None,
        keep: Keep | None = None,
    ) -> AuditEvent:
        """Commit the STARTED event of a call: once per call id, for ever.

        With ``approval`` the same transaction checks that it is approved, unexpired at ``draft.at_ms`` and bound to
        ``draft.digest``: inserting the event is its consumption. With ``grant`` it checks that this one still holds at
        ``draft.at_ms``, and counts the use. NotUsable otherwise, also for a second start. ``keep``: domain/again.
        """
        ...

    async def end(self, draft: EventDraft, started: int) -> AuditEvent:
        """Commit how the call of the STARTED event of that number ended; it is kept no longer."""
        ...


class Consents(Protocol):
    """Approvals and parked turns as rows."""

    async def open(self, approval: Approval, state: TurnState, draft: EventDraft, item: OutboxItem) -> None:
        """In one transaction: the request, the parked turn (sealed), its audit event and the question's outbox row."""
        ...

    async def rule(self, approval: ApprovalId, ruling: Ruling, draft: EventDraft, *items: OutboxItem) -> Approval:
        """Compare-and-set PENDING to ``ruling.state`` with its event (and edits to send); the new row.

        A yes that lasts is a grant from that same transaction on.
        AlreadyDecided if somebody was first, NoSuchApproval if there is none. An approve at or after ``expires_ms``
        is AlreadyDecided with state expired (and the row becomes EXPIRED).
        """
        ...

    async def get(self, approval: ApprovalId) -> Approval:
        """The request of that id. NoSuchApproval."""
        ...

    async def by_token(self, token: str) -> Approval:
        """The request whose buttons carry ``token``. NoSuchApproval."""
        ...

    async def by_message(self, address: Address, message: int) -> Approval | None:
        """The request whose question is that message."""
        ...

    async def pending(self, session: SessionId | None = None) -> tuple[Approval, ...]:
        """Requests that wait, oldest first."""
        ...

    async def due(self, now_ms: int) -> tuple[Approval, ...]:
        """Requests that wait although their time is over, oldest first."""
        ...

    async def next_due(self) -> int | None:
        """When the time of the next request that waits is over."""
        ...

    async def resumable(self) -> tuple[Approval, ...]:
        """Requests that are decided while their turn is still parked, oldest first: start-up and the 5 s look use it."""
        ...

    async def parked(self, turn: TurnId) -> TurnState | None:
        """The parked turn, unsealed; None if it is gone. SealError."""
        ...

    async def shown(self, approval: ApprovalId, message: int) -> None:
        """Note the channel's id of the question's message."""
        ...


@dataclass(frozen=True, slots=True)
class TurnFlush:
    """All that one finished turn leaves behind, written in one transaction."""

    turn: TurnId
    address: Address
    messages: tuple[Message, ...]
    usage: Usage
    items: tuple[OutboxItem, ...]
    inbox: tuple[tuple[BotName, int], ...] = ()
    run: RunEnd | None = None


class History(Protocol):
    """Sessions and their messages."""

    async def load(self, session: SessionId, turns: int, max_bytes: int) -> tuple[Message, ...]:
        """The last whole turns, well formed: starts with USER, every call answered by position, within the limits."""
        ...

    async def flush(self, flush: TurnFlush, now_ms: int) -> None:
        """Append the messages, add the usage, queue the items, delete the parked snapshot, close the inbox rows."""
        ...

    async def clear(self, session: SessionId) -> int:
        """Delete a session's messages and approvals (never its audit); how many messages there were."""
        ...

    async def summary(self, session: SessionId) -> SessionSummary | None:
        """The session in numbers."""
        ...


class Leases(Protocol):
    """Which process may run a session's turn now; a lease lapses by itself."""

    async def acquire(self, session: SessionId, holder: str, now_ms: int, until_ms: int) -> bool:
        """Take or extend the lease; False if another holder has a live one."""
        ...

    async def release(self, session: SessionId, holder: str) -> None:
        """Give it back."""
        ...


class Inbox(Protocol):
    """Updates, stored before they are confirmed and acted on once."""

    async def store(self, rows: Sequence[InboxRow], now_ms: int) -> tuple[InboxRow, ...]:
        """Commit (durably) those that are new by bot, update id and digest; returns the new ones in order."""
        ...

    async def take(self, bot: BotName, update: int, whose: UserId | None = None) -> None:
        """A turn of ``whose`` begins for it: from here on it is never acted on again by itself."""
        ...

    async def done(self, bot: BotName, update: int) -> None:
        """Acted on: wipe the payload, keep the identity."""
        ...

    async def waiting(self, bot: BotName) -> tuple[InboxRow, ...]:
        """Stored and not done, oldest first: what a crash left."""
        ...

    async def offset(self, bot: BotName) -> int | None:
        """The highest update id stored for ``bot``."""
        ...


class Outbox(Protocol):
    """What is to be said, as rows, delivered in order per chat."""

    async def put(self, *items: OutboxItem, now_ms: int) -> None:
        """Queue items durably."""
        ...

    async def next(self, surfaces: Sequence[str], now_ms: int, limit: int = 50) -> tuple[OutboxRow, ...]:
        """The first due row of every chat of those surfaces that has one; rows are delivered once they are ``sent``."""
        ...

    async def claim(self, row: int) -> bool:
        """Mark a row as being sent, so that a crash in between leaves it ambiguous and not repeated; False if taken."""
        ...

    async def sent(self, row: int, message: int | None) -> None:
        """Delivered: wipe the payload; a card's message id goes to its approval."""
        ...

    async def retry(self, row: int, due_ms: int, left: OutboxItem | None = None) -> None:
        """Not delivered for certain: put it back; with ``left`` that is what is still to be sent of it."""
        ...

    async def drop(self, row: int, why: str) -> None:
        """Never to be delivered: keep the reason, wipe the payload."""
        ...

    async def ambiguous(self) -> tuple[OutboxRow, ...]:
        """Rows that a process which is dead by now was sending: nobody knows whether they arrived."""
        ...


class Ledger(Protocol):
    """When daily chores were done."""

    async def last(self, chore: str) -> int | None:
        """When it was done last; None for never."""
        ...

    async def did(self, chore: str, at_ms: int) -> None:
        """It was done at that moment."""
        ...


class Provider(Protocol):
    """A language model."""

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelAnswer:
        """One answer, which ``on_text`` may see grow. ProviderError; retries of what may be retried are done inside."""
        ...


class Classifier(Protocol):
    """The model that judges a command in auto mode; it sees command, cwd and shell and nothing else."""

    async def ask(self, command: str, cwd: str, shell: Sequence[str]) -> str:
        """Its raw answer text. ProviderError or TimeoutError on any fault; no retries."""
        ...


class Desk(Protocol):
    """The only writer of rulings (approvals/desk), as the gate and the gateway see it."""

    async def ask(self, question: "Question", state: TurnState) -> ApprovalId:
        """Open a request and queue its question. RecordUnavailable: nothing was asked."""
        ...

    async def decide(self, approval: ApprovalId, ruling: Ruling) -> Approval:
        """Rule, if ``ruling.decider`` may. NotAllowed, AlreadyDecided, NoSuchApproval."""
        ...

    async def refused(self, call: Call, shown: SafeText, decision: Decision) -> None:
        """Tell the chat that policy refused a call, which rule, and what on the host would change it. Best effort."""
        ...

    async def ended(self, approval: Approval, outcome: Outcome) -> None:
        """Say below the question how its call ended. Best effort: the record has it already."""
        ...


@dataclass(frozen=True, slots=True)
class Question:
    """What the gate wants a person to decide, before it is a card.

    ``display`` is the whole command or target as it will be shown, masked and made visible. ``detail`` are the lines
    that say what is in it; ``why`` the reason for asking. ``elevates``: only the host can run it; ``owner_only``: only the
    owner can approve it. ``kept_days``: for so long what the call takes away can be brought back. ``offer``: what a yes
    that lasts would be for.
    """

    call: Call
    facts: Facts
    digest: Digest
    display: SafeText
    detail: tuple[SafeText, ...]
    why: SafeText
    masked: int = 0
    elevates: bool = False
    owner_only: bool = False
    kept_days: int = 0
    offer: Offer | None = None


class Signs(Protocol):
    """Signs of life while a turn runs; best effort, never raising."""

    def working(self, address: Address) -> None:
        """The turn at ``address`` is being worked on."""
        ...

    def resting(self, address: Address) -> None:
        """It is not any more: it ended, or waits for a person."""
        ...


class Deliverer(Protocol):
    """A channel's way out. Raises ChannelError kinds; the outbox decides what to do about them."""

    async def deliver(self, item: OutboxItem, message: int | None) -> int | None:
        """Send ``item`` (for EDIT: change ``message``); the new message's id where there is one."""
        ...

    async def answer_press(self, bot: BotName, press_id: str, note: str) -> None:
        """Answer a button press with a short note that only the presser sees; best effort."""
        ...
