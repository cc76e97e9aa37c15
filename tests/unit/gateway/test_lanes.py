"""Lanes: one step at a time, nothing dropped unsaid, and a rest that holds up nobody else."""

import asyncio
from collections import deque

from mtbot.domain.ids import ApprovalId, SessionId
from mtbot.domain.turn import Inbound, InboundKind, SourceRef
from mtbot.gateway.lanes import QUEUE_LIMIT, Halted, Item, Lanes, Offered, Rest, Resume
from tests.unit.approvals.samples import CHIEF, PRIVATE

ONE, TWO = SessionId("one"), SessionId("two")
A, B = ApprovalId("A"), ApprovalId("B")


def text(words: str) -> Inbound:
    """A message."""
    return Inbound(PRIVATE, CHIEF, SourceRef(), InboundKind.TEXT, words)


class Steps:
    """Steps that a test lets go one by one; ``done`` and ``cut`` are what came to its end, or did not."""

    def __init__(self) -> None:
        self.begun: list[tuple[SessionId, Item]] = []
        self.done: list[Item] = []
        self.cut: list[Item] = []
        self.ends: deque[Rest | None] = deque()
        self.gate = asyncio.Semaphore(0)
        self.changed = asyncio.Event()

    async def step(self, session: SessionId, item: Item) -> Rest | None:
        """As Turns.step: never raises."""
        self.begun.append((session, item))
        self.changed.set()
        try:
            await self.gate.acquire()
        except asyncio.CancelledError:
            self.cut.append(item)
            return None
        self.done.append(item)
        return self.ends.popleft() if self.ends else None

    async def until_begun(self, count: int) -> None:
        """Wait until so many steps have begun."""
        async with asyncio.timeout(5):
            while len(self.begun) < count:
                self.changed.clear()
                await self.changed.wait()

    def items(self) -> list[Item]:
        """What has begun, without sessions."""
        return [item for _, item in self.begun]


async def test_a_lane_does_one_item_after_another_in_order() -> None:
    """The second begins when the first has ended."""
    steps = Steps()
    lanes = Lanes(steps.step, 4)
    first, second = text("first"), text("second")
    assert lanes.offer(ONE, first) is Offered.STARTED
    assert lanes.offer(ONE, second) is Offered.QUEUED
    await steps.until_begun(1)
    assert steps.items() == [first]
    steps.gate.release()
    await steps.until_begun(2)
    steps.gate.release()
    assert await lanes.settle(ONE, 5)
    assert steps.done == [first, second]
    assert lanes.running == 0


async def test_lanes_share_the_slots() -> None:
    """With one slot the other session waits, and begins when it is free."""
    steps = Steps()
    lanes = Lanes(steps.step, 1)
    lanes.offer(ONE, text("one"))
    lanes.offer(TWO, text("two"))
    await steps.until_begun(1)
    assert lanes.running == 2
    assert [session for session, _ in steps.begun] == [ONE]
    steps.gate.release()
    await steps.until_begun(2)
    assert [session for session, _ in steps.begun] == [ONE, TWO]


async def test_a_resting_lane_keeps_messages_and_takes_the_resume_first() -> None:
    """No slot is held meanwhile, and what was kept runs afterwards."""
    steps = Steps()
    lanes = Lanes(steps.step, 1)
    steps.ends = deque([Rest(A), None, None])
    first, kept = text("first"), text("kept")
    lanes.offer(ONE, first)
    steps.gate.release()
    await steps.until_begun(1)
    assert await lanes.settle(ONE, 5)
    assert lanes.resting(ONE) == A
    assert lanes.offer(ONE, kept) is Offered.KEPT
    assert lanes.running == 0
    lanes.resume(ONE, A)
    steps.gate.release()
    steps.gate.release()
    assert await lanes.settle(ONE, 5)
    assert steps.done == [first, Resume(A), kept]
    assert lanes.resting(ONE) is None


