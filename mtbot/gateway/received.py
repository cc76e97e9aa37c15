"""Messages with files: an album becomes one message, files are kept in the workspace, and the model is told where.

What cannot be taken is said to the person, and never ends the message: its words and its other files still count.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

import structlog

from mtbot.domain.errors import Ambiguous, ChannelError, MtclawError, Throttled, Unreachable
from mtbot.domain.received import RECEIVED, Attachments, FileRefused, Full, Shelf, kept_name, size_text
from mtbot.domain.turn import Address, Attached, Inbound

QUIET_SECONDS = 1.0
"""An album is complete when nothing of it has come for so long; Telegram sends its parts within a moment."""

LARGEST_ALBUM = 10

FETCH_PAUSES = (1.0, 3.0)
"""Seconds between tries of a file that was not had for a reason that may pass: nothing is done twice by asking twice."""

FETCH_SECONDS = 30.0
"""A file whose tries took longer is not asked for again: whatever else is said in its chat waits for it."""

NOT_HAD = "I could not get it from the chat service. Please send it again."

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Shelving:
    """What receiving needs: the channel, the workspace, today's date.

    ``most`` bytes of one file and ``most_in_all`` of all that are kept are taken; 0 of either: none is taken.
    """

    attachments: Attachments
    shelf: Shelf
    most: int
    most_in_all: int
    today: Callable[[], str]


class Received:
    """Has the files of a message kept, and tells what became of them."""

    def __init__(self, shelving: Shelving) -> None:
        self._shelving = shelving

    async def kept(self, inbound: Inbound) -> tuple[Inbound, tuple[str, ...]]:
        """The message with its files named in its text, and a sentence for the person about each reason why some were not taken."""
        lines: list[str] = []
        faults: dict[str, list[str]] = {}
        for attached in inbound.files:
            name = kept_name(attached.name, self._shelving.today())
            try:
                data = await self._fetched(inbound, attached)
                where = await self._shelving.shelf.put(inbound.address, name, data)
            except ChannelError as error:
                _log.warning("received.not_fetched", bot=str(inbound.address.bot), error=str(error))
                faults.setdefault(NOT_HAD, []).append(attached.name or "the file")
                continue
            except FileRefused as error:
                why = str(error)
                faults.setdefault(why, []).append(attached.name or "the file")
                continue
            of = f", {attached.mime}" if attached.mime else ""
            lines.append(f"{RECEIVED}{where}{of}, {size_text(len(data))}]")
        text = "\n".join((*filter(None, (inbound.text,)), *lines))
        told = tuple(f"I could not take {', '.join(names)}: {why}" for why, names in faults.items())
        return replace(inbound, text=text, files=()), told

    async def _fetched(self, inbound: Inbound, attached: Attached) -> bytes:
        most = self._shelving.most
        if most == 0 or self._shelving.most_in_all == 0:
            raise FileRefused("I take no files here.")
        if attached.size is not None and attached.size > most:
            raise FileRefused(f"it has {size_text(attached.size)}, and I take at most {size_text(most)}.")
        if await self._shelving.shelf.room(inbound.address) < max(1, attached.size or 0):
            raise Full(self._shelving.most_in_all)
        now = asyncio.get_running_loop().time
        begun = now()
        for pause in FETCH_PAUSES:
            try:
                return await self._shelving.attachments.fetch(inbound.address.bot, attached.handle, most)
            except ChannelError as error:
                passes = isinstance(error, Unreachable | Ambiguous | Throttled) or error.status >= 500
                if not passes or now() - begun > FETCH_SECONDS:
                    raise
            await asyncio.sleep(pause)
        return await self._shelving.attachments.fetch(inbound.address.bot, attached.handle, most)


@dataclass(slots=True)
class _Album:
    parts: list[Inbound] = field(default_factory=list)
    more: asyncio.Event = field(default_factory=asyncio.Event)
    closed: bool = False
    task: "asyncio.Task[None] | None" = None


class Albums:
    """Collects the parts of an album. ``complete`` is called once with all of them as one message."""

    def __init__(self, complete: Callable[[Inbound], Awaitable[None]], quiet: float = QUIET_SECONDS) -> None:
        self._complete = complete
        self._quiet = quiet
        self._open: dict[Address, tuple[str, _Album]] = {}

    async def add(self, inbound: Inbound) -> None:
        """Take a part; what is collected of another album in the same place is complete with that."""
        known = self._open.get(inbound.address)
        if known is None or known[0] != inbound.album or known[1].parts[0].sender.key != inbound.sender.key:
            await self.close(inbound.address)
            known = (inbound.album, _Album())
            self._open[inbound.address] = known
        album = known[1]
        album.parts.append(inbound)
        if len(album.parts) == LARGEST_ALBUM:
            await self.close(inbound.address)
        elif album.task is None:
            album.task = asyncio.create_task(self._wait(inbound.address, album))
        else:
            album.more.set()

    async def close(self, address: Address) -> None:
        """Nothing more of an album comes in that place: whatever is said next there comes after it."""
        known = self._open.pop(address, None)
        if known is not None:
            album = known[1]
            album.closed = True
            album.more.set()
            await self._complete(merged(album.parts))

    async def _wait(self, address: Address, album: _Album) -> None:
        while not album.closed:
            album.more.clear()
            try:
                async with asyncio.timeout(self._quiet):
                    await album.more.wait()
            except TimeoutError:
                if not album.closed:
                    await self._by_itself(address)
                return

    async def _by_itself(self, address: Address) -> None:
        """Close it with nobody waiting; what goes wrong is logged, and its updates come again at the next start."""
        try:
            await self.close(address)
        except MtclawError as error:
            _log.error("intake.album_failed", code=error.code, error=str(error))

    def abandon(self) -> None:
        """Forget what is not complete; its updates are on disk and come again."""
        for _, album in self._open.values():
            album.closed = True
            if album.task is not None:
                album.task.cancel()
        self._open.clear()


class FileMessages:
    """Messages on their way to a turn. ``text`` begins one, ``say`` tells the person, ``done`` closes a message.

    ``received`` keeps files; without it there is no place for them, and only the words count. ``full``: its sender may
    begin no turn now, which ``text`` tells them.
    """

    def __init__(
        self,
        text: Callable[[Inbound], Awaitable[None]],
        say: Callable[[Inbound, str], Awaitable[None]],
        done: Callable[[Inbound], Awaitable[None]],
    ) -> None:
        self._text = text
        self._say = say
        self._done = done
        self._albums = Albums(self._whole)
        self.received: Received | None = None
        self.full: Callable[[Inbound], bool] = lambda _inbound: False

    def wait(self, seconds: float) -> None:
        """How long an album may be silent before it counts as complete."""
        self._albums = Albums(self._whole, seconds)

    def close(self) -> None:
        """Nothing more is taken in; the parts of an album that is not complete yet stay for the next start."""
        self._albums.abandon()

    async def take(self, inbound: Inbound) -> None:
        """A message of a person, or a part of one; what was collected of an album there comes before it."""
        if inbound.album:
            await self._albums.add(inbound)
            return
        await self._albums.close(inbound.address)
        await self._whole(inbound)

    async def _whole(self, inbound: Inbound) -> None:
        if not inbound.addressed or (not inbound.files and not inbound.unusable) or self.full(inbound):
            await self._text(inbound)
            return
        told: tuple[str, ...] = ()
        if inbound.files and self.received is not None:
            inbound, told = await self.received.kept(inbound)
        if inbound.unusable:
            told = (*told, f"I can't do anything with {inbound.unusable}. Please write, or send it as a file.")
        if told:
            await self._say(inbound, "\n".join(told))
        if inbound.text:
            await self._text(inbound)
        else:
            await self._done(inbound)


def merged(parts: Sequence[Inbound]) -> Inbound:
    """The parts as one message: every caption, every file, every update."""
    first = parts[0]
    others = tuple(part.ref.update for part in parts[1:] if part.ref.update is not None)
    return replace(
        first,
        text="\n".join(part.text for part in parts if part.text),
        files=tuple(file for part in parts for file in part.files),
        addressed=any(part.addressed for part in parts),
        quoted=next((part.quoted for part in parts if part.quoted is not None), None),
        ref=replace(first.ref, also=others),
        album="",
    )
