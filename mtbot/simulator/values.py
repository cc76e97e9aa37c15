"""What the Telegram simulator remembers and shows, as values that cannot change behind a test's back.

Why a file of its own: the rules, the methods, the people's side and the log speak about the same few nouns.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

JsonObject: TypeAlias = dict[str, object]
Clock: TypeAlias = Callable[[], float]

GENERAL_TOPIC = 1


class ApiRefusal(Exception):
    """The answer of a Bot API that does not do what it was asked: code, description and machine-readable parameters."""

    def __init__(self, code: int, description: str, parameters: Mapping[str, int] | None = None) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = dict(parameters or {})

    def answer(self) -> JsonObject:
        """The JSON body that goes over the wire."""
        body: JsonObject = {"ok": False, "error_code": self.code, "description": self.description}
        if self.parameters:
            body["parameters"] = dict(self.parameters)
        return body


def bad_request(reason: str) -> ApiRefusal:
    """A 400 in the wording of the real server."""
    return ApiRefusal(400, f"Bad Request: {reason}")


class Pulse:
    """A beat that wakes everybody who waits for a change; callable from synchronous code, so no change needs a lock."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def beat(self) -> None:
        """Say that something changed."""
        self._next.set()
        self._next = asyncio.Event()

    async def wait(self, seconds: float | None) -> bool:
        """Wait for the next beat; False when the seconds ran out first."""
        event = self._next
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            return False
        return True


class ChatKind(StrEnum):
    """The kinds of chat that the simulator plays."""

    PRIVATE = "private"
    GROUP = "group"
    SUPERGROUP = "supergroup"
    CHANNEL = "channel"


class AttachmentKind(StrEnum):
    """The kinds of file that a message may carry."""

    DOCUMENT = "document"
    PHOTO = "photo"
    VOICE = "voice"


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a Telegram account; bots are people whose is_bot is true."""

    id: int
    name: str
    username: str | None = None
    is_bot: bool = False


@dataclass(frozen=True, slots=True)
class BotAccount:
    """A bot as BotFather would have registered it; the number before the colon of its token is its user id."""

    token: str
    username: str = ""
    name: str = ""
    reads_groups: bool = True

    @property
    def id(self) -> int:
        """The numeric user id."""
        return int(self.token.partition(":")[0])

    @property
    def person(self) -> Person:
        """The account as other people see it."""
        username = self.username or f"sim{self.id}_bot"
        return Person(self.id, self.name or username, username, is_bot=True)


@dataclass(frozen=True, slots=True)
class Entity:
    """A run of formatting; offset and length count UTF-16 units."""

    type: str
    offset: int
    length: int
    url: str | None = None
    language: str | None = None

    @property
    def end(self) -> int:
        """The first unit behind the run."""
        return self.offset + self.length

    def json(self) -> JsonObject:
        """The entity as the Bot API writes it."""
        found: JsonObject = {"type": self.type, "offset": self.offset, "length": self.length}
        if self.url is not None:
            found["url"] = self.url
        if self.language is not None:
            found["language"] = self.language
        return found


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file in a message. `claimed_size` lets a small test file pretend to be a large one; bytes otherwise."""

    data: bytes
    name: str = "file.bin"
    kind: AttachmentKind = AttachmentKind.DOCUMENT
    mime: str = "application/octet-stream"
    claimed_size: int | None = None
    file_id: str = ""

    @property
    def size(self) -> int:
        """Bytes, as Telegram reports them."""
        return len(self.data) if self.claimed_size is None else self.claimed_size


@dataclass(frozen=True, slots=True)
class Button:
    """One inline button; exactly one of data and url is set for the kinds that the simulator can press."""

    label: str
    data: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """What a message said before an edit."""

    text: str
    entities: tuple[Entity, ...]
    buttons: tuple[tuple[Button, ...], ...]


@dataclass(frozen=True, slots=True)
class Message:
    """A message as a person sees it, with the texts that it had before its edits."""

    id: int
    chat: int
    sender: Person
    text: str
    date: int
    entities: tuple[Entity, ...] = ()
    thread: int | None = None
    in_topic: bool = False
    reply_to: int | None = None
    markup: JsonObject | None = None
    attachment: Attachment | None = None
    silent: bool = False
    edits: tuple[Version, ...] = ()
    edited: int | None = None
    extra: JsonObject = field(default_factory=dict)
    deleted: bool = False

    @property
    def buttons(self) -> tuple[tuple[Button, ...], ...]:
        """The inline keyboard, row by row."""
        return buttons_of(self.markup)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of all buttons, in reading order."""
        return tuple(button.label for row in self.buttons for button in row)

    def version(self) -> Version:
        """The present state, for the history."""
        return Version(self.text, self.entities, self.buttons)


DRAFT_SECONDS = 30.0
"""How long a draft is shown if nothing follows."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A message that is still being written, as a person sees it; `at` on the simulator's clock."""

    number: int
    text: str
    entities: tuple[Entity, ...]
    at: float


def buttons_of(markup: JsonObject | None) -> tuple[tuple[Button, ...], ...]:
    """The inline keyboard of a reply_markup object; empty for every other kind of markup."""
    rows = (markup or {}).get("inline_keyboard")
    if not isinstance(rows, list):
        return ()
    return tuple(
        tuple(_button(cell) for cell in row if isinstance(cell, dict)) for row in rows if isinstance(row, list)
    )


def _button(cell: JsonObject) -> Button:
    data, url = cell.get("callback_data"), cell.get("url")
    return Button(
        str(cell.get("text", "")),
        data if isinstance(data, str) else None,
        url if isinstance(url, str) else None,
    )


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call of a bot: what was asked, when (injected monotonic clock, seconds) and what became of it.

    `error` is None for a call that was answered with ok. `notes` holds what the real server would have swallowed in
    silence, for instance formatting beyond the hundredth entity. `fault` names an injected fault.
    """

    sequence: int
    at: float
    bot: str
    method: str
    params: Mapping[str, object]
    result: object = None
    error: ApiRefusal | None = None
    notes: tuple[str, ...] = ()
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class CallbackAnswer:
    """What a person sees after a press: a toast, or an alert that must be closed."""

    text: str
    alert: bool = False
