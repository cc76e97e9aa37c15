"""The commands of a chat, built over an engine."""

from collections.abc import Callable

from mtbot.bootstrap.engine import Engine
from mtbot.bootstrap.system import short_host
from mtbot.domain.spending import Budgets
from mtbot.domain.turn import Inbound
from mtbot.gateway.afresh import Afresh
from mtbot.gateway.background import JobDesk
from mtbot.gateway.commands import About, Commands, CommandStores
from mtbot.gateway.conversations import ConversationCommands, Models
from mtbot.gateway.pins import PinDesk
from mtbot.gateway.standing import DayBooks, RecordCheck, Standing
from mtbot.gateway.usage import UsageReport
from mtbot.policy.people import People
from mtbot.storage.ledger import LedgerStore


def commands_of(engine: Engine, about: Callable[[Inbound], About], check: RecordCheck) -> Commands:
    """Every command; ``about`` tells what /start and /status say of a place, ``check`` how the record was found."""
    stores, clock = engine.office.stores, engine.loaded.clock

    def people() -> People:
        return engine.loaded.people

    def budgets() -> Budgets:
        return engine.loaded.settings.budgets.caps

    def models(inbound: Inbound) -> Models:
        agent = engine.profiles.of(inbound.address).settings.agent
        return Models(agent.model, tuple(agent.fallback_models), short_host())

    kept = CommandStores(stores.history, stores.consents, stores.inbox)
    commands = Commands(engine.desk, engine.lanes, kept, people, about, clock)
    commands.doing, commands.outward = engine.turns.doing, engine.places.outward
    books = DayBooks(stores.trail, stores.spending, LedgerStore(engine.office.db))
    commands.usage = UsageReport(stores.spending, budgets, clock, clock.date).of
    commands.standing = Standing(books, check, clock, budgets, (clock.midnight, clock.date)).of
    afresh = Afresh(
        stores.archives,
        (stores.history, stores.memories),
        clock,
        lambda: engine.loaded.settings.storage.earlier_conversations,
        commands.leave,
    )
    commands.afresh = afresh.new
    commands.add(*afresh.table)
    jobs = JobDesk(engine.jobs, stores.history, people, clock, engine.loaded.redactor)
    jobs.wake, engine.jobs.report = engine.wake, jobs.report
    commands.jobs = jobs
    commands.add(*jobs.table)
    commands.add(*PinDesk(stores.memories, people, clock, engine.loaded.redactor).table)
    commands.add(*ConversationCommands(stores.history, stores.inbox, engine.lanes, people, models, clock).table)
    return commands
