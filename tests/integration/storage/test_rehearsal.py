"""Writes that are done and undone, so that a first one need not wait for what it builds."""

import pytest
from sqlalchemy import select, text
from sqlmodel import Session

from mtbot.bootstrap.rehearsal import rehearse
from mtbot.domain.errors import StorageError
from mtbot.domain.ids import BotName, ChatId
from mtbot.domain.record import OutboxItem, OutKind
from mtbot.domain.turn import Address, SurfaceName
from mtbot.storage.engine import Database
from mtbot.storage.inbox import InboxStore
from mtbot.storage.tables import Base
from tests.integration.storage.samples import NOW, safe, update

PLACE = Address(SurfaceName.PRIVATE, BotName("ops"), ChatId(1))
ITEM = OutboxItem(OutKind.REPLY, PLACE, text=safe("done"))


def everything(session: Session) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table."""
    tables = Base.metadata.sorted_tables
    return {table.name: [tuple(row) for row in session.execute(select(table))] for table in tables}


async def test_what_is_rehearsed_leaves_nothing_behind(db: Database) -> None:
    """No row, no call behind it; a real write goes by before and after as ever, and its seal is the real one."""
    await InboxStore(db).store([update(1)], NOW)
    before = await db.read(everything)
    await rehearse(db, ITEM, NOW)
    assert await db.read(everything) == before
    stage, called = db.rehearsal(), list[object]()
    assert len(await InboxStore(stage).store([update(2)], NOW)) == 1
    await stage.write(lambda session: session.execute(text("DELETE FROM inbox")), after=called.append)
    assert called == []
    assert await db.read(everything) == before
    assert len(await InboxStore(db).store([update(2)], NOW)) == 1
    assert [row.payload for row in await InboxStore(db).waiting(BotName("ops"))] == [
        update(1).payload,
        update(2).payload,
    ]


async def test_nothing_is_rehearsed_on_the_record(db: Database) -> None:
    """Not even to be undone."""
    with pytest.raises(StorageError, match="what is rehearsed is not"):
        await db.rehearsal().transact(lambda wire: wire, print)


async def test_a_database_that_is_gone_is_no_reason_not_to_serve(db: Database) -> None:
    """Whoever speaks first hears of it."""
    await db.close()
    await rehearse(db, ITEM, NOW)
