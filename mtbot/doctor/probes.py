"""Gather what the checks judge: files, database, lock, Telegram, model, this host. Looks, and changes nothing.

Every probe turns its failure into a value; none raises.
"""

import os
import stat
from dataclasses import dataclass, field, replace
from pathlib import Path

from mtbot.bootstrap.account import account_for_commands, exposed
from mtbot.bootstrap.chores import anchor_trouble
from mtbot.bootstrap.offline import Loaded, look, place_of
from mtbot.bootstrap.system import user_name
from mtbot.config.settings import Profile
from mtbot.doctor.containment import ProfileHeld, held_here, profiles_held
from mtbot.doctor.gateway import GatewayFound, ask_state
from mtbot.domain.errors import ChannelError, ConfigError, MtclawError, ProviderError, StorageError
from mtbot.domain.grant import Grant
from mtbot.domain.ids import BotName
from mtbot.domain.process import Containment


@dataclass(frozen=True, slots=True)
class PathFound:
    """A path of the configuration and what lies there."""

    key: str
    path: str
    exists: bool
    directory: bool
    readable: bool
    writable: bool
    executable: bool


@dataclass(frozen=True, slots=True)
class BotFound:
    """What Telegram says of a bot: its username, or why not."""

    name: str
    username: str = ""
    reads_groups: bool = False
    fault: str = ""


@dataclass(frozen=True, slots=True)
class ModelFound:
    """What a provider says: whether it answered, whether it lists the wanted model."""

    provider: str
    model: str
    fault: str = ""
    listed: bool = False
    has_key: bool = True


@dataclass(frozen=True, slots=True)
class DatabaseFound:
    """The database: its state in words, the record in it, the ``grants`` that hold. ``fault`` empty: usable. ``absent``: not made yet."""

    label: str
    absent: bool = False
    fault: str = ""
    chain_fault: str = ""
    events: int = 0
    pending: int = 0
    grants: tuple[Grant, ...] = ()
    holder: str | None = None


