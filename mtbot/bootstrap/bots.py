"""The bots of a gateway: each is connected, announced and polled by itself, and one that is refused silences no other."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import structlog

from mtbot.bootstrap.engine import Engine
from mtbot.bootstrap.offline import Loaded
from mtbot.bootstrap.rehearsal import rehearse
from mtbot.domain.errors import (
    Ambiguous,
    ChannelError,
    ChatGone,
    ConfigError,
    Throttled,
    TokenRejected,
    Unreachable,
)
from mtbot.domain.ids import BotName, ChatId, SafeText
from mtbot.domain.menu import Menu
from mtbot.domain.record import Card, OutboxItem, OutKind
from mtbot.domain.turn import Address, SurfaceName
from mtbot.gateway.commands import Commands
from mtbot.gateway.intake import Intake

if TYPE_CHECKING:
    from mtbot.channels.telegram.draft import Drafts
    from mtbot.channels.telegram.poll import Poller
    from mtbot.channels.telegram.show import TelegramWay, Typing
    from mtbot.channels.telegram.transport import Transport

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class BotParts:
    """One bot: its connection, its way out, its signs, its poller."""

    name: BotName
    transport: "Transport"
    way: "TelegramWay"
    typing: "Typing"
    drafts: "Drafts"
    poller: "Poller"


class BotWays:
    """The way out of every bot, chosen by the item's address; also their signs."""

    def __init__(self, outward: Callable[[Address], Address]) -> None:
        self.bots: dict[BotName, BotParts] = {}
        self.refused: set[BotName] = set()
        self._outward = outward

    async def deliver(self, item: OutboxItem, message: int | None) -> int | None:
        """Hand on to the bot that the item belongs to."""
        return await self._of(item.address.bot).way.deliver(replace(item, address=self._outward(item.address)), message)

    async def answer_press(self, bot: BotName, press_id: str, note: str) -> None:
        """Hand on."""
        await self._of(bot).way.answer_press(bot, press_id, note)

    async def fetch(self, bot: BotName, handle: str, most: int) -> bytes:
        """Hand on."""
        self._of(bot)
        return await self.bots[bot].transport.fetch(handle, most)

    async def show(self, address: Address, card: Card, message: int | None) -> int | None:
        """Hand on."""
        return await self._of(address.bot).way.show(self._outward(address), card, message)

    async def remove(self, address: Address, message: int) -> None:
        """Hand on."""
        await self._of(address.bot).way.remove(self._outward(address), message)

    def takes_drafts(self, address: Address) -> bool:
        """Whether its bot is there and its server knows drafts."""
        parts = self.bots.get(address.bot)
        return parts is not None and parts.drafts.known

    async def draft(self, address: Address, number: int, text: SafeText) -> bool:
        """Hand on."""
        parts = self.bots.get(address.bot)
        return parts is not None and await parts.drafts.show(address, number, text)

    def working(self, address: Address) -> None:
        """Hand on; terminal and cron turns have no sign."""
        if address.bot in self.bots and address.surface in (SurfaceName.PRIVATE, SurfaceName.GROUP):
            self.bots[address.bot].typing.working(self._outward(address))

    def resting(self, address: Address) -> None:
        """Hand on."""
        if address.bot in self.bots:
            for place in {address, self._outward(address)}:  # its group may have moved meanwhile
                self.bots[address.bot].typing.resting(place)

    def _of(self, bot: BotName) -> BotParts:
        parts = self.bots.get(bot)
        if bot in self.refused:
            raise TokenRejected(f"Telegram does not accept the token of bot {bot}", status=401)
        if parts is None:
            raise ChatGone(f"there is no bot called {bot} any more")
        return parts


