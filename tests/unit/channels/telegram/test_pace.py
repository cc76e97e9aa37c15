"""How fast one may speak: a burst passes, then about one a second, and groups slower still."""

import asyncio

import pytest

from mtbot.channels.telegram.pace import BURST, CHATS_REMEMBERED, DRAFTS_PER_SECOND, Bucket, Pace


class Now:
    """Seconds that a test moves."""

    at = 0.0

    def __call__(self) -> float:
        """Now."""
        return self.at


def test_a_bucket_lets_a_burst_pass_and_then_one_by_one() -> None:
    """Each further one waits for its place, and rest fills the bucket again."""
    bucket = Bucket(2, 1, 0.0)
    assert [bucket.take(0.0) for _ in range(4)] == [0.0, 0.0, 1.0, 2.0]
    assert bucket.take(10.0) == 0.0


def test_a_private_chat_gets_a_burst_and_then_one_a_second() -> None:
    """Other chats are not held up by it."""
    now = Now()
    pace = Pace(now)
    waits = [pace.delay(1) for _ in range(BURST + 2)]
    assert waits == [0.0] * BURST + [1.0, 2.0]
    assert pace.delay(2) == 0.0


def test_a_group_gets_at_most_twenty_a_minute() -> None:
    """Also when it is spoken to steadily."""
    now = Now()
    pace = Pace(now)
    sent = 0
    while now.at < 60:
        wait = pace.delay(-1)
        now.at += max(wait, 0.001)
        sent += 1
    now.at = 60.0
    later = 0
    while now.at < 120:
        now.at += max(pace.delay(-1), 0.001)
        later += 1
    assert later <= 20


def test_drafts_have_places_of_their_own_while_messages_are_few() -> None:
    """So many a second in all; none where a chat is spoken to fast, and a message finds its place all the same."""
    pace = Pace(Now())
    assert [pace.spare_draft(1) for _ in range(DRAFTS_PER_SECOND + 1)] == [True] * DRAFTS_PER_SECOND + [False]
    now = Now()
    pace = Pace(now)
    assert [pace.delay(1) for _ in range(BURST)] == [0.0] * BURST
    assert (pace.spare_draft(1), pace.spare_draft(2)) == (False, True)
    now.at = BURST / 2
    assert pace.spare_draft(1)
    for chat in range(10, 30):
        pace.delay(chat)
    assert not pace.spare_draft(2)


def test_all_chats_together_stay_below_thirty_a_second() -> None:
    """However many there are."""
    pace = Pace(Now())
    waits = [pace.delay(chat) for chat in range(1, 61)]
    assert waits[:30] == [0.0] * 30
    assert waits[-1] == pytest.approx(1.0)


def test_only_so_many_chats_are_remembered() -> None:
    """The one that was quiet longest is forgotten first."""
    now = Now()
    pace = Pace(now)
    for chat in range(1, CHATS_REMEMBERED + 2):
        now.at += 1
        pace.delay(chat)
    assert len(pace._chats) == CHATS_REMEMBERED
    assert 1 not in pace._chats
    assert 2 in pace._chats


async def test_waiting_waits_as_long_as_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not at all where there is a place."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    pace = Pace(Now())
    for _ in range(BURST + 1):
        await pace.wait(1)
    assert slept == [1.0]


def test_what_may_be_left_out_never_uses_the_last_places() -> None:
    """Half of a burst is kept for what has to be said, and a chat where something waits has none to spare."""
    now = Now()
    pace = Pace(now)
    assert [pace.spare(1) for _ in range(BURST)] == [True] * (BURST // 2 + 1) + [False] * (BURST // 2 - 1)
    assert [pace.delay(1) for _ in range(2)] == [0.0, 0.0]
    for _ in range(10):
        pace.delay(2)
    assert not pace.spare(2)
    now.at += 60
    assert pace.spare(1)
    assert pace.spare(2)


def test_in_a_group_twenty_a_minute_hold_for_both_together() -> None:
    """A status every three seconds leaves room, and what is said for good never waits for it."""
    now = Now()
    pace = Pace(now)
    shown = 0
    for _ in range(40):
        shown += pace.spare(-1)
        now.at += 3
        assert pace.delay(-2) == 0.0
    assert [pace.delay(-1) for _ in range(5)] == [0.0] * 5
    assert shown > 20