async def test_the_same_resume_twice_is_one() -> None:
    """Whether the first waits still or is being worked on."""
    steps = Steps()
    lanes = Lanes(steps.step, 1)
    lanes.rest(ONE, A)
    lanes.resume(ONE, A)
    lanes.resume(ONE, A)
    await steps.until_begun(1)
    lanes.resume(ONE, A)
    lanes.resume(ONE, B)
    steps.gate.release()
    steps.gate.release()
    assert await lanes.settle(ONE, 5)
    assert steps.done == [Resume(A), Resume(B)]


async def test_more_than_a_lane_keeps_is_refused_once_per_burst() -> None:
    """FULL, then DROPPED, and FULL again after there was room."""
    steps = Steps()
    lanes = Lanes(steps.step, 1)
    lanes.offer(ONE, text("running"))
    await steps.until_begun(1)
    for number in range(QUEUE_LIMIT):
        assert lanes.offer(ONE, text(str(number))) is Offered.QUEUED
    assert [lanes.offer(ONE, text("more")) for _ in range(3)] == [Offered.FULL, Offered.DROPPED, Offered.DROPPED]
    steps.gate.release()
    await steps.until_begun(2)
    assert lanes.offer(ONE, text("room")) is Offered.QUEUED
    assert lanes.offer(ONE, text("more")) is Offered.FULL


async def test_halt_cuts_the_step_and_drops_the_queue() -> None:
    """It says what it found, and whoever waits for a dropped message is told."""
    steps = Steps()
    lanes = Lanes(steps.step, 1)
    dropped: list[Inbound] = []
    lanes.dropped = dropped.append
    running, queued = text("running"), text("queued")
    lanes.offer(ONE, running)
    lanes.offer(ONE, queued)
    await steps.until_begun(1)
    assert lanes.halt(ONE) == Halted(running=True, dropped=(queued,))
    assert await lanes.settle(ONE, 5)
    assert (steps.cut, dropped) == ([running], [queued])


async def test_halt_before_a_slot_was_free_drops_the_message_itself() -> None:
    """It had not begun, so it counts among the dropped and never begins."""
    steps = Steps()
    lanes = Lanes(steps.step, 1)
    lanes.offer(ONE, text("running"))
    await steps.until_begun(1)
    waits = text("waits")
    lanes.offer(TWO, waits)
    await asyncio.sleep(0)
    assert lanes.halt(TWO) == Halted(running=False, dropped=(waits,))
    assert await lanes.settle(TWO, 5)
    steps.gate.release()
    assert await lanes.settle(ONE, 5)
    assert waits not in steps.items()


async def test_halt_turns_a_resume_that_waits_into_an_end() -> None:
    """The turn must be closed, and its yes must not count: it comes again, marked as stopped."""
    steps = Steps()
    lanes = Lanes(steps.step, 1)
    lanes.offer(ONE, text("running"))
    await steps.until_begun(1)
    lanes.rest(TWO, A)
    lanes.resume(TWO, A)
    await asyncio.sleep(0)
    assert lanes.halt(TWO) == Halted(running=False, withdrawn=(A,))
    steps.gate.release()
    await steps.until_begun(2)
    assert steps.items()[1] == Resume(A, stopped=True)


async def test_halt_says_which_request_the_running_step_went_on_from() -> None:
    """Its call may not have begun, and then its yes has to be taken back."""
    steps = Steps()
    lanes = Lanes(steps.step, 1)
    lanes.rest(ONE, A)
    lanes.resume(ONE, A)
    await steps.until_begun(1)
    assert lanes.halt(ONE) == Halted(running=True, resumed=A)
    assert await lanes.settle(ONE, 5)


async def test_halt_of_a_resting_lane_leaves_it_resting() -> None:
    """Its question has to be ruled on."""
    lanes = Lanes(Steps().step, 1)
    lanes.rest(ONE, A)
    assert lanes.halt(ONE) == Halted(running=False)
    assert lanes.resting(ONE) == A
    assert lanes.halt(TWO) == Halted(running=False)