@dataclass(frozen=True, slots=True)
class AccountFound:
    """Who commands run as, where it is not the gateway's own user: ``faults`` say why that cannot be.

    ``exposed`` are files of mtclaw's own that it can get at all the same.
    """

    name: str = ""
    faults: tuple[str, ...] = ()
    exposed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything that was looked at."""

    loaded: Loaded
    config_mode: int
    state_directory: PathFound
    paths: tuple[PathFound, ...]
    database: DatabaseFound
    bots: tuple[BotFound, ...] = ()
    models: tuple[ModelFound, ...] = ()
    root: bool = False
    user: str = ""
    overdue: tuple[tuple[str, str], ...] = field(default=())
    anchor_trouble: str = ""
    held: Containment = Containment(missing=("it was not tried",))
    profiles: tuple[ProfileHeld, ...] = ()
    gateway: GatewayFound = GatewayFound()
    account: AccountFound = AccountFound()


async def gather(loaded: Loaded, *, network: bool = True) -> Gathered:
    """Look at everything; ``network`` False leaves Telegram and the model alone."""
    settings = loaded.settings
    return Gathered(
        loaded=loaded,
        config_mode=_mode(settings.file),
        state_directory=_path("storage.dsn", str(_state_directory(loaded))),
        paths=tuple(_paths(settings.base)),
        database=await _database(loaded),
        bots=await _bots(loaded) if network else (),
        models=await _models(loaded) if network else (),
        root=os.geteuid() == 0,
        user=user_name(),
        overdue=_jobs(loaded),
        anchor_trouble=anchor_trouble(loaded),
        held=await held_here(loaded),
        profiles=profiles_held(loaded),
        gateway=ask_state(loaded),
        account=_account(loaded),
    )


def _account(loaded: Loaded) -> AccountFound:
    name = loaded.settings.base.tools.exec.user
    try:
        account = account_for_commands(loaded.settings)
    except ConfigError as error:
        return AccountFound(name, error.problems)
    return AccountFound() if account is None else AccountFound(name, exposed=exposed(loaded.settings, account))


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0


def _state_directory(loaded: Loaded) -> Path:
    """The directory that the database lies in, or its nearest existing ancestor."""
    directory = place_of(loaded).lock.parent
    while not directory.exists() and directory != directory.parent:
        directory = directory.parent
    return directory


def _path(key: str, text: str) -> PathFound:
    path = Path(text)
    return PathFound(
        key,
        text,
        exists=path.exists(),
        directory=path.is_dir(),
        readable=os.access(path, os.R_OK),
        writable=os.access(path, os.W_OK),
        executable=os.access(path, os.X_OK),
    )


def _paths(profile: Profile) -> list[PathFound]:
    found = [_path("agent.workspace", str(profile.agent.workspace))]
    found += [_path("tools.filesystem.roots", str(root.path)) for root in profile.tools.filesystem.roots]
    found += [_path("agent.system_prompt_files", str(path)) for path in profile.agent.system_prompt_files]
    if profile.tools.exec.enabled:
        found.append(_path("tools.exec.cwd", str(profile.tools.exec.cwd)))
        found.append(_path("tools.exec.shell", profile.tools.exec.shell[0]))
    return found


async def _database(loaded: Loaded) -> DatabaseFound:
    from mtbot.storage.lock import InstanceLock

    place = place_of(loaded)
    holder: str | None = None
    try:
        holder = InstanceLock(place.lock).holder()
    except MtclawError as error:
        return DatabaseFound(place.label, fault=str(error))
    try:
        office = await look(loaded)
    except StorageError as error:
        absent = error.message.startswith("no database yet")
        return DatabaseFound(place.label, absent=absent, fault="" if absent else str(error), holder=holder)
    except MtclawError as error:
        return DatabaseFound(place.label, fault=str(error), holder=holder)
    try:
        report = await office.stores.trail.verify()
        pending = await office.stores.consents.pending()
        grants = await office.desk.grants.all()
        fault = "" if report.fault is None else str(report.fault)
        found = DatabaseFound(place.label, chain_fault=fault, events=report.events, grants=grants, holder=holder)
        return replace(found, pending=len(pending))
    except MtclawError as error:
        return DatabaseFound(place.label, fault=str(error), holder=holder)
    finally:
        await office.close()


async def _bots(loaded: Loaded) -> tuple[BotFound, ...]:
    from mtbot.bootstrap.bots import open_transport
    from mtbot.channels.telegram.account import who_am_i

    found = []
    telegram = loaded.settings.channels.telegram
    for name in telegram.bots if telegram.enabled else ():
        try:
            transport = open_transport(loaded, BotName(name))
        except ConfigError as error:
            found.append(BotFound(name, fault="; ".join(error.problems)))
            continue
        try:
            me = await who_am_i(transport)
            found.append(BotFound(name, username=me.username))
        except ChannelError as error:
            found.append(BotFound(name, fault=str(error)))
        finally:
            await transport.close()
    return tuple(found)


async def _models(loaded: Loaded) -> tuple[ModelFound, ...]:
    from mtbot.bootstrap.engine import Providers

    settings = loaded.settings
    providers = Providers(settings, loaded.secrets, loaded.missing, loaded.redactor.mask)
    profiles = (settings.base, *settings.profiles.values())
    wanted = {ref for profile in profiles for ref in settings.model_refs(profile.agent)}
    found = []
    try:
        for ref in sorted(wanted, key=lambda one: (one.provider, one.model)):
            try:
                listed = await providers.get(ref.provider, retries=0).models()
            except ConfigError as error:
                found.append(ModelFound(ref.provider, ref.model, fault="; ".join(error.problems), has_key=False))
            except ProviderError as error:
                found.append(ModelFound(ref.provider, ref.model, fault=str(error)))
            else:
                found.append(ModelFound(ref.provider, ref.model, listed=ref.model in listed))
    finally:
        await providers.close()
    return tuple(found)


def _jobs(loaded: Loaded) -> tuple[tuple[str, str], ...]:
    from mtbot.bootstrap.online import jobs_of

    now = loaded.clock.now_ms()
    return tuple(
        (job.name, job.schedule.describe(job.schedule.next_after(now), now)) for job in jobs_of(loaded) if job.enabled
    )
