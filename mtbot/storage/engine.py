"""A database opened once: checked, current, and worked on by one thread with two connections.

The durable connection (synchronous=FULL) carries audit, approvals, inbox, outbox and cron claims; the swift one
(NORMAL) carries reads, leases and plain history, where losing the last second in a power cut costs nothing. Opening
for reading neither creates nor changes anything; opening for writing creates or migrates, and refuses a damaged file.
"""

import copy
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Engine
from sqlmodel import Session

from mtbot.domain.errors import SealError, StorageError
from mtbot.storage.connections import BUSY_S, Mode, explain
from mtbot.storage.instance import Instance, this_instance
from mtbot.storage.opening import Opened, open_reading, open_writing
from mtbot.storage.place import Place
from mtbot.storage.seal import Seal, read_key
from mtbot.storage.wire import Wire, transaction
from mtbot.storage.writer import Writer

T = TypeVar("T")

DEADLINE_S = 2 * BUSY_S
"""No piece of work is waited for longer than this."""


class Database:
    """An open database. Use ``open_for_writing`` or ``open_read_only``; ``close`` when done.

    ``current`` is False for an older schema, which can only be met when reading. ``instance`` signs what is written, and
    ``keeps`` is False where it is undone.
    """

    def __init__(self, place: Place, writer: Writer, opened: Opened, instance: Instance) -> None:
        self.place = place
        self.instance = instance
        self.current = opened.current
        self._writer = writer
        self._pair = opened.pair
        self._seal = opened.seal
        self.keeps = True

    @classmethod
    async def open_for_writing(cls, place: Place, *, create: bool = True) -> "Database":
        """Create (unless ``create`` is False) or migrate, check for damage, load the sealing key.

        StorageError, SchemaError or SealError, each one line that says what to do; what exists is then unchanged.
        """
        return await cls._open(place, lambda: open_writing(place, create=create))

    @classmethod
    async def open_read_only(cls, place: Place) -> "Database":
        """Open what is there, also an older schema. StorageError ("no database yet at ..."), SchemaError for a newer."""
        return await cls._open(place, lambda: open_reading(place))

    @classmethod
    async def _open(cls, place: Place, opening: Callable[[], Opened]) -> "Database":
        writer = Writer("mtclaw-storage")
        try:
            opened = await writer.run(opening)
        except BaseException:
            writer.close()
            raise
        return cls(place, writer, opened, this_instance())

    @property
    def seal(self) -> Seal:
        """What closes and opens boxes. SealError when the key cannot be used; looking at the rest needs none."""
        if self._seal is None:
            self._seal = read_key(self.place.key)
        if self._seal is None:
            raise SealError(f"the key file {self.place.key} is missing", hint="put back the copy from your backup")
        return self._seal

    async def write(
        self, work: Callable[[Session], T], *, durable: bool = True, after: Callable[[T], None] | None = None
    ) -> T:
        """The result of ``work`` in one transaction, on disk when this returns (``durable``).

        ``after`` gets the result in the same thread once it is committed. What ``work`` raises on purpose undoes
        everything; faults of the database are StorageError.
        """
        engine = self._writing(durable=durable)

        def transact() -> T:
            with explain(self.place), Session(engine, expire_on_commit=False) as session, session.begin():
                result = work(session)
                if not self.keeps:
                    session.rollback()
            if after is not None and self.keeps:
                after(result)
            return result

        return await self._writer.run(transact, DEADLINE_S)

    def rehearsal(self) -> "Database":
        """The same database, but whatever is written to it is undone: so a first write need not wait for what it builds.

        The record is no place to rehearse in: ``transact`` is refused.
        """
        twin = copy.copy(self)
        twin.keeps = False
        return twin

    async def transact(self, work: Callable[[Wire], T], after: Callable[[T], None]) -> T:
        """``write``, durably, on the driver itself."""
        if not self.keeps:
            raise StorageError("this would be on record, and what is rehearsed is not")
        engine = self._writing(durable=True)

        def transact() -> T:
            with explain(self.place), transaction(engine) as wire:
                result = work(wire)
            after(result)
            return result

        return await self._writer.run(transact, DEADLINE_S)

    def _writing(self, *, durable: bool) -> Engine:
        if self._pair.mode is Mode.READING:
            raise StorageError(f"{self.place.label} is open for reading only")
        return self._pair.durable if durable else self._pair.swift

    async def read(self, work: Callable[[Session], T]) -> T:
        """The result of ``work`` on one consistent view. StorageError, also for what an older schema does not hold."""

        def look() -> T:
            try:
                with explain(self.place), Session(self._pair.reading) as session:
                    return work(session)
            except StorageError as fault:
                if self.current:
                    raise
                older = "an older mtclaw made this database; the next start of the gateway brings it up to date"
                raise StorageError(fault.message, hint=older) from fault

        try:
            return await self._writer.run(look, DEADLINE_S)
        except StorageError as error:
            if self.current:
                raise
            raise StorageError(
                f"{self.place.label} is of an older mtclaw, and what was asked for is not in it",
                hint="`mtclaw gateway` brings it up to date when it starts, `mtclaw db prune` does so at once",
            ) from error

    async def close(self) -> None:
        """Finish what is queued and let the files go; a second call does nothing."""
        if self._writer.closed:
            return
        await self._writer.run(self._pair.dispose)
        self._writer.close()
