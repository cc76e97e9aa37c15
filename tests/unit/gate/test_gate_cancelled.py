"""The gate, cut at every moment: the record tells the truth, and nothing is half asked or half started."""

import asyncio

import pytest

from mtbot.domain.call import Outcome, Status
from mtbot.domain.record import EventKind
from mtbot.gate.gate import CallStopped, Done, Waiting
from tests.unit.gate.houses import CRON, House, approved


async def cancelled(task: "asyncio.Task[Done]", *, times: int = 1) -> Outcome:
    """Cancel, and see what comes up."""
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(CallStopped) as stopped:
        await task
    return stopped.value.done.outcome


@pytest.mark.parametrize("times", [1, 3])
async def test_a_call_that_is_cancelled_is_stopped_and_its_end_recorded(house: House, times: int) -> None:
    """However often; and the question says how it ended."""
    ident = await approved(house)
    house.shell.holds = asyncio.Event()
    task = asyncio.create_task(house.resume(ident))
    await house.shell.begun.wait()
    outcome = await cancelled(task, times=times)
    assert outcome.status is Status.STOPPED
    assert (await house.kinds())[-1] in (EventKind.FINISHED, EventKind.FAILED)
    titles = [str(item.card.lines[0]) for item in await house.office.said() if item.card is not None]
    assert "· stopped ·" in titles[-1]


async def test_a_cancel_while_the_start_is_written_runs_nothing(house: House) -> None:
    """The start is on record by then, so its end is written too: stopped before it began."""
    ident = await approved(house)
    house.log.pauses[EventKind.STARTED] = asyncio.Event()
    task = asyncio.create_task(house.resume(ident))
    await house.log.reached.wait()
    task.cancel()
    await asyncio.sleep(0)
    house.log.pauses[EventKind.STARTED].set()
    with pytest.raises(CallStopped) as stopped:
        await task
    assert str(stopped.value.done.outcome.text) == "Stopped before it began."
    assert house.shell.permits == []
    assert (await house.kinds())[-2:] == [EventKind.STARTED, EventKind.FAILED]


async def test_a_cancel_while_the_end_is_written_keeps_the_outcome(house: House) -> None:
    """It has run, and the history must say so."""
    ident = await approved(house)
    house.log.pauses[EventKind.FINISHED] = asyncio.Event()
    task = asyncio.create_task(house.resume(ident))
    await house.log.reached.wait()
    task.cancel()
    await asyncio.sleep(0)
    house.log.pauses[EventKind.FINISHED].set()
    with pytest.raises(CallStopped) as stopped:
        await task
    assert stopped.value.done.outcome.status is Status.OK
    assert (await house.kinds())[-1] is EventKind.FINISHED


async def test_a_cancel_while_the_question_is_written_leaves_it_open(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever stopped the turn finds it and closes it; it is never half there."""
    go, reached = asyncio.Event(), asyncio.Event()
    whole = house.office.stores.consents.open

    async def slow(*args: object) -> None:
        reached.set()
        await go.wait()
        await whole(*args)  # type: ignore[arg-type] # passed on as they came

    monkeypatch.setattr(house.office.stores.consents, "open", slow)
    task = asyncio.create_task(house.submit())
    await reached.wait()
    task.cancel()
    await asyncio.sleep(0)
    go.set()
    waiting = await task
    assert isinstance(waiting, Waiting)
    assert [row.id for row in await house.office.stores.consents.pending()] == [waiting.approval]


async def test_a_cancel_while_nobody_is_asked_goes_up(house: House) -> None:
    """There is no question that could stand, so the turn ends."""
    house.log.pauses[EventKind.APPROVAL_RESOLVED] = asyncio.Event()
    task = asyncio.create_task(house.submit(address=CRON))
    await house.log.reached.wait()
    task.cancel()
    await asyncio.sleep(0)
    house.log.pauses[EventKind.APPROVAL_RESOLVED].set()
    with pytest.raises(asyncio.CancelledError):
        await task
