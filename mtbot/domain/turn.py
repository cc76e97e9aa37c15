"""What comes in and what a turn is: surfaces, addresses, inbound messages, history and the state that can be parked.

Everything here can be written down and read back (``TurnState.to_json``), because a turn that waits for a person is a
row and not a coroutine.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum

from mtbot.domain.ids import ApprovalId, BotName, CallId, ChatId, Digest, SessionId, ThreadId, TurnId, UserId


class SurfaceName(StrEnum):
    """The names of the ways in."""

    PRIVATE = "private"
    GROUP = "group"
    TERMINAL = "terminal"
    CRON = "cron"


@dataclass(frozen=True, slots=True)
class Surface:
    """A way in, and what may be asked there.

    ``attended``: a person can be asked. ``may_elevate``: that person sits at the host, so root may be discussed.
    ``shows_cards``: questions appear with choices to press or type.
    """

    name: SurfaceName
    attended: bool
    may_elevate: bool
    shows_cards: bool


SURFACES: tuple[Surface, ...] = (
    Surface(SurfaceName.PRIVATE, attended=True, may_elevate=False, shows_cards=True),
    Surface(SurfaceName.GROUP, attended=True, may_elevate=False, shows_cards=True),
    Surface(SurfaceName.TERMINAL, attended=True, may_elevate=True, shows_cards=True),
    Surface(SurfaceName.CRON, attended=False, may_elevate=False, shows_cards=False),
)


def surface(name: SurfaceName) -> Surface:
    """The surface of that name."""
    return next(one for one in SURFACES if one.name is name)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a conversation takes place, and so which session it belongs to.

    Telegram: ``bot``, ``chat`` and, in a topic, ``thread``. Terminal and cron: ``chat`` is 0 and ``label`` names the
    session (``local``, ``job:nightly-check``).
    """

    surface: SurfaceName
    bot: BotName
    chat: ChatId
    thread: ThreadId | None = None
    label: str = ""

    @property
    def session(self) -> SessionId:
        """The one session of this place."""
        if self.surface is SurfaceName.TERMINAL:
            return SessionId(f"cli:{self.label}")
        if self.surface is SurfaceName.CRON:
            return SessionId(f"cron:{self.label}")
        return SessionId(f"telegram:{self.bot}:{self.chat}:{self.thread or 0}")

    @property
    def job(self) -> str:
        """The name of the scheduled job whose run this is; empty anywhere else."""
        if self.surface is not SurfaceName.CRON:
            return ""
        return self.label.removeprefix("job:").partition(":")[0]


class ActorKind(StrEnum):
    """Who somebody is known by: a Telegram user id, a uid of this host, or mtclaw itself."""

    TELEGRAM = "telegram"
    LOCAL = "local"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class Actor:
    """A person (or mtclaw itself) as the record knows them; a uid is no Telegram id, so the kind is part of it."""

    kind: ActorKind
    id: int
    name: str = ""

    @property
    def key(self) -> str:
        """``telegram:1001``, ``local:1000``: what columns and comparisons use; the name is for display only."""
        return f"{self.kind}:{self.id}"

    @property
    def user(self) -> UserId | None:
        """The Telegram user id, or None for anybody who has none."""
        return UserId(self.id) if self.kind is ActorKind.TELEGRAM else None


SYSTEM = Actor(ActorKind.SYSTEM, 0, "mtclaw")


class InboundKind(StrEnum):
    """What kind of thing came in."""

    TEXT = "text"
    COMMAND = "command"
    PRESS = "press"
    EDIT = "edit"


@dataclass(frozen=True, slots=True)
class SourceRef:
    """Where an inbound came from: the update that is acted on once and the message that a reply quotes.

    ``also`` are the further updates of an album, which are one message.
    """

    update: int | None = None
    message: int | None = None
    also: tuple[int, ...] = ()

    @property
    def updates(self) -> tuple[int, ...]:
        """All of them."""
        return () if self.update is None else (self.update, *self.also)


@dataclass(frozen=True, slots=True)
class Attached:
    """A file that a message carries: the channel's handle, the sender's name for it, its media type and size in bytes.

    ``size`` is what the sender's program claims, None if it says nothing; the limit holds for what really comes.
    """

    handle: str
    name: str = ""
    mime: str = ""
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Inbound:
    """One thing that a person (or the clock) said, already translated from its channel.

    ``addressed``: whether it was meant for the bot (a group without mention: False). ``quoted``: the id of the message
    it replies to. COMMAND: ``command`` is the word without slash, ``text`` the rest. PRESS: ``press_token`` is what the
    button carried, ``press_id`` what the channel needs to answer it. EDIT: ``text`` is what a message says now.
    ``own_words``: what the message says that it replies to, if the same person wrote it; empty if somebody else did,
    None where there is no such text. ``files`` came with it, ``album`` names the message group that it is a part of, ``unusable`` says in words what it
    holds that nothing can be done with. ``repeats``: it asks again for the call of the start of that number.
    """

    address: Address
    sender: Actor
    ref: SourceRef
    kind: InboundKind
    text: str
    command: str = ""
    addressed: bool = True
    quoted: int | None = None
    press_token: str = ""
    press_id: str = ""
    files: tuple[Attached, ...] = ()
    album: str = ""
    unusable: str = ""
    own_words: str | None = None
    repeats: int | None = None


