"""A code is good once, for a while, and for a few tries."""

from dataclasses import replace

from mtbot.domain.ids import BotName, UserId
from mtbot.domain.pairing import MAX_TRIES, Pairing, Standing, digest_of

CODE = "K7QD-M3XA-9PQR"
OPEN = Pairing(BotName("main"), "deploy", "salt", digest_of(CODE, "salt"), until_ms=1000)
WHO = UserId(1002)


def test_the_code_matches_however_it_is_typed() -> None:
    """Case, blanks and dashes do not count; everything else does, and so does the salt."""
    matched = replace(OPEN, standing=Standing.MATCHED, user=WHO, called="Deploy")
    for typed in (CODE, "k7qdm3xa9pqr", " K7QD M3XA\n9PQR "):
        assert OPEN.tried(typed, WHO, "Deploy", 999) == matched
    for wrong in ("", "K7QD-M3XA-9PQ", "K7QD-M3XA-9PQRR", "\ud800"):
        assert OPEN.tried(wrong, WHO, "Deploy", 999) == replace(OPEN, tries=1)
    assert digest_of(CODE, "salt") != digest_of(CODE, "other")


def test_the_last_wrong_try_makes_it_void() -> None:
    """The right code does not help after that."""
    found: Pairing | None = OPEN
    for number in range(1, MAX_TRIES + 1):
        assert found is not None
        found = found.tried("x", WHO, "", 0)
        assert found is not None
        assert (found.tries, found.standing is Standing.SPENT) == (number, number == MAX_TRIES)
    assert found is not None
    assert found.tried(CODE, WHO, "", 0) is None


def test_one_that_is_over_or_used_is_nobodys() -> None:
    """At the very moment of its end too."""
    assert OPEN.tried(CODE, WHO, "", 1000) is None
    for standing in (Standing.MATCHED, Standing.WRITTEN, Standing.SPENT):
        assert replace(OPEN, standing=standing).tried(CODE, WHO, "", 0) is None
