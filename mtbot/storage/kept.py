"""Kept calls as rows: written with a start, gone with its end, wiped by whoever deals with what a crash left of them."""

from sqlalchemy import bindparam, delete, exists, update
from sqlalchemy import select as columns
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, insert

from mtbot.audit import ENDS
from mtbot.domain.again import Keep, KeptCall, KeptState, Standing
from mtbot.domain.errors import NotUsable, SealError
from mtbot.domain.ids import SessionId
from mtbot.domain.record import AuditEvent
from mtbot.domain.turn import Actor
from mtbot.storage.engine import Database
from mtbot.storage.kept_tables import KeptRow
from mtbot.storage.seal import Seal
from mtbot.storage.tables import EventRow
from mtbot.storage.wire import Prepared, Wire

_TABLE = "kept_calls"
_WANTED = col(KeptRow.seq) == bindparam("wanted")

_KEEP = Prepared(insert(KeptRow), *KeptRow.model_fields)
_END = Prepared(delete(KeptRow).where(_WANTED))
_STANDING = Prepared(columns(col(KeptRow.state), col(KeptRow.turn)).where(_WANTED).with_for_update())
_ASK = Prepared(update(KeptRow).where(_WANTED), "state", "sealed", "turn", "actor", "at_ms")

_WHY = {
    KeptState.ASKED: "it was asked for again already",
    KeptState.DISMISSED: "it was dismissed meanwhile",
    KeptState.CLEARED: "this conversation was begun anew since",
}


class KeptStore:
    """Implements KeptCalls."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def standing(self, start: int) -> Standing | None:
        """Where it stands, and the call while it is KEPT; None if nothing is known of it (any more). StorageError."""
        row = await self._db.read(lambda session: session.get(KeptRow, start))
        if row is None:
            return None
        call = None if row.sealed is None else self._opened(row.sealed, start)
        return Standing(KeptState(row.state), row.actor, row.at_ms, call)

    def _opened(self, sealed: bytes, start: int) -> KeptCall | None:
        try:
            return KeptCall.from_json(self._db.seal.open(sealed, _TABLE, start))
        except (SealError, KeyError, TypeError, ValueError):
            return None

    async def dismiss(self, start: int, by: Actor, at_ms: int) -> None:
        """Wipe it, if it is still KEPT. StorageError."""
        wiping = (
            update(KeptRow)
            .where(col(KeptRow.seq) == start, col(KeptRow.state) == KeptState.KEPT)
            .values(state=KeptState.DISMISSED, sealed=None, actor=by.key, at_ms=at_ms)
        )

        def work(session: Session) -> None:
            session.execute(wiping)

        await self._db.write(work)


def keep(wire: Wire, seal: Seal, event: AuditEvent, wanted: Keep) -> None:
    """Keep the call of that start, in its transaction."""
    if wanted.call is None:
        return
    row = {
        "seq": event.seq,
        "session": event.draft.session,
        "state": KeptState.KEPT,
        "sealed": seal.close(wanted.call.to_json(), _TABLE, event.seq),
        "turn": "",
        "actor": wanted.call.requester,
        "at_ms": event.draft.at_ms,
    }
    wire.run(_KEEP, row)


def asks_again(wire: Wire, start: int, turn: str, by: str, at_ms: int) -> None:
    """Wipe the kept call that ``turn`` asks for again, in the transaction of its question or of its start.

    Twice for the same turn is once. NotUsable if somebody else has dealt with it: then nothing is asked and nothing runs.
    """
    row = wire.run(_STANDING, {"wanted": start})
    if row is None or (row[0] == KeptState.ASKED and row[1] == turn):
        return
    if row[0] != KeptState.KEPT:
        raise NotUsable("again", _WHY[KeptState(row[0])])
    wire.run(
        _ASK,
        {"wanted": start, "state": KeptState.ASKED, "sealed": None, "turn": turn, "actor": by, "at_ms": at_ms},
    )


def over(wire: Wire, start: int) -> None:
    """The call of that start has ended, and nothing of it is kept any more; part of the transaction of its end."""
    wire.run(_END, {"wanted": start})


def clear(session: Session, wanted: SessionId) -> None:
    """Wipe what is kept of a conversation that is begun anew; what was cut off there cannot be asked for again.

    A call without an end is not the conversation's alone: a job goes on behind it, and a crash may yet cut it off.
    """
    end = aliased(EventRow)
    ended = exists().where(
        col(EventRow.seq) == col(KeptRow.seq), col(end.call) == col(EventRow.call), col(end.kind).in_(ENDS)
    )
    session.execute(
        update(KeptRow)
        .where(col(KeptRow.session) == wanted, col(KeptRow.state) == KeptState.KEPT, ended)
        .values(state=KeptState.CLEARED, sealed=None, actor="")
    )