class Role(StrEnum):
    """Who speaks in the history that the model sees."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the model wrote it; ``arguments`` is its raw text, which may be no JSON at all."""

    id: CallId
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of the history. TOOL entries answer ``call_id``; ASSISTANT entries may carry ``calls``."""

    role: Role
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: CallId | None = None
    tool_name: str = ""

    def to_dict(self) -> dict[str, object]:
        """A JSON-ready mapping; ``from_dict`` reads it back unchanged."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> "Message":
        """Read what ``to_dict`` wrote. KeyError, TypeError or ValueError if it is anything else."""
        calls = data["calls"]
        if not isinstance(calls, list | tuple):
            raise TypeError("calls is not a list")
        call_id = data["call_id"]
        return cls(
            Role(str(data["role"])),
            str(data["content"]),
            tuple(ToolCall(CallId(c["id"]), c["name"], c["arguments"]) for c in calls),
            None if call_id is None else CallId(str(call_id)),
            str(data["tool_name"]),
        )


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens spent, as the provider counted them, and their ``cost`` in millionths of the owner's currency."""

    prompt: int = 0
    completion: int = 0
    cost: int = 0

    @property
    def tokens(self) -> int:
        """What was sent and what came back."""
        return self.prompt + self.completion

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.prompt + other.prompt, self.completion + other.completion, self.cost + other.cost)


@dataclass(frozen=True, slots=True)
class Repeats:
    """The call of the start of that number is asked for again; ``digest`` is what it was bound to then."""

    start: int
    digest: Digest


@dataclass(frozen=True, slots=True)
class TurnState:
    """A turn between two steps: all that is needed to go on with it, today or after a restart.

    ``messages`` are this turn's own entries (history is loaded anew). ``open_calls`` are the calls of the last
    assistant entry that have no answer yet, in order; the first of them is the one that waits when the turn is parked.
    ``ran`` names what ran by rule, ``granted`` what ran because a person had allowed it for a while, ``denied`` what
    policy refused, ``refused`` what nobody could be asked about, all masked and ready to be shown; ``permits`` are the commands on the host that would permit the last kind.
    ``repeats`` says which call this turn asks for again.
    """

    id: TurnId
    address: Address
    requester: Actor
    ref: SourceRef
    messages: tuple[Message, ...]
    open_calls: tuple[ToolCall, ...] = ()
    step: int = 0
    spent: Usage = Usage()
    tainted: bool = False
    ran: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    permits: tuple[str, ...] = ()
    granted: tuple[str, ...] = ()
    repeats: Repeats | None = None

    @property
    def session(self) -> SessionId:
        """The session that this turn belongs to."""
        return self.address.session

    def say(self, *messages: Message) -> "TurnState":
        """This state with those entries added."""
        return replace(self, messages=(*self.messages, *messages))

    def answer(self, text: str) -> "TurnState":
        """This state with the first open call answered by ``text``."""
        first, *rest = self.open_calls
        entry = Message(Role.TOOL, text, call_id=first.id, tool_name=first.name)
        return replace(self, messages=(*self.messages, entry), open_calls=tuple(rest))

    def to_json(self) -> str:
        """Canonical JSON of the whole state; it holds unmasked arguments, so it must be stored sealed."""
        return json.dumps(asdict(self), ensure_ascii=True, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "TurnState":
        """Read what ``to_json`` wrote. KeyError, TypeError or ValueError if it is anything else."""
        data = json.loads(text)
        address, requester = data["address"], data["requester"]
        thread = address["thread"]
        return cls(
            id=TurnId(data["id"]),
            address=Address(
                SurfaceName(address["surface"]),
                BotName(address["bot"]),
                ChatId(address["chat"]),
                None if thread is None else ThreadId(thread),
                address["label"],
            ),
            requester=Actor(ActorKind(requester["kind"]), requester["id"], requester["name"]),
            ref=_ref(**data["ref"]),
            messages=tuple(Message.from_dict(m) for m in data["messages"]),
            open_calls=tuple(ToolCall(CallId(c["id"]), c["name"], c["arguments"]) for c in data["open_calls"]),
            step=data["step"],
            spent=Usage(**data["spent"]),
            tainted=data["tainted"],
            ran=tuple(data["ran"]),
            refused=tuple(data["refused"]),
            denied=tuple(data.get("denied", ())),
            permits=tuple(data.get("permits", ())),
            granted=tuple(data.get("granted", ())),
            repeats=None if data.get("repeats") is None else Repeats(**data["repeats"]),
        )


def _ref(update: int | None, message: int | None, also: Sequence[int] = ()) -> SourceRef:
    return SourceRef(update, message, tuple(also))


@dataclass(frozen=True, slots=True)
class Reply:
    """The turn is over: this is what the person reads (empty: say nothing)."""

    state: TurnState
    text: str


@dataclass(frozen=True, slots=True)
class Parked:
    """The turn waits for a person; it is already a row."""

    state: TurnState
    approval: ApprovalId


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn ended without an answer of the model: a stable code and one sentence for the person."""

    state: TurnState
    code: str
    text: str


TurnEnd = Reply | Parked | Failed
