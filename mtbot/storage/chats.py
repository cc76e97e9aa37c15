"""What is remembered of chats, as marks: where groups moved to, and what their owner was told about them."""

import json
from types import MappingProxyType

from sqlalchemy import delete, update
from sqlmodel import Session, col, select

from mtbot.domain.chats import Moves
from mtbot.domain.errors import StorageError
from mtbot.domain.ids import ApprovalId, BotName, ChatId
from mtbot.domain.record import ApprovalState, Card, OutboxItem, OutKind
from mtbot.storage.columns import Mask, place_of, queue
from mtbot.storage.engine import Database
from mtbot.storage.inserting import insert_if_new
from mtbot.storage.tables import ApprovalRow, MarkRow

_MOVED = "moved:"
_TOLD = "told:"


class ChatStore:
    """Implements ChatBook; card texts that come out pass ``mask`` once more."""

    def __init__(self, db: Database, mask: Mask) -> None:
        self._db = db
        self._mask = mask

    async def moves(self) -> Moves:
        """Every move, by bot and the id by which the group is known. StorageError."""
        statement = select(MarkRow).where(col(MarkRow.name).startswith(_MOVED, autoescape=True))
        rows = await self._db.read(lambda session: session.exec(statement).all())
        found = {}
        for row in rows:
            bot, _, chat = row.name.removeprefix(_MOVED).rpartition(":")
            try:
                found[BotName(bot), ChatId(int(chat))] = ChatId(int(row.value))
            except ValueError as fault:
                raise StorageError(f"the mark {row.name} cannot be read") from fault
        return MappingProxyType(found)

    async def moved(self, bot: BotName, old: ChatId, new: ChatId, now_ms: int) -> bool:
        """Remember a move, once. Messages of the old chat are out of reach, so its open questions are asked anew.

        StorageError.
        """

        def work(session: Session) -> bool:
            if not insert_if_new(session, MarkRow(name=f"{_MOVED}{bot}:{old}", value=str(new))):
                return False
            there = (col(ApprovalRow.place_bot) == bot, col(ApprovalRow.place_chat) == old)
            asked = select(ApprovalRow).where(*there).where(ApprovalRow.state == ApprovalState.PENDING)
            shown = session.exec(asked.where(col(ApprovalRow.message).is_not(None))).all()
            queue(session, self._db.seal, [self._again(row) for row in shown], now_ms)
            session.execute(update(ApprovalRow).where(*there).values(message=None))
            return True

        return await self._db.write(work)

    async def tell_once(self, bot: BotName, chat: ChatId, item: OutboxItem, now_ms: int) -> bool:
        """Queue ``item`` unless that was done since the last ``forget``. StorageError."""

        def work(session: Session) -> bool:
            if not insert_if_new(session, MarkRow(name=f"{_TOLD}{bot}:{chat}", value=str(now_ms))):
                return False
            queue(session, self._db.seal, (item,), now_ms)
            return True

        return await self._db.write(work)

    async def forget(self, bot: BotName, chat: ChatId) -> None:
        """What was told about that chat is over. StorageError."""
        statement = delete(MarkRow).where(col(MarkRow.name) == f"{_TOLD}{bot}:{chat}")
        await self._db.write(lambda session: session.execute(statement))

    def _again(self, row: ApprovalRow) -> OutboxItem:
        try:
            card = Card.from_dict(json.loads(row.card), self._mask)
        except (KeyError, TypeError, ValueError) as fault:
            raise StorageError(f"the card of #{row.id} cannot be read: {fault!r}") from fault
        return OutboxItem(OutKind.CARD, place_of(row), card=card, approval=ApprovalId(row.id))
