"""Occurrences of jobs: each happens once, and its end is written once, whoever dies in between."""

import asyncio

import pytest

from mtbot.domain.ids import ApprovalId, BotName, ChatId, SessionId, TurnId
from mtbot.domain.jobs import RunEnd
from mtbot.domain.ports import TurnFlush
from mtbot.domain.record import CronRun, CronStatus
from mtbot.domain.turn import Address, SurfaceName, Usage
from mtbot.storage.chain import Chain
from mtbot.storage.consent import ConsentStore
from mtbot.storage.cron_runs import CronRunStore
from mtbot.storage.engine import Database
from mtbot.storage.history import HistoryStore
from mtbot.storage.place import Place
from mtbot.storage.trail import Trail
from tests.integration.storage.samples import (
    NOW,
    approval,
    asked,
    dead,
    question,
    resolved,
    start,
    turn_state,
    yes,
)


@pytest.fixture
def cron(db: Database) -> CronRunStore:
    """The runs of jobs."""
    return CronRunStore(db)


class TestCronRuns:
    """Occurrences."""

    JOB = SessionId("cron:job:nightly")

    async def test_an_occurrence_is_claimed_once(self, place: Place, cron: CronRunStore) -> None:
        """Whoever looks at the clock first, in whatever process."""
        other = await Database.open_for_writing(place)
        second = CronRunStore(other)
        claims = await asyncio.gather(
            *((cron, second)[n % 2].claim("nightly", NOW, self.JOB, NOW + n) for n in range(10))
        )
        await other.close()
        (run,) = [one for one in claims if one is not None]
        last = await cron.last("nightly")
        assert last is not None
        assert (last.id, last.status, last.due_ms) == (run, CronStatus.STARTED, NOW)

    async def test_a_run_is_closed_once(self, cron: CronRunStore) -> None:
        """A later word about a closed run changes nothing."""
        run = await cron.claim("nightly", NOW, self.JOB, NOW)
        assert run is not None
        assert await cron.finish(RunEnd(self.JOB, CronStatus.ERROR, "no answer"), NOW + 9)
        assert not await cron.finish(RunEnd(self.JOB, CronStatus.OK), NOW + 10)
        assert await cron.last("nightly") == CronRun(
            run, "nightly", NOW, self.JOB, CronStatus.ERROR, NOW, NOW + 9, "no answer"
        )
        with pytest.raises(ValueError, match="not started"):
            await cron.finish(RunEnd(self.JOB, CronStatus.STARTED), NOW)

    async def test_what_did_not_run_is_on_record(self, cron: CronRunStore) -> None:
        """Once, and never over a run."""
        await cron.skipped("nightly", NOW, self.JOB, NOW + 1, "the last run still runs")
        await cron.skipped("nightly", NOW, self.JOB, NOW + 2, "again")
        assert await cron.claim("nightly", NOW, self.JOB, NOW + 3) is None
        last = await cron.last("nightly")
        assert last is not None
        assert (last.status, last.finished_ms, last.error) == (CronStatus.SKIPPED, NOW + 1, "the last run still runs")

    async def test_the_last_run_is_the_latest_and_then_the_newest(self, cron: CronRunStore) -> None:
        """Two in one millisecond are told apart by their number."""
        assert await cron.last("nightly") is None
        await cron.claim("nightly", NOW, self.JOB, NOW)
        second = await cron.claim("nightly", NOW + 1, self.JOB, NOW)
        await cron.claim("nightly", NOW + 2, self.JOB, NOW - 1)
        await cron.claim("other", NOW, self.JOB, NOW + 9)
        last = await cron.last("nightly")
        assert last is not None
        assert last.id == second

    async def test_a_run_that_waits_for_a_person_outlives_its_process(
        self, db: Database, cron: CronRunStore, consents: ConsentStore
    ) -> None:
        """Until its yes is used it says what it waits for; its end is written with its turn."""
        nightly = Address(SurfaceName.CRON, BotName("ops"), ChatId(0), label="job:nightly")
        ours, db.instance = db.instance, dead(db)
        run = await cron.claim("nightly", NOW, self.JOB, NOW)
        await consents.open(approval(address=nightly), turn_state(address=nightly), asked(), question())
        db.instance = ours
        await cron.skipped("nightly", NOW + 1, self.JOB, NOW + 1, "it waits")
        assert await cron.sweep(NOW + 5) == 0
        assert await cron.begun("nightly") == CronRun(
            run or 0, "nightly", NOW, self.JOB, CronStatus.STARTED, NOW, waiting=ApprovalId("K7QD")
        )
        await consents.rule(ApprovalId("K7QD"), yes(), resolved())
        await Trail(db, Chain(db)).start(start(name="K7QD"), ApprovalId("K7QD"))
        used = await cron.begun("nightly")
        assert used is not None
        assert (used.status, used.waiting) == (CronStatus.STARTED, None)
        assert await cron.sweep(NOW + 6) == 0
        end = RunEnd(self.JOB, CronStatus.OK)
        await HistoryStore(db).flush(TurnFlush(TurnId("t1"), nightly, (), Usage(), (), run=end), NOW + 7)
        over = await cron.begun("nightly")
        assert over is not None
        assert (over.status, over.finished_ms) == (CronStatus.OK, NOW + 7)

    async def test_runs_of_a_dead_process_are_interrupted(self, db: Database, cron: CronRunStore) -> None:
        """Those of a live one and those that are over stay as they are."""
        ours, db.instance = db.instance, dead(db)
        await cron.claim("nightly", NOW, self.JOB, NOW)
        hourly = SessionId("cron:job:hourly")
        await cron.claim("hourly", NOW, hourly, NOW)
        await cron.finish(RunEnd(hourly, CronStatus.OK), NOW)
        db.instance = ours
        await cron.claim("running", NOW, self.JOB, NOW)
        assert await cron.sweep(NOW + 5) == 1
        assert await cron.sweep(NOW + 6) == 0
        last = [await cron.last(job) for job in ("nightly", "hourly", "running")]
        assert [(one.status, one.finished_ms) for one in last if one] == [
            (CronStatus.INTERRUPTED, NOW + 5),
            (CronStatus.OK, NOW),
            (CronStatus.STARTED, None),
        ]
