"""The daily chores of a gateway, built: where the head of the record is sent, and what is removed."""

import logging
import logging.handlers
import socket
from pathlib import Path

from mtbot.bootstrap.engine import Engine
from mtbot.bootstrap.offline import Loaded
from mtbot.bootstrap.outputs import expire_outputs
from mtbot.bootstrap.stores import maintenance_of
from mtbot.bootstrap.system import short_host
from mtbot.config.service import Anchor
from mtbot.domain.errors import StateError
from mtbot.domain.ids import BotName, ChatId
from mtbot.domain.record import OutboxItem, OutKind
from mtbot.domain.turn import Address, SurfaceName
from mtbot.gateway.daily import Chore, Daily
from mtbot.gateway.standing import CHORE, RecordCheck
from mtbot.storage.ledger import LedgerStore

SYSLOG = "/dev/log"
QUEUE_MS = 14 * 86_400_000


def daily_of(engine: Engine, check: RecordCheck) -> Daily:
    """The chores that the configuration wants."""
    care, clock = maintenance_of(engine.office.db), engine.loaded.clock

    async def tidy() -> None:
        now = clock.now_ms()
        await care.tidy(now - QUEUE_MS, now)

    async def anchor() -> None:
        await send_head(engine)

    async def outputs() -> None:
        await expire_outputs(engine.loaded)

    chores = [Chore(CHORE, check.look), Chore("tidy", tidy), Chore("outputs", outputs)]
    if engine.loaded.settings.audit.anchor is not Anchor.OFF:
        chores.insert(0, Chore("anchor", anchor))
    return Daily(chores, LedgerStore(engine.office.db), clock)


def record_check(engine: Engine) -> RecordCheck:
    """The look at the record, of whose fault the owner reads in their private chat, if they have one."""

    async def tell(words: str) -> None:
        place = owner_chat(engine.loaded)
        if place is not None:
            await _write(engine, place, words, silent=False)

    return RecordCheck(engine.office.stores.trail, tell)


async def send_head(engine: Engine) -> None:
    """Send the head of the record where nobody with this account can change it afterwards. StateError, StorageError."""
    loaded = engine.loaded
    head = await engine.office.stores.trail.head()
    if head.seq == 0:
        return
    if loaded.settings.audit.anchor is Anchor.SYSLOG:
        log_head(f"record of {short_host()}: event {head.seq} hash {head.hash}")
        return
    place = owner_chat(loaded)
    if place is None:
        raise StateError("the owner is on no bot's list, so the head of the record cannot be sent to them")
    text = (
        f"The record of {short_host()} ends with event {head.seq}:\n`{head.hash}`\n"
        "Leave this message where it is. Should you ever doubt the record, on the host: "
        f"`mtclaw audit verify --against {head.hash}`"
    )
    await _write(engine, place, text, silent=True)


async def _write(engine: Engine, place: Address, words: str, *, silent: bool) -> None:
    """Queue a notice. StorageError."""
    item = OutboxItem(OutKind.NOTICE, place, text=engine.loaded.redactor.mask(words), silent=silent)
    await engine.office.stores.outbox.put(item, now_ms=engine.loaded.clock.now_ms())
    engine.wake()


def owner_chat(loaded: Loaded) -> Address | None:
    """The owner's private chat with the first bot that serves them there."""
    people = loaded.people
    for name in loaded.settings.channels.telegram.bots:
        bot = people.bots.get(BotName(name))
        if bot is not None and people.owner in bot.allow and people.owner is not None:
            return Address(SurfaceName.PRIVATE, BotName(name), ChatId(int(people.owner)))
    return None


def log_head(line: str, socket_path: str = SYSLOG) -> None:
    """Hand a line to the system log. StateError if nobody takes it."""
    try:
        handler = logging.handlers.SysLogHandler(socket_path, logging.handlers.SysLogHandler.LOG_AUTHPRIV)
    except OSError as fault:
        raise StateError(f"the system log at {socket_path} takes nothing: {fault.strerror}") from fault
    handler.ident = "mtclaw: "
    record = logging.LogRecord("mtclaw", logging.NOTSET + logging.INFO, "", 0, line, None, None)
    failures: list[str] = []

    def failed(record: logging.LogRecord) -> None:
        failures.append(f"it refused the line {record.getMessage()!r}")

    handler.handleError = failed  # type: ignore[method-assign]  # the way that logging offers
    handler.emit(record)
    handler.close()
    if failures:
        raise StateError(f"the system log at {socket_path} takes nothing: {failures[0]}")


def anchor_trouble(loaded: Loaded, socket_path: str = SYSLOG) -> str:
    """Why the head of the record could not be sent as things stand; empty if it could, or is not to be sent."""
    wanted = loaded.settings.audit.anchor
    if wanted is Anchor.OWNER and owner_chat(loaded) is None:
        return "the owner is on no bot's list, so the head of the record cannot be sent to them"
    if wanted is Anchor.SYSLOG:
        probe = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            probe.connect(str(Path(socket_path)))
        except OSError as fault:
            return f"the system log at {socket_path} takes nothing: {fault.strerror}"
        finally:
            probe.close()
    return ""