class Bots:
    """Connects and polls. TokenRejected comes out only when no bot is left."""

    def __init__(self, engine: Engine, ways: BotWays, door: Intake, commands: Commands) -> None:
        self._engine = engine
        self._ways = ways
        self._door = door
        self._commands = commands

    async def connect(self) -> tuple[BotParts, ...]:
        """Connect every bot whose token is accepted. TokenRejected if there is none, ChannelError, ConfigError."""
        for name in self._engine.loaded.settings.channels.telegram.bots:
            try:
                bot = await self._connect_one(BotName(name))
            except TokenRejected as error:
                await self._refuse(BotName(name), error)
                continue
            self._ways.bots[bot.name] = bot
        for name in self._ways.refused:
            await self._tell(name)
        return tuple(self._ways.bots.values())

    async def introduce(self) -> None:
        """Tell Telegram what each bot understands and make ready for the first turn, while they poll; never ends."""
        for bot in tuple(self._ways.bots.values()):
            await self._announce(bot)
            await warm_up(self._engine, bot)
        await asyncio.Event().wait()

    async def poll(self, bot: BotParts) -> None:
        """Poll for one bot until cancelled; when its token is refused it rests, as long as another one is left."""
        try:
            await bot.poller.run()
        except TokenRejected as error:
            await self._refuse(bot.name, error)
            await self._tell(bot.name)
            await asyncio.Event().wait()

    async def _refuse(self, name: BotName, error: TokenRejected) -> None:
        """Go on without that bot. TokenRejected if it was the last one."""
        self._ways.refused.add(name)
        if len(self._ways.refused) == len(self._engine.loaded.settings.channels.telegram.bots):
            raise error
        _log.error("telegram.token_rejected", bot=name, error=error.message, hint="the other bots go on without it")

    async def _tell(self, name: BotName) -> None:
        """Tell the owner by another bot that serves them."""
        people = self._engine.loaded.people
        for other in self._ways.bots:
            if (
                other not in self._ways.refused
                and people.owner is not None
                and other in people.bots
                and people.owner in people.bots[other].allow
            ):
                place = Address(SurfaceName.PRIVATE, other, ChatId(int(people.owner)))
                said = f"Telegram does not accept the token of my bot {name}: it hears nothing until it has a new one."
                item = OutboxItem(OutKind.NOTICE, place, text=self._engine.loaded.redactor.mask(said), silent=True)
                await self._engine.office.stores.outbox.put(item, now_ms=self._engine.loaded.clock.now_ms())
                self._engine.wake()
                return

    async def _connect_one(self, name: BotName) -> BotParts:
        """Connect a bot, however long its server cannot be reached: a host often starts before its network."""
        pause = FIRST_PAUSE
        while True:
            try:
                return await connect_bot(self._engine.loaded, name, self._engine, self._door)
            except (Unreachable, Ambiguous, Throttled) as error:
                why, wait = str(error), error.retry_after if isinstance(error, Throttled) else pause
            except ChannelError as error:
                if error.status < 500:
                    raise
                why, wait = str(error), pause
            _log.warning("telegram.not_reached", bot=name, error=why, retry_s=wait)
            pause = min(LONGEST_PAUSE, pause * 2)
            await asyncio.sleep(wait)

    async def _announce(self, bot: BotParts) -> None:
        """Tell Telegram which commands there are; a failure is no reason not to serve."""
        from mtbot.channels.telegram.account import announce

        people = self._engine.loaded.people
        for menu in Menu:
            if menu is Menu.OWNER and people.owner not in people.bots[bot.name].allow:
                continue
            listed = [(command.word, command.help) for command in self._commands.table if menu in command.menus]
            try:
                await announce(bot.transport, listed, menu, int(people.owner or 0))
            except ChannelError as error:
                # the owner has not written to this bot yet, or the server knows no scopes
                _log.info("telegram.commands_not_set", bot=bot.name, menu=menu.value, error=str(error))


async def warm_up(engine: Engine, bot: BotParts) -> None:
    """Build what the first turn would wait for: clients, parsers, validators. Others have their say between the steps."""
    address = Address(SurfaceName.PRIVATE, bot.name, ChatId(int(engine.loaded.people.owner or 1)))
    item = OutboxItem(OutKind.REPLY, address, text=engine.loaded.redactor.safe("**ready**"))
    await asyncio.sleep(0)
    bot.way.prepare(item)
    await asyncio.sleep(0)
    _think(engine, address)
    await rehearse(engine.office.db, item, engine.loaded.clock.now_ms())


def _think(engine: Engine, address: Address) -> None:
    try:
        engine.loaded.redactor.mask(engine.profiles.mind(address).system)
    except ConfigError as error:
        # told to whoever needs the model; it is no reason not to serve
        _log.warning("bot.not_warmed_up", bot=address.bot, error=str(error))


async def connect_bot(loaded: Loaded, name: BotName, engine: Engine, door: Intake) -> BotParts:
    """Connect a bot: its token is checked, a webhook is taken away. TokenRejected, ConfigError, ChannelError."""
    from mtbot.channels.telegram.account import drop_webhook, who_am_i
    from mtbot.channels.telegram.draft import Drafts
    from mtbot.channels.telegram.pace import Pace
    from mtbot.channels.telegram.poll import Poller
    from mtbot.channels.telegram.show import TelegramWay, Typing

    transport = open_transport(loaded, name)
    try:
        me = await who_am_i(transport)
        await drop_webhook(transport)
    except BaseException:
        await transport.close()
        raise
    poller = Poller(transport, me, engine.office.stores.inbox, door, loaded.clock)
    pace = Pace(time.monotonic)
    way, drafts = TelegramWay(transport, pace), Drafts(transport, pace, time.monotonic)
    return BotParts(name, transport, way, Typing(transport), drafts, poller)


def open_transport(loaded: Loaded, name: BotName) -> "Transport":
    """The connection of a bot. ConfigError names the key if its token, or the proxy to go by, cannot be had."""
    from mtbot.channels.telegram.transport import Account, Transport

    telegram = loaded.settings.channels.telegram
    token = _secret(loaded, telegram.token_ref(name).key, "token")
    proxy = _secret(loaded, telegram.proxy_ref.key, "proxy") if telegram.proxy_ref.named else telegram.proxy
    return Transport(Account(name, token, telegram.api_base_url, proxy))


def _secret(loaded: Loaded, key: str, noun: str) -> str:
    """The secret of that key. ConfigError says why it cannot be had."""
    secret = loaded.secrets.get(key)
    if secret is None or not secret.value:
        problems = tuple(line for line in loaded.missing if line.startswith(key))
        raise ConfigError(problems or (f"{key}: there is no {noun}",))
    return secret.value
