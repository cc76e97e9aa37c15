"""No card is ever split, and no command is ever cut."""

import hashlib

import pytest

from mtbot.approvals import card as cards_module
from mtbot.approvals.card import MAX_ATTACHED, MAX_BODY, MAX_MESSAGE, too_long, utf16
from mtbot.domain.record import ApprovalState, Ruling, Via
from tests.unit.approvals.samples import (
    CARDS,
    CHIEF,
    OPEN,
    START,
    approval,
    asked,
    call,
    question,
    safe,
)


class TestLength:
    """No card is ever split, and no command is ever cut."""

    @pytest.mark.parametrize("char", ["x", "\U0001f600"])
    def test_the_longest_command_that_fits_is_shown_and_the_next_goes_into_a_file(self, char: str) -> None:
        """Counted as Telegram counts."""
        fits = char * (MAX_BODY // utf16(char))
        shown = asked(question(display=fits))
        assert (shown.body, shown.attachment) == (fits, None)
        longer = fits + char
        filed = asked(question(display=longer))
        digest = hashlib.sha256(longer.encode()).hexdigest()
        assert filed.attachment == longer
        assert filed.body == (
            f"(too long for a message: the whole text is in the file {digest[:12]}.txt, "
            f"{len(longer)} characters, SHA-256 {digest})"
        )

    def test_a_card_with_everything_on_it_fits_one_message(self) -> None:
        """Long paths, many scripts, a long reason, long names."""
        what = question(
            call(cwd="/srv/" + "d" * 4000),
            display="y" * MAX_BODY,
            detail=tuple(f"script content fixed at 4e1c09 ({'s' * 200}{number})" for number in range(30)),
            why="w" * 300,
            masked=7,
        )
        card = asked(what, who="n" * 640, deciders=" or ".join(["m" * 64] * 20))
        texts = (str(card.title), str(card.body), *(str(line) for line in card.lines))
        assert utf16("\n".join(texts)) <= MAX_MESSAGE
        assert card.attachment == "y" * MAX_BODY
        assert "(25 more lines of this kind are not shown)" in texts
        assert texts[-1].startswith(f"Asked by {'n' * 79}… · {'m' * 64} or {'m' * 64}")
        assert texts[-1].endswith(f"… · {OPEN}")
        assert f"/srv/{'d' * 154}… · as mtclaw · not contained, network open" in texts[-4]

    def test_a_reason_of_any_length_fits_below_the_longest_command(self) -> None:
        """The record has it whole."""
        card = asked(question(display="y" * MAX_BODY))
        ruling = Ruling(ApprovalState.DENIED, CHIEF, Via.REPLY, START, "r" * 4096)
        denied = CARDS.ruled(approval(card), ruling, "Chief")
        texts = (str(denied.title), str(denied.body), *(str(line) for line in denied.lines))
        assert utf16("\n".join(texts)) <= MAX_MESSAGE
        assert denied.lines == (safe(f'🚫 Denied by Chief 19:06: "{"r" * 499}…"'),)

    def test_what_cannot_be_sent_by_any_means_is_too_long(self) -> None:
        """To the unit."""
        assert not too_long("x" * MAX_ATTACHED)
        assert too_long("x" * (MAX_ATTACHED + 1))
        assert too_long("\U0001f600" * (MAX_ATTACHED // 2 + 1))


def test_limits_leave_room() -> None:
    """Telegram takes 4096 units."""
    assert MAX_BODY + cards_module.MAX_REASON + 200 < MAX_MESSAGE < 4096
