"""The update queue keeps the rules of getUpdates."""

import asyncio

import pytest

from mtbot.simulator.updates import UpdateQueue
from mtbot.simulator.values import ApiRefusal, Pulse


@pytest.fixture
def queue() -> UpdateQueue:
    """An empty queue that counts from 10."""
    return UpdateQueue(Pulse(), 10)


def _fill(queue: UpdateQueue, count: int) -> None:
    for number in range(count):
        queue.push("message", {"n": number})


async def _ids(queue: UpdateQueue, offset: int = 0, limit: int = 100) -> list[object]:
    return [update["update_id"] for update in await queue.poll(offset, limit, 0, None)]


async def test_only_an_offset_confirms(queue: UpdateQueue) -> None:
    """Everything below it is gone for good, a smaller one later brings nothing back."""
    _fill(queue, 3)

    assert await _ids(queue) == [10, 11, 12]
    assert await _ids(queue) == [10, 11, 12]
    assert await _ids(queue, 12) == [12]
    assert await _ids(queue, 10) == [12]


async def test_a_negative_offset_forgets_all_but_the_last(queue: UpdateQueue) -> None:
    """The earlier ones are confirmed by it."""
    _fill(queue, 5)

    assert await _ids(queue, -2) == [13, 14]
    assert queue.pending == (13, 14)


async def test_the_limit_cuts_a_batch_and_a_senseless_one_means_a_hundred(queue: UpdateQueue) -> None:
    """1 to 100."""
    _fill(queue, 120)

    assert len(await _ids(queue, limit=7)) == 7
    assert len(await _ids(queue, limit=0)) == 100
    assert len(await _ids(queue, limit=500)) == 100


async def test_allowed_kinds_are_remembered_and_not_retroactive(queue: UpdateQueue) -> None:
    """Omitted means as before, empty means all but the opt-in kinds; what was queued stays."""
    await queue.poll(0, 100, 0, ["message"])
    assert queue.push("callback_query", {}) is None
    await queue.poll(0, 100, 0, None)
    assert queue.push("callback_query", {}) is None
    assert queue.push("message", {}) == 10
    await queue.poll(0, 100, 0, ["callback_query"])
    assert queue.pending == (10,)
    await queue.poll(0, 100, 0, [])
    assert queue.push("callback_query", {}) == 11
    assert queue.push("chat_member", {}) is None


async def test_redelivery_ignores_the_offset_once(queue: UpdateQueue) -> None:
    """The same id and content come again, in front, and only once."""
    _fill(queue, 2)
    await _ids(queue, 12)

    queue.redeliver(10)

    assert await queue.poll(12, 100, 0, None) == [{"message": {"n": 0}, "update_id": 10}]
    assert await _ids(queue, 12) == []


async def test_numbers_may_start_anew_and_raw_updates_keep_their_own(queue: UpdateQueue) -> None:
    """As after a quiet week."""
    _fill(queue, 1)
    queue.renumber(3)
    assert queue.push("message", {}) == 3
    assert queue.push_raw({"update_id": 50, "unheard_of": {"x": 1}}) == 50
    assert queue.push_raw({"poll": {}}) == 51
    assert queue.ids == (10, 3, 50, 51)


async def test_a_second_poll_ends_the_first_with_409(queue: UpdateQueue) -> None:
    """The second one gets the update."""
    first = asyncio.create_task(queue.poll(0, 100, 30, None))
    await asyncio.sleep(0)
    assert queue.is_polled
    second = asyncio.create_task(queue.poll(0, 100, 30, None))
    with pytest.raises(ApiRefusal, match="terminated by other getUpdates") as caught:
        await first
    queue.push("message", {})

    assert caught.value.code == 409
    assert [update["update_id"] for update in await second] == [10]
    assert not queue.is_polled


async def test_a_webhook_forbids_polling_until_it_is_deleted(queue: UpdateQueue) -> None:
    """Another 409 with another text."""
    queue.webhook = "https://example.org/hook"
    with pytest.raises(ApiRefusal, match="webhook is active"):
        await _ids(queue)
    queue.webhook = ""
    assert await _ids(queue) == []


async def test_a_long_poll_without_news_ends_empty(queue: UpdateQueue) -> None:
    """When its time is up, not sooner with an error."""
    assert await queue.poll(0, 100, 0.01, None) == []


async def test_closing_ends_a_long_poll_at_once(queue: UpdateQueue) -> None:
    """With nothing."""
    poll = asyncio.create_task(queue.poll(0, 100, 50, None))
    await asyncio.sleep(0)
    queue.close()

    assert await asyncio.wait_for(poll, 5) == []


async def test_two_idle_queues_do_not_wake_each_other_for_ever() -> None:
    """A beat of one reaches the other; the other must not answer with a beat."""
    pulse = Pulse()
    polls = [asyncio.create_task(UpdateQueue(pulse, 1).poll(0, 100, 30, None)) for _ in range(2)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    for _ in range(20):
        await asyncio.sleep(0)

    assert await pulse.wait(0.02) is False
    for poll in polls:
        poll.cancel()
    await asyncio.gather(*polls, return_exceptions=True)
