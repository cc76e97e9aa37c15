"""A code is good once, for a while, and for a few tries."""

from dataclasses import replace

from mtbot.domain.ids import BotName, UserId
from mtbot.domain.pairing import MAX_TRIES, MAX_WRONG, Pairing, Standing, digest_of

CODE = "K7QD-M3XA-9PQR"
OPEN = Pairing(BotName("main"), "deploy", "salt", digest_of(CODE, "salt"), until_ms=1000)
WHO = UserId(1002)


def test_the_code_matches_however_it_is_typed() -> None:
    """Case, blanks and dashes do not count; everything else does, and so does the salt."""
    matched = replace(OPEN, standing=Standing.MATCHED, user=WHO, called="Deploy")
    for typed in (CODE, "k7qdm3xa9pqr", " K7QD M3XA\n9PQR "):
        assert OPEN.tried(typed, WHO, "Deploy", 999) == matched
    for wrong in ("", "K7QD-M3XA-9PQ", "K7QD-M3XA-9PQRR", "\ud800"):
        assert OPEN.tried(wrong, WHO, "Deploy", 999) == replace(OPEN, wrong={WHO: 1})
    assert digest_of(CODE, "salt") != digest_of(CODE, "other")


def guessed(pairing: Pairing, user: UserId, times: int) -> Pairing:
    """The pairing after so many wrong codes of a sender, each of which counts."""
    for _ in range(times):
        found = pairing.tried("x", user, "", 0)
        assert found is not None
        pairing = found
    return pairing


def test_a_sender_has_five_tries_and_spends_nobody_elses() -> None:
    """The right code does not help them after that; it helps whom it is for."""
    other = UserId(6666)
    found = guessed(guessed(OPEN, WHO, 1), other, MAX_TRIES)
    assert (found.wrong, found.standing, found.guessers) == ({WHO: 1, other: MAX_TRIES}, Standing.OPEN, 1)
    assert (found.done_with(other), found.done_with(WHO)) == (True, False)
    assert found.tried("x", other, "", 0) is None
    assert found.tried(CODE, other, "", 0) is None
    assert found.tried(CODE, WHO, "Deploy", 0) == replace(found, standing=Standing.MATCHED, user=WHO, called="Deploy")


def test_all_senders_together_make_it_void_in_the_end() -> None:
    """Guessing stays hopeless, however many accounts somebody has; then nobody is paired."""
    found = OPEN
    for user in range(1, MAX_WRONG // MAX_TRIES + 1):
        assert found.standing is Standing.OPEN
        found = guessed(found, UserId(user), MAX_TRIES)
    assert (found.standing, found.guessers) == (Standing.SPENT, MAX_WRONG // MAX_TRIES)
    assert found.tried(CODE, WHO, "", 0) is None
    assert MAX_WRONG / 30**12 < 1e-14


def test_one_that_is_over_or_used_is_nobodys() -> None:
    """At the very moment of its end too."""
    assert OPEN.tried(CODE, WHO, "", 1000) is None
    for standing in (Standing.MATCHED, Standing.WRITTEN, Standing.SPENT):
        assert replace(OPEN, standing=standing).tried(CODE, WHO, "", 0) is None