async def test_a_worker_that_somebody_else_cancels_begins_nothing_more() -> None:
    """The process ends: the queue is not worked off item by item, each of them cut."""
    steps = Steps()
    lanes = Lanes(steps.step, 1)
    lanes.offer(ONE, text("running"))
    lanes.offer(ONE, text("queued"))
    await steps.until_begun(1)
    worker = lanes._lanes[ONE].worker
    assert worker is not None
    worker.cancel()
    await asyncio.wait([worker])
    assert len(steps.begun) == 1
    assert lanes.running == 0


async def test_after_a_halt_the_next_message_is_done_whole() -> None:
    """The cut of one step does not reach the next."""
    steps = Steps()
    lanes = Lanes(steps.step, 1)
    lanes.offer(ONE, text("running"))
    await steps.until_begun(1)
    lanes.halt(ONE)
    after, last = text("after"), text("last")
    lanes.offer(ONE, after)
    lanes.offer(ONE, last)
    steps.gate.release()
    steps.gate.release()
    assert await lanes.settle(ONE, 5)
    assert steps.done == [after, last]


async def test_drain_cuts_what_runs_and_takes_nothing_more() -> None:
    """What had not begun is named, so that nobody waits for it; its row is there for the next start."""
    steps = Steps()
    lanes = Lanes(steps.step, 1)
    dropped: list[Inbound] = []
    lanes.dropped = dropped.append
    running, queued, elsewhere = text("running"), text("queued"), text("elsewhere")
    lanes.offer(ONE, running)
    await steps.until_begun(1)
    lanes.offer(ONE, queued)
    lanes.offer(TWO, elsewhere)
    await asyncio.sleep(0)
    assert await lanes.drain(5)
    assert steps.cut == [running]
    assert dropped == [queued, elsewhere]
    assert lanes.offer(ONE, text("late")) is Offered.CLOSED
    lanes.resume(ONE, A)
    assert lanes.running == 0


async def test_drain_of_idle_lanes_is_done_at_once() -> None:
    """There is nothing to wait for."""
    assert await Lanes(Steps().step, 1).drain(0)


async def test_drain_says_when_a_step_does_not_end() -> None:
    """A step that ignores being cut is late."""
    stubborn = asyncio.Event()

    async def step(_session: SessionId, _item: Item) -> Rest | None:
        while not stubborn.is_set():
            try:
                await stubborn.wait()
            except asyncio.CancelledError:
                continue
        return None

    lanes = Lanes(step, 1)
    lanes.offer(ONE, text("running"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not await lanes.settle(ONE, 0.01)
    assert not await lanes.drain(0.01)
    stubborn.set()


async def test_a_lane_whose_request_is_gone_is_freed() -> None:
    """What came behind it is taken up; any other request leaves it closed, and so does a lane that is at work."""
    steps = Steps()
    lanes = Lanes(steps.step, 4)
    lanes.free(ONE, A)
    lanes.rest(ONE, A)
    lanes.rest(TWO, B)
    assert lanes.rests() == ((ONE, A), (TWO, B))
    lanes.free(ONE, B)
    behind = text("behind")
    assert lanes.offer(ONE, behind) is Offered.KEPT
    lanes.free(ONE, A)
    await steps.until_begun(1)
    lanes.free(TWO, B)
    assert lanes.rests() == ()
    lanes.rest(TWO, B)
    lanes.resume(TWO, B)
    lanes.free(TWO, B)
    assert lanes.resting(TWO) == B
    steps.gate.release()
    steps.gate.release()
    assert await lanes.settle(ONE, 5)
    assert await lanes.settle(TWO, 5)
    assert behind in steps.done
    assert lanes.rests() == ()


async def test_a_lane_is_not_freed_for_work_once_nothing_is_taken_in() -> None:
    """The process ends."""
    steps = Steps()
    lanes = Lanes(steps.step, 4)
    lanes.rest(ONE, A)
    lanes.offer(ONE, text("behind"))
    assert await lanes.drain(1)
    lanes.free(ONE, A)
    assert lanes.running == 0
    assert steps.begun == []
