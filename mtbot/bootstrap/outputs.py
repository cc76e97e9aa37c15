"""Whole outputs, built for the tools, for the chats and for the command line."""

import asyncio
import os
from pathlib import Path

from mtbot.bootstrap.offline import Loaded
from mtbot.bootstrap.system import RandomNames, home_directory
from mtbot.config.service import Driver
from mtbot.domain.errors import StateError
from mtbot.processes.whole_output import Limits, OutputFiles


def outputs_of(loaded: Loaded) -> OutputFiles:
    """Beside the database; with PostgreSQL in this host's state directory."""
    storage, names = loaded.settings.storage, RandomNames()
    postgres = storage.driver is Driver.POSTGRES
    state = home_directory() / ".mtclaw" if postgres else Path(os.path.realpath(storage.dsn)).parent
    limits = Limits(storage.output_bytes, storage.output_total_bytes, storage.output_days)
    return OutputFiles(state / "outputs", limits, loaded.redactor.stream, names.approval, loaded.clock.now_ms)


async def expire_outputs(loaded: Loaded) -> int:
    """Remove whole outputs that were kept for long enough; how many. StateError."""
    try:
        return await asyncio.to_thread(outputs_of(loaded).expire)
    except OSError as fault:
        raise StateError(f"the outputs that are kept cannot be looked through: {fault.strerror}") from fault
