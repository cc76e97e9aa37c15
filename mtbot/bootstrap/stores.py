"""All stores of one open database, built together because they share its chain."""

from collections.abc import Callable
from dataclasses import dataclass

from mtbot.domain.ids import SafeText
from mtbot.storage.archive import ArchiveStore
from mtbot.storage.chain import Chain
from mtbot.storage.chats import ChatStore
from mtbot.storage.consent import ConsentStore
from mtbot.storage.cron_runs import CronRunStore
from mtbot.storage.edits import EditStore
from mtbot.storage.engine import Database
from mtbot.storage.grants import GrantStore
from mtbot.storage.history import HistoryStore
from mtbot.storage.host_runs import HostRunStore
from mtbot.storage.inbox import InboxStore
from mtbot.storage.kept import KeptStore
from mtbot.storage.leases import LeaseStore
from mtbot.storage.maintenance import Maintenance
from mtbot.storage.memory import MemoryStore
from mtbot.storage.outbox import OutboxStore
from mtbot.storage.pairing import PairingStore
from mtbot.storage.senders import SenderStore
from mtbot.storage.spending import SpendingStore
from mtbot.storage.statuses import StatusStore
from mtbot.storage.trail import Trail


@dataclass(frozen=True, slots=True)
class Stores:
    """Everything that reads and writes one database."""

    trail: Trail
    consents: ConsentStore
    grants: GrantStore
    history: HistoryStore
    inbox: InboxStore
    outbox: OutboxStore
    leases: LeaseStore
    cron_runs: CronRunStore
    edits: EditStore
    chats: ChatStore
    pairings: PairingStore
    senders: SenderStore
    spending: SpendingStore
    memories: MemoryStore
    statuses: StatusStore
    archives: ArchiveStore
    host_runs: HostRunStore
    kept: KeptStore


def stores_of(db: Database, mask: Callable[[str], SafeText]) -> Stores:
    """The stores of ``db``; texts that come out of it pass ``mask`` once more."""
    chain = Chain(db)
    consents = ConsentStore(db, chain, mask)
    return Stores(
        trail=Trail(db, chain),
        consents=consents,
        grants=GrantStore(db, chain),
        history=HistoryStore(db),
        inbox=InboxStore(db),
        outbox=OutboxStore(db, mask),
        leases=LeaseStore(db),
        cron_runs=CronRunStore(db),
        edits=EditStore(db),
        chats=ChatStore(db, mask),
        pairings=PairingStore(db),
        senders=SenderStore(db),
        spending=SpendingStore(db),
        memories=MemoryStore(db),
        statuses=StatusStore(db),
        archives=ArchiveStore(db),
        host_runs=HostRunStore(db, chain, consents, mask),
        kept=KeptStore(db),
    )


def maintenance_of(db: Database) -> Maintenance:
    """What keeps ``db`` in order."""
    return Maintenance(db, lambda copy: Trail(copy, Chain(copy)))
