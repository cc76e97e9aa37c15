"""What is shown while something runs: below its question, or in a line of its own."""

from dataclasses import replace

from mtbot.domain.record import ApprovalState, CardKind, Ruling, Via
from tests.unit.approvals.samples import CARDS, CHIEF, START, approval, asked, call, plain, question

CARD = asked(question(call("docker compose pull jellyfin")), "K7QD")
RULED = replace(
    approval(CARD), state=ApprovalState.APPROVED, ruling=Ruling(ApprovalState.APPROVED, CHIEF, Via.BUTTON, START)
)


def test_below_the_question_it_says_how_long_and_what_was_written_last() -> None:
    """The command stays, and there is a button where the turn can be stopped from there."""
    shown = CARDS.running(RULED, "Chief", 14.9, "jellyfin Pulling 61 %", "tok")
    assert plain(shown).splitlines()[1:] == [
        "```",
        "docker compose pull jellyfin",
        "```",
        '✅ Approved once by Chief 19:06 · running 0:14 · "jellyfin Pulling 61 %"',
        "[⏹ Stop]",
    ]
    assert [choice.data for choice in shown.choices] == ["stop.tok"]
    bare = CARDS.running(RULED, "Chief", 3725, "", "")
    assert plain(bare).splitlines()[-1] == "✅ Approved once by Chief 19:06 · running 62:05"


def test_a_line_of_its_own() -> None:
    """What, how long, the last line in quotes; several lines verbatim; silent in any case."""
    one = CARDS.working("docker stats", 2.4, ["cpu 3 %"], "tok")
    assert (plain(one).splitlines(), one.kind, one.silent) == (
        ["⏳ docker stats · 2 s", '"cpu 3 %"', "[⏹ Stop]"],
        CardKind.NOTICE,
        True,
    )
    many = CARDS.working("docker stats", 130, ["a", "b"], "tok")
    assert plain(many).splitlines() == ["⏳ docker stats · 2 min 10 s", "```", "a", "b", "```", "[⏹ Stop]"]
    assert plain(CARDS.working("thinking", 0.2, (), "tok")).splitlines() == ["⏳ thinking · 1 s", "[⏹ Stop]"]


def test_what_others_wrote_is_cut_and_made_visible() -> None:
    """A long line pushes nothing out of sight, and what hides in it is seen."""
    shown = CARDS.working("x" * 500, 2, ["y" * 500 + "\u202e"], "tok")
    assert len(str(shown.title)) < 220
    assert len(str(shown.lines[0])) < 220
    hidden = CARDS.working("a\u202eb", 2, ["c\u202ed"], "tok")
    assert "\u202e" not in plain(hidden)
    assert len(str(CARDS.running(RULED, "Chief", 1, "z" * 500, "").lines[0])) < 160
