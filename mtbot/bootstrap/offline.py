"""Build what needs no network: configuration, redactor, database, record, desk. Loads neither aiogram nor httpx.

The commands that only look use ``look``; what writes uses ``work``. Both give back one value that owns the database
and must be closed.
"""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mtbot.bootstrap.system import RandomNames, SystemClock, home_directory, short_host, user_name
from mtbot.config.load import Located, load, locate
from mtbot.config.proxy import password_of
from mtbot.config.secrets import Secret, resolve_dsn, resolve_secret
from mtbot.config.service import Driver
from mtbot.config.settings import Settings
from mtbot.domain.errors import ConfigError
from mtbot.domain.turn import Address, SurfaceName
from mtbot.policy.people import People
from mtbot.redaction.environment import secret_env_names
from mtbot.redaction.mask import Redactor

if TYPE_CHECKING:
    from mtbot.approvals.card import Cards
    from mtbot.approvals.desk import Desk
    from mtbot.bootstrap.stores import Stores
    from mtbot.storage.engine import Database
    from mtbot.storage.glance import Glance
    from mtbot.storage.place import Place


@dataclass(frozen=True, slots=True)
class Loaded:
    """The configuration and what follows from it alone."""

    settings: Settings
    located: Located
    redactor: Redactor
    secrets: Mapping[str, Secret]
    missing: tuple[str, ...]
    clock: SystemClock
    people: People

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should hear once."""
        found = (*self.located.warnings, *self.settings.warnings)
        return (*found, *(secret.warning for secret in self.secrets.values() if secret.warning))


def read_settings(path: Path, environ: Mapping[str, str], home: Path) -> Settings:
    """The configuration at ``path``, with rules and schedules checked by those who know them. ConfigError."""
    from mtbot.config.known import known_rules, regex_problem
    from mtbot.cron.schedule import schedule_problem

    return load(path, environ, home, known_rules(), regex_problem=regex_problem, schedule_problem=schedule_problem)


def load_all(flag: str | None, log_level: str | None = None, environ: Mapping[str, str] = os.environ) -> Loaded:
    """Find, read and compile the configuration; resolve every secret that is there (``missing`` says what is not)."""
    from mtbot.config.people import compile_people
    from mtbot.config.service import LogLevel

    located = locate(flag, environ, home_directory())
    settings = read_settings(located.path, environ, home_directory())
    if log_level is not None:
        word = "warn" if log_level.lower() == "warning" else log_level.lower()
        if word not in {level.value for level in LogLevel}:
            raise ConfigError((f"--log-level: must be debug, info, warn or error, not {log_level}",))
        settings = replace(settings, log=settings.log.model_copy(update={"level": LogLevel(word)}))
    found: dict[str, Secret] = {}
    missing: list[str] = []
    for ref in settings.secret_refs():
        if ref.key.startswith("channels.telegram.") and not settings.channels.telegram.enabled:
            continue
        try:
            found[ref.key] = resolve_secret(ref, environ)
        except ConfigError as error:
            missing.append(str(error))
    values = {key: secret.value for key, secret in found.items() if secret.value}
    values |= {f"{key} password": password for key, value in values.items() if (password := password_of(value))}
    redactor = Redactor({**secret_env_names(environ), **values}, _mask_key(settings))
    return Loaded(
        settings, located, redactor, found, tuple(missing), SystemClock(settings.zone), compile_people(settings)
    )


def _mask_key(settings: Settings) -> bytes:
    """What fingerprints are keyed with: the sealing key's file if it is there, so that masks of one value stay alike."""
    if settings.storage.driver is Driver.POSTGRES:
        beside = home_directory() / ".mtclaw" / "mtclaw.key"
    else:
        beside = Path(f"{settings.storage.dsn}.key")
    try:
        return beside.read_bytes()[:64] or secrets.token_bytes(32)
    except (OSError, ValueError):
        return secrets.token_bytes(32)


def place_of(loaded: Loaded) -> "Place":
    """Where the database lies."""
    from mtbot.storage.place import PostgresPlace, sqlite_place

    storage = loaded.settings.storage
    if storage.driver is Driver.POSTGRES:
        dsn = resolve_dsn(storage, os.environ)
        return PostgresPlace(dsn, home_directory() / ".mtclaw")
    return sqlite_place(storage.dsn)


@dataclass(slots=True)
class Current:
    """The configuration that counts now; a reload puts another one in its place, whole."""

    loaded: Loaded


@dataclass(frozen=True, slots=True)
class Office:
    """An open database with everything that works on it."""

    current: Current
    db: "Database"
    stores: "Stores"
    desk: "Desk"
    cards: "Cards"

    @property
    def loaded(self) -> Loaded:
        """The configuration as it counts now."""
        return self.current.loaded

    async def close(self) -> None:
        """Close the database."""
        await self.db.close()


def glance(loaded: Loaded) -> "Glance | None":
    """The record alone, swiftly; None where only ``look`` can open it, or say why nobody can."""
    from mtbot.storage.glance import Glance

    return Glance.open(place_of(loaded))


async def look(loaded: Loaded) -> Office:
    """Open what is there for reading; StorageError "no database yet at ..." if there is nothing."""
    from mtbot.storage.engine import Database

    db = await Database.open_read_only(place_of(loaded))
    return await _office_of(loaded, db)


async def work(loaded: Loaded, *, create: bool = True) -> Office:
    """Open for writing, creating or migrating where needed."""
    from mtbot.storage.engine import Database

    db = await Database.open_for_writing(place_of(loaded), create=create)
    return await _office_of(loaded, db)


async def _office_of(loaded: Loaded, db: "Database") -> Office:
    try:
        return _office(await following(loaded, db), db)
    except BaseException:
        await db.close()
        raise


async def following(loaded: Loaded, db: "Database") -> Loaded:
    """The configuration, with the groups that moved since it was written. StorageError, and ``db`` stays open."""
    from mtbot.storage.chats import ChatStore

    moves = await ChatStore(db, loaded.redactor.mask).moves()
    return replace(loaded, people=loaded.people.following(moves)) if moves else loaded


def _office(loaded: Loaded, db: "Database") -> Office:
    from mtbot.approvals.card import Cards, Place
    from mtbot.approvals.desk import Desk, DeskStores
    from mtbot.bootstrap.stores import stores_of

    stores = stores_of(db, loaded.redactor.mask)
    cards = Cards(Place(short_host(), user_name(), loaded.settings.base.tools.exec.user), loaded.clock, loaded.redactor)
    current = Current(loaded)
    desk = Desk(
        DeskStores(stores.consents, stores.outbox, stores.grants),
        lambda: current.loaded.people,
        cards,
        loaded.clock,
        RandomNames(),
        lambda address: round(_open_for(current.loaded, address) * 1000),
    )
    desk.grants.minutes = lambda address: _grant_minutes(current.loaded, address)
    return Office(current, db, stores, desk, cards)


def _open_for(loaded: Loaded, address: Address) -> float:
    """For how many seconds a question of a turn at ``address`` may be answered."""
    if address.surface is SurfaceName.CRON:
        return loaded.settings.cron.approval_timeout
    return loaded.settings.profile_for(_bot(loaded, address.bot)).tools.exec.approval_timeout


def _grant_minutes(loaded: Loaded, address: Address) -> int:
    """For how many minutes an exact command may be approved at ``address``."""
    return loaded.settings.profile_for(_bot(loaded, address.bot)).tools.exec.grant_minutes


def _bot(loaded: Loaded, name: str) -> str | None:
    return name if name in loaded.settings.channels.telegram.bots else None
