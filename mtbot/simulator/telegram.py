"""A Telegram Bot API server on loopback that behaves, refuses and fails like the real one.

Used in the process of a test (one event loop with the bot), by the demo, and as `mtclaw simulator telegram`. It keeps
a log of every call and shows each chat as a person sees it.
"""

import asyncio
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

from aiohttp import web

from mtbot.simulator import faults
from mtbot.simulator.control import Control
from mtbot.simulator.faults import Fault, FaultQueue, FloodLimits
from mtbot.simulator.methods import Switches
from mtbot.simulator.people import People
from mtbot.simulator.server import Server
from mtbot.simulator.state import Bot, World
from mtbot.simulator.values import DRAFT_SECONDS, BotAccount, CallRecord, Clock, Draft, JsonObject, Message

DEFAULT_TOKEN = "7001001:SIMULATED-token-for-tests-only-00000"  # noqa: S105 - opens nothing but this simulator

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Clocks:
    """The two clocks of a simulator: monotonic for waits and the log, wall for the date of messages. Seconds."""

    monotonic: Clock = time.monotonic
    wall: Clock = time.time


class TelegramSimulator:
    """The server, its control panel for tests, and the people who use it.

    Tokens may be given as text or as BotAccount. Every other token is answered with 401. `flood` switches the limits
    on; `drafts` off makes sendMessageDraft unknown, as on a server of your own that is a year old.
    """

    def __init__(
        self,
        bots: Iterable[str | BotAccount] = (DEFAULT_TOKEN,),
        *,
        clocks: Clocks | None = None,
        flood: FloodLimits | None = None,
        drafts: bool = True,
    ) -> None:
        found = clocks or Clocks()
        accounts = [BotAccount(bot) if isinstance(bot, str) else bot for bot in bots]
        self._world = World(accounts, found.monotonic, found.wall)
        self._switches = Switches(drafts)
        self._faults = FaultQueue()
        self._server = Server(self._world, self._switches, self._faults)
        self._runner: web.AppRunner | None = None
        self._port = 0
        self.set_flood(flood)
        # What people do, at hand where tests look for it.
        people = People(self._world)
        self.people = people
        self.say, self.album, self.edit, self.delete = people.say, people.album, people.edit, people.delete
        self.press, self.tap, self.answer = people.press, people.tap, people.answer
        self.open, self.group, self.topic, self.close_topic = (
            people.open,
            people.group,
            people.topic,
            people.close_topic,
        )
        self.migrate, self.block, self.set_member = people.migrate, people.block, people.set_member

    async def start(self, port: int = 0) -> None:
        """Listen on 127.0.0.1; port 0 takes a free one. After a stop the same world goes on."""
        app = self._server.application()
        Control(self._world, self.people, self._faults, self._server).add_routes(app)
        runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.5)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        self._runner = runner
        self._port = int(runner.addresses[0][1])

    async def stop(self) -> None:
        """Close every connection, open polls and hung calls too, and stop listening."""
        runner, self._runner = self._runner, None
        if runner is not None:
            self._server.hang_up()
            await runner.cleanup()

    async def __aenter__(self) -> Self:
        """Start on a free port."""
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Stop."""
        await self.stop()

    @property
    def base_url(self) -> str:
        """The address to give a bot instead of api.telegram.org."""
        return f"http://127.0.0.1:{self._port}"

    # What a test arranges

    def fault(self, method: str, fault: Fault, *, times: int = 1, bot: str | None = None) -> None:
        """Let the next so many calls of a method (`*`: any) meet a fault; faults.FOR_EVER until cleared."""
        self._faults.add(method, fault, times, self.token(bot) if bot is not None else None)

    def clear_faults(self, method: str | None = None) -> None:
        """Forget waiting faults."""
        self._faults.clear(method)

    def release(self) -> None:
        """Perform and answer the calls that hang."""
        self._server.release()

    def hanging(self, method: str | None = None) -> int:
        """How many calls hang."""
        return sum(1 for name in self._server.hanging if method in {None, name})

    def set_flood(self, limits: FloodLimits | None) -> None:
        """Switch flood limits on, or off with None."""
        self._server.set_flood(limits)

    def set_drafts(self, on: bool) -> None:
        """Let sendMessageDraft exist or not."""
        self._switches.drafts = on

    def set_query_lifetime(self, seconds: float) -> None:
        """How long after a press an answer is still taken; 15 by default."""
        self._switches.query_lifetime = seconds

    def push_update(self, bot: str | None, update: JsonObject) -> int:
        """Queue an update as it is, even one that no client can read; answers its update_id."""
        return self._world.bot(bot).queue.push_raw(update)

    def redeliver(self, update_id: int, bot: str | None = None) -> None:
        """Deliver an update again, although it was confirmed."""
        self._world.bot(bot).queue.redeliver(update_id)

    def renumber_updates(self, next_id: int, bot: str | None = None) -> None:
        """Count updates from another number on."""
        self._world.bot(bot).queue.renumber(next_id)

    # What a test looks at

    @property
    def log(self) -> tuple[CallRecord, ...]:
        """Every call so far, in the order of its end."""
        return tuple(self._world.log)

    def calls(self, method: str, *, bot: str | None = None) -> list[CallRecord]:
        """The calls of one method."""
        name = self._world.bot(bot).account.person.username if bot is not None else None
        return [record for record in self._world.log if record.method == method and name in {None, record.bot}]

    def chat(self, chat: int, thread: int | None = None, *, bot: str | None = None) -> tuple[Message, ...]:
        """The visible messages of a chat; with a thread only those of that topic (1: what is outside all topics)."""
        return self._world.visible(self._world.bot(bot), chat, thread)

    def draft(self, chat: int, thread: int | None = None, *, bot: str | None = None) -> Draft | None:
        """What a person sees being written in a chat with a bot; None when nothing is, or not any more."""
        room = self._world.reachable(self._world.bot(bot), chat)
        found = room.drafts.get(thread)
        return None if found is None or self._world.clock() - found.at > DRAFT_SECONDS else found

    def bot(self, name: str | None = None) -> Bot:
        """A bot with its queue and menu, by token or user name; the first one by default."""
        return self._world.bot(name)

    def token(self, name: str | None = None) -> str:
        """The token of a bot."""
        return self._world.bot(name).account.token

    async def wait_for(self, predicate: Callable[[Self], Found], timeout: float = 5.0) -> Found:
        """Wait until the predicate over this simulator answers something true, and answer that.

        It is asked again after every change and never in between. TimeoutError lists the last calls.
        """
        deadline = asyncio.get_running_loop().time() + timeout
        while not (found := predicate(self)):
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0 or not await self._world.pulse.wait(left):
                last = "; ".join(f"{record.method} {dict(record.params)}" for record in self._world.log[-8:])
                raise TimeoutError(f"not seen within {timeout} s; last calls: {last or 'none'}")
        return found

    async def shown(
        self,
        chat: int,
        text: str,
        thread: int | None = None,
        *,
        bot: str | None = None,
        after: int = 0,
        timeout: float = 5.0,
    ) -> Message:
        """Wait until a bot's message newer than `after` shows this text, and answer the newest such message."""

        def look(sim: "TelegramSimulator") -> Message | None:
            for message in reversed(sim.chat(chat, thread, bot=bot)):
                if message.sender.is_bot and message.id > after and text in message.text:
                    return message
            return None

        found = await self.wait_for(look, timeout)
        assert found is not None
        return found


async def serve_telegram(port: int, tokens: Sequence[str], announce: Callable[[str], None]) -> None:
    """Run until SIGINT or SIGTERM; the address is announced once the server listens."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    simulator = TelegramSimulator(tokens or (DEFAULT_TOKEN,))
    await simulator.start(port)
    announce(f"Telegram simulator on {simulator.base_url}, bots: {', '.join(tokens or (DEFAULT_TOKEN,))}")
    await stop.wait()
    await simulator.stop()


def run_telegram(port: int, tokens: Sequence[str] = ()) -> None:
    """The program behind `mtclaw simulator telegram`: serve until interrupted."""
    asyncio.run(serve_telegram(port, tokens, lambda line: print(line, flush=True)))


__all__ = ["DEFAULT_TOKEN", "Clocks", "TelegramSimulator", "faults", "run_telegram", "serve_telegram"]
