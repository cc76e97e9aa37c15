"""When polling counts as well, as silent, as stuck."""

import pytest

from mtbot.channels.telegram.watchdog import SILENCE_SECONDS, STUCK_SECONDS, Health, Watchdog


class Now:
    """Seconds that a test moves."""

    at = 1000.0

    def __call__(self) -> float:
        """Now."""
        return self.at


@pytest.fixture
def now() -> Now:
    """A clock."""
    return Now()


def test_failed_attempts_without_an_answer_become_silence(now: Now) -> None:
    """It is told again until an answer comes, with time in between for fresh connections."""
    dog = Watchdog(now)
    now.at += SILENCE_SECONDS
    dog.ended(5)
    assert dog.look() is Health.FINE
    now.at += 1
    assert dog.look() is Health.SILENT
    dog.renewed()
    assert dog.look() is Health.FINE
    now.at += SILENCE_SECONDS + 1
    assert dog.look() is Health.SILENT
    dog.heard()
    assert dog.look() is Health.FINE


def test_an_attempt_that_never_ends_is_stuck(now: Now) -> None:
    """Whatever else was done meanwhile."""
    dog = Watchdog(now)
    now.at += STUCK_SECONDS + 1
    dog.renewed()
    assert dog.look() is Health.STUCK


def test_a_server_that_has_us_wait_is_heard_until_the_end_of_the_wait(now: Now) -> None:
    """A flood limit of an hour is neither silence nor a stuck loop."""
    dog = Watchdog(now)
    dog.heard(3600)
    now.at += 3600 + SILENCE_SECONDS
    assert dog.look() is Health.FINE
    now.at += 1
    assert dog.look() is Health.SILENT
