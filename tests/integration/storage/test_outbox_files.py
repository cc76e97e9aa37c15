"""A file in the outbox: sealed until it is delivered, whole when it comes out, wiped afterwards."""

from sqlalchemy import text

from mtbot.domain.record import Attachment, OutboxItem, OutKind
from mtbot.storage.engine import Database
from mtbot.storage.outbox import OutboxStore
from tests.integration.storage.samples import NOW, PRIVATE, safe

DATA = bytes(range(256)) * 40


async def test_a_file_comes_out_as_it_went_in_and_is_wiped(db: Database) -> None:
    """No byte of it can be read in the row, and none is left when it is sent."""
    outbox = OutboxStore(db, safe)
    item = OutboxItem(
        OutKind.NOTICE, PRIVATE, text=safe("File: /srv/a.png"), file=Attachment(safe("a.png"), DATA, readable=False)
    )
    await outbox.put(item, now_ms=NOW)
    (row,) = await outbox.next(["private"], NOW)
    assert row.item == item
    sealed = await db.read(lambda session: session.connection().execute(text("SELECT sealed FROM outbox")).scalar_one())
    assert DATA[:32] not in bytes(sealed)
    assert b"a.png" not in bytes(sealed)
    await outbox.claim(row.id)
    await outbox.sent(row.id, 7)
    left = await db.read(lambda session: session.connection().execute(text("SELECT sealed FROM outbox")).scalar_one())
    assert left is None


async def test_text_in_a_file_passes_the_mask_once_more(db: Database) -> None:
    """A secret that became known meanwhile, or a forged row: it does not get out; other bytes are left as they are."""
    outbox = OutboxStore(db, lambda raw: safe(raw.replace("swordfish", "***")))
    for readable in (True, False):
        file = Attachment(safe("swordfish.txt"), b"a swordfish", readable)
        await outbox.put(OutboxItem(OutKind.NOTICE, PRIVATE, file=file), now_ms=NOW)
        (row,) = await outbox.next(["private"], NOW)
        assert row.item.file == Attachment(safe("***.txt"), b"a ***" if readable else b"a swordfish", readable)
        await outbox.claim(row.id)
        await outbox.sent(row.id, 7)
