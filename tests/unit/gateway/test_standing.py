"""How a day is counted, and the owner who hears once of a record that is not whole."""

import pytest

from mtbot.audit import ChainFault, ChainReport, Mark
from mtbot.domain.errors import StateError
from mtbot.domain.record import Word
from mtbot.gateway.standing import RecordCheck, day_text


class Log:
    """A record that is as a test wants it."""

    fault: ChainFault | None = None

    async def words_since(self, at_ms: int) -> dict[Word, int]:
        """None."""
        return {} if at_ms else {Word.NONE: 1}

    async def head(self) -> Mark:
        """Of many events."""
        return Mark(1932, "x")

    async def verify(self) -> ChainReport:
        """The whole of it."""
        return ChainReport(1932, 1, Mark(1932, "x"), self.fault)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({}, "0 commands"),
        ({Word.APPROVED: 1}, "1 command (1 approved)"),
        (
            {Word.ALLOWED_RULE: 1033, Word.APPROVED: 6, Word.DENIED_USER: 1, Word.DENIED_RULE: 1},
            "1,041 commands (1,033 by rule, 6 approved, 1 denied, 1 refused)",
        ),
        (
            {Word.AUTO_ALLOWED: 2, Word.EXPIRED: 3, Word.REFUSED_TOO_LONG: 4, Word.DENIED_RULE: 1},
            "10 commands (2 by the classifier, 3 expired, 5 refused)",
        ),
    ],
)
def test_a_day_in_a_line(words: dict[Word, int], said: str) -> None:
    """Only what there was."""
    assert day_text(words) == said


def test_every_word_of_the_record_is_counted() -> None:
    """None is left out of the sum."""
    assert day_text(dict.fromkeys(Word, 1)).startswith(f"{len(Word) - 1} commands")  # all but none


async def test_the_owner_hears_once_of_each_fault() -> None:
    """It is looked at again all the same, because it is no chore that was done."""
    told: list[str] = []

    async def tell(words: str) -> None:
        told.append(words)

    log = Log()
    check = RecordCheck(log, tell)
    await check.look()
    assert (check.fault, told) == ("", [])
    log.fault = ChainFault(17, "its hash does not fit")
    for _ in range(2):
        with pytest.raises(StateError, match="the record is not whole: event 17: its hash does not fit"):
            await check.look()
    assert check.fault == "event 17: its hash does not fit"
    (words,) = told
    assert words.startswith("The record is not whole: event 17: its hash does not fit. On the host: ")
    assert "`mtclaw audit acknowledge --reason ...`" in words
    log.fault = None
    await check.look()
    assert (check.fault, len(told)) == ("", 1)
