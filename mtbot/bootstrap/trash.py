"""The trash of this host, built for the tools, for the chat's way back and for the command line."""

import os
from pathlib import Path

from mtbot.bootstrap.offline import Loaded, Office
from mtbot.bootstrap.system import RandomNames, home_directory
from mtbot.config.service import Driver
from mtbot.config.tools import TrashSettings
from mtbot.gate.undo import Ground, TrashKeeper
from mtbot.tools.trash_bin import HostBin
from mtbot.tools.trash_store import Bin, Limits, Trash


def trash_of(loaded: Loaded) -> Trash:
    """The trash beside the database; with PostgreSQL in this host's state directory."""
    storage = loaded.settings.storage
    if storage.driver is Driver.POSTGRES:
        return Trash(home_directory() / ".mtclaw" / "trash", loaded.clock.now_ms)
    return Trash(Path(os.path.realpath(storage.dsn)).parent / "trash", loaded.clock.now_ms)


def bin_of(loaded: Loaded, settings: TrashSettings) -> Bin:
    """The trash as a profile may use it."""
    return Bin(trash_of(loaded), Limits(settings.max_bytes, settings.keep_days))


def keeper_of(office: Office, ground: Ground | None = None) -> TrashKeeper:
    """Who brings back and empties, on record. Without ``ground`` for the owner of this host alone."""
    loaded = office.loaded
    trash = HostBin(trash_of(loaded))
    return TrashKeeper(trash, office.stores.trail, RandomNames(), loaded.clock, loaded.redactor, ground)
