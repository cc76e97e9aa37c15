"""What counts against an hour's limit although an earlier process did it."""

from typing import TYPE_CHECKING

from mtbot.domain.ids import UserId
from mtbot.domain.record import AuditEvent, EventKind
from mtbot.domain.turn import ActorKind
from mtbot.policy.limits import HOUR_MS, HourlyLimit

if TYPE_CHECKING:
    from mtbot.storage.inbox import InboxStore
    from mtbot.storage.trail import Trail


async def recall_turns(limit: HourlyLimit, inbox: "InboxStore", now_ms: int) -> None:
    """Count the turns that people began within the last hour. StorageError."""
    if limit.most:
        for who, at in await inbox.turns_since(now_ms - HOUR_MS):
            limit.count(who, at)


async def recall_questions(limit: HourlyLimit, trail: "Trail", now_ms: int) -> None:
    """Count the questions that the record has of the last hour, each for whose turn put it. StorageError.

    The record is read once, at the start; while it runs a process counts its own.
    """
    from mtbot.storage.events import CHUNK, EventFilter

    if not limit.most:
        return
    which = EventFilter(kind=EventKind.APPROVAL_REQUESTED, since_ms=now_ms - HOUR_MS)
    newest_first: list[AuditEvent] = []
    while page := await trail.page(which, before=newest_first[-1].seq if newest_first else None, limit=CHUNK):
        newest_first += page
    for event in reversed(newest_first):
        kind, _, number = event.draft.requester.partition(":")
        # what somebody has meddled with is told of by whoever verifies the record, and is no reason not to serve
        if kind == ActorKind.TELEGRAM and number.isdecimal():
            limit.count(UserId(int(number)), event.draft.at_ms)
