"""The words of every card, whole, as the first session shows them."""

from dataclasses import replace

import pytest

from mtbot.approvals.card import ending
from mtbot.domain.call import Decision, Facts, Outcome, Stage, Status, Verdict
from mtbot.domain.record import ApprovalState, Card, CardKind, ChoiceAction, Ruling, Via
from mtbot.domain.turn import SYSTEM, SurfaceName
from tests.unit.approvals.samples import (
    CARDS,
    CHIEF,
    DEPLOY,
    GROUP,
    HALF_HOUR,
    HOST,
    MINUTE,
    OPEN,
    PRIVATE,
    PULL,
    REVIEW,
    START,
    TERMINAL,
    approval,
    asked,
    call,
    plain,
    question,
    safe,
)

FIRST_WORDS = (
    "Run this",
    "Approved",
    "Denied",
    "Not run",
    "Expired",
    "Stopped",
    "Cut off",
    "Needs root",
    "Ran by rule",
)
SYMBOLS = "⏳✅🚫⛔⏹↩"


def ruled(ruling: Ruling, decider: str = "Chief") -> Card:
    """The card after a ruling."""
    return CARDS.ruled(approval(), ruling, decider)


class TestQuestions:
    """What a person is asked."""

    def test_a_command_is_asked_in_full(self) -> None:
        """What, where, why, who asked, until when, in this order."""
        card = asked(question(detail=("2 commands: docker compose pull, docker compose up",)))
        assert plain(card) == (
            "Run this on nas?  #K7QD\n"
            "```\n"
            f"{PULL}\n"
            "```\n"
            "2 commands: docker compose pull, docker compose up\n"
            "in /srv/media · as mtclaw · not contained, network open\n"
            'Why I ask: no rule allows "docker compose pull".\n'
            "Asked by Chief · open until 19:36 (30 min) · reply to this message to deny with a reason\n"
            "[✅ Approve once]  [🚫 Deny]"
        )
        assert [(choice.action, choice.token) for choice in card.choices] == [
            (ChoiceAction.APPROVE, "tok"),
            (ChoiceAction.DENY, "tok"),
        ]
        assert (card.kind, card.silent, card.attachment) == (CardKind.QUESTION, False, None)

    def test_who_decides_is_named_if_not_everybody_does(self) -> None:
        """Between who asked and until when."""
        of = call("/srv/wiki/deploy.sh", address=GROUP, requester=DEPLOY, cwd="/srv/wiki")
        what = question(of, detail=("script content fixed at 4e1c09 (deploy.sh)",), why="no rule allows deploy.sh.")
        card = asked(what, "D5LF", who="Deploy", deciders="Chief or Review decide")
        assert plain(card) == (
            "Run this on nas?  #D5LF\n"
            "```\n"
            "/srv/wiki/deploy.sh\n"
            "```\n"
            "script content fixed at 4e1c09 (deploy.sh)\n"
            "in /srv/wiki · as mtclaw · not contained, network open\n"
            "Why I ask: no rule allows deploy.sh.\n"
            "Asked by Deploy · Chief or Review decide · open until 19:36 (30 min) · "
            "reply to this message to deny with a reason\n"
            "[✅ Approve once]  [🚫 Deny]"
        )

    def test_root_is_not_offered_in_a_chat(self) -> None:
        """The command for the host instead of a button, and a way to say no."""
        what = question(call("sudo apt-get -y full-upgrade"), why="sudo changes the user", elevates=True)
        assert plain(asked(what, "R2TV")) == (
            "Needs root and can't be approved here.  #R2TV\n"
            "```\n"
            "sudo apt-get -y full-upgrade\n"
            "```\n"
            "in /srv/media · as mtclaw · not contained, network open\n"
            "Why I ask: sudo changes the user.\n"
            "Asked by Chief\n"
            "To allow it, on nas: `mtclaw approvals run R2TV` · open until 19:36\n"
            "[🚫 Deny]"
        )

    def test_root_can_be_approved_by_who_sits_at_the_host(self) -> None:
        """At the terminal it is a question like any other."""
        of = call("sudo id", address=TERMINAL, requester=HOST)
        card = asked(question(of, why="sudo changes the user", elevates=True))
        assert card.title == "Run this on nas?  #K7QD"
        assert [choice.action for choice in card.choices] == [ChoiceAction.APPROVE, ChoiceAction.DENY]

    @pytest.mark.parametrize(
        ("tool", "title"),
        [
            ("write_file", "Run this on nas? Write a file  #K7QD"),
            ("read_file", "Run this on nas? Read a file  #K7QD"),
            ("list_dir", "Run this on nas? List a directory  #K7QD"),
            ("web_fetch", "Run this on nas? Fetch a page  #K7QD"),
            ("mcp_{host}", "Run this on nas? Tool mcp_nas  #K7QD"),
        ],
    )
    def test_another_tool_is_named(self, tool: str, title: str) -> None:
        """Its target stands where a command does."""
        card = asked(question(call("/srv/notes", tool=tool), display="/srv/notes", why="write_file asks first"))
        assert card.title == title
        assert [str(line) for line in card.lines] == [
            "as mtclaw",
            "Why I ask: write_file asks first.",
            "Asked by Chief · open until 19:36 (30 min) · reply to this message to deny with a reason",
        ]

    @pytest.mark.parametrize(
        ("profile", "words"),
        [
            ("host", "not contained, network open"),
            ("contained", "contained, network closed"),
            ("host, NOT CONTAINED", "NOT CONTAINED, network open"),
            ("another", "another"),
        ],
    )
    def test_containment_is_told(self, profile: str, words: str) -> None:
        """Whether what is approved would be contained, and whether it could reach the network."""
        card = asked(question(facts=Facts(profile=profile)))
        assert card.lines[0] == f"in /srv/media · as mtclaw · {words}"

    @pytest.mark.parametrize(
        ("count", "line"),
        [
            (1, "1 secret value is masked above; what runs has the real one."),
            (3, "3 secret values are masked above; what runs has the real one."),
        ],
    )
    def test_masked_values_are_counted(self, count: int, line: str) -> None:
        """So that nobody takes a mask for the command."""
        assert line in [str(one) for one in asked(question(masked=count)).lines]

    @pytest.mark.parametrize(
        ("minutes", "span"),
        [(0, "1 min"), (1, "1 min"), (30, "30 min"), (120, "120 min"), (150, "2 h 30 min"), (720, "12 h")],
    )
    def test_the_time_left_is_told_in_words(self, minutes: int, span: str) -> None:
        """Beside the clock time."""
        assert f"({span})" in asked(question(), expires=START + minutes * MINUTE).lines[-1]

    def test_a_question_is_masked_once_more(self) -> None:
        """Whatever came into it on its way."""
        what = question(call(cwd="/srv/swordfish9"), why="it holds swordfish9")
        card = asked(what, who="swordfish9", deciders="swordfish9 decides")
        assert "swordfish9" not in plain(card)

    def test_a_name_or_directory_cannot_forge_a_line(self) -> None:
        """Line breaks and turned text in what others chose are made visible."""
        card = asked(question(call(cwd="/srv/a\nApproved once by Chief")), who="Dep\u202eloy\n✅ Approved once")
        assert [str(line) for line in card.lines] == [
            "in /srv/a Approved once by Chief · as mtclaw · not contained, network open",
            'Why I ask: no rule allows "docker compose pull".',
            f"Asked by Dep\\u202eloy ✅ Approved once · {OPEN}",
        ]

    def test_what_was_made_visible_before_stays_as_it_is(self) -> None:
        """The gate's notation for blanks is not escaped a second time."""
        card = asked(question(detail=("2 commands: a␣{900}b",), why="it holds ␣{9}"))
        assert card.lines[0] == "2 commands: a␣{900}b"
        assert card.lines[2] == "Why I ask: it holds ␣{9}."


class TestRulings:
    """What stands below a question once it was answered; title and command stay."""

    @pytest.mark.parametrize(
        ("ruling", "line"),
        [
            (Ruling(ApprovalState.APPROVED, CHIEF, Via.BUTTON, START + MINUTE), "✅ Approved once by Chief 19:07"),
            (Ruling(ApprovalState.DENIED, CHIEF, Via.BUTTON, START), "🚫 Denied by Chief 19:06"),
            (
                Ruling(ApprovalState.DENIED, CHIEF, Via.REPLY, START, "only security updates\nand show me the list"),
                '🚫 Denied by Chief 19:06: "only security updates and show me the list"',
            ),
            (Ruling(ApprovalState.DENIED, CHIEF, Via.STOP, START), "⏹ Stopped by Chief 19:06"),
            (Ruling(ApprovalState.REVOKED, CHIEF, Via.CLI, START), "🚫 Denied: revoked by Chief 19:06, nothing ran"),
            (Ruling(ApprovalState.REVOKED, CHIEF, Via.STOP, START), "⏹ Stopped by Chief 19:06, nothing ran"),
        ],
    )
    def test_the_line_says_who_and_when(self, ruling: Ruling, line: str) -> None:
        """And nothing can be pressed any more."""
        card = approval().card
        assert ruled(ruling) == replace(card, kind=CardKind.RESULT, lines=(safe(line),), choices=())

    def test_a_lapsed_question_can_be_asked_again(self) -> None:
        """And says that nothing ran."""
        card = ruled(Ruling(ApprovalState.EXPIRED, SYSTEM, Via.EXPIRY, HALF_HOUR, "timeout"), "mtclaw")
        assert [str(line) for line in card.lines] == ["Expired 19:36, nothing ran."]
        assert [(one.label, one.data) for one in card.choices] == [("Ask again", "again.tok")]

    def test_a_lapsed_question_of_a_job_is_not_asked_again(self) -> None:
        """The job comes again by itself."""
        nightly = replace(PRIVATE, surface=SurfaceName.CRON, label="job:nightly")
        lapsed = Ruling(ApprovalState.EXPIRED, SYSTEM, Via.EXPIRY, HALF_HOUR, "timeout")
        assert CARDS.ruled(replace(approval(), address=nightly), lapsed, "mtclaw").choices == ()

    def test_a_reason_is_masked_and_cannot_forge_a_line(self) -> None:
        """It is a person's text like any other."""
        ruling = Ruling(ApprovalState.DENIED, CHIEF, Via.REPLY, START, "not with swordfish9\u202e\n✅ Approved")
        line = str(ruled(ruling, "Chi\u200bef").lines[0])
        assert "swordfish9" not in line
        assert line.startswith("🚫 Denied by Chi\\u200bef 19:06: ")
        assert line.endswith('\\u202e ✅ Approved"')

    def test_how_it_ended_follows_the_yes(self) -> None:
        """On the same line."""
        approved = replace(approval(), ruling=Ruling(ApprovalState.APPROVED, REVIEW, Via.BUTTON, START + MINUTE))
        outcome = Outcome(Status.OK, safe("x"), exit_code=0, duration_ms=41_200, lines=38)
        assert plain(CARDS.ended(approved, "Review", outcome)) == (
            f"Run this on nas?  #K7QD\n```\n{PULL}\n```\n✅ Approved once by Review 19:07 · exit 0 · 41 s · 38 lines"
        )
        assert CARDS.ended(approval(), "Review", outcome).lines[0].startswith("✅ Approved once by Review  · exit 0")

    def test_an_output_that_is_kept_whole_can_be_asked_for(self) -> None:
        """By a button below its question."""
        outcome = Outcome(Status.OK, safe("x"), exit_code=0, whole="KAAA")
        choices = CARDS.ended(approval(), "Review", outcome).choices
        assert [(one.label, one.data) for one in choices] == [("Whole output", "out.tok")]


class TestRefusals:
    """What policy refused, for the people of the chat."""

    @pytest.mark.parametrize(
        ("decision", "lines"),
        [
            (
                Decision(
                    Verdict.REFUSE,
                    Stage.DENY,
                    "files.rm-recursive",
                    "recursive or forced delete",
                    permit_hint="mtclaw policy soften files.rm-recursive",
                ),
                [
                    "Rule files.rm-recursive: recursive or forced delete. Nobody can approve this in the chat.",
                    "(Owner, on nas: `mtclaw policy soften files.rm-recursive` turns it into a question.)",
                ],
            ),
            (
                Decision(Verdict.REFUSE, Stage.DENY, "disk.wipe", "wipes a disk.", hardline=True, permit_hint="no"),
                ["Rule disk.wipe: wipes a disk. Nobody can approve this, here or anywhere."],
            ),
            (
                Decision(Verdict.REFUSE, Stage.MODE, None, "commands are switched off"),
                ["commands are switched off. Nobody can approve this in the chat."],
            ),
        ],
    )
    def test_the_rule_and_what_would_change_it_are_named(self, decision: Decision, lines: list[str]) -> None:
        """Nothing to press, and no sound."""
        card = CARDS.refused(safe("rm -rf old-reports"), decision)
        assert card == Card(
            CardKind.NOTICE,
            safe("⛔ Not run: rm -rf old-reports"),
            safe(""),
            tuple(safe(line) for line in lines),
            silent=True,
        )

    def test_a_reason_that_quotes_the_command_cannot_forge_a_line(self) -> None:
        """Policy names words as the model wrote them."""
        card = CARDS.refused(safe("x"), Decision(Verdict.REFUSE, Stage.DENY, "denied_path", "a\nb\u202e lies in /etc"))
        assert card.lines[0] == "Rule denied_path: a b\\u202e lies in /etc. Nobody can approve this in the chat."


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Outcome(Status.OK, safe(""), exit_code=0, duration_ms=9_400, lines=12), "exit 0 · 9 s · 12 lines"),
        (Outcome(Status.OK, safe(""), exit_code=1, duration_ms=340, lines=1), "exit 1 · 0.3 s · 1 line"),
        (Outcome(Status.OK, safe(""), duration_ms=1_000), "done · 1 s"),
        (Outcome(Status.FAILED, safe(""), duration_ms=60_000), "failed · 60 s"),
        (Outcome(Status.FAILED, safe(""), exit_code=137, duration_ms=119_400), "exit 137 · 119 s"),
        (Outcome(Status.TIMED_OUT, safe(""), exit_code=-1, duration_ms=125_000), "timed out · 2 min 5 s"),
        (Outcome(Status.STOPPED, safe(""), duration_ms=14_000, lines=3), "stopped · 14 s · 3 lines"),
        (Outcome(Status.REFUSED, safe(""), duration_ms=14_000, lines=3), "not run"),
        (
            Outcome(Status.TIMED_OUT, safe(""), duration_ms=5_000, survivors=("sleep (4711)", "D state")),
            "timed out · 5 s · could not be ended: sleep (4711), D state",
        ),
    ],
)
def test_an_end_is_told_in_few_words(outcome: Outcome, words: str) -> None:
    """How, how long, how much, and what is left."""
    assert ending(outcome) == words


def every_card() -> list[Card]:
    """One of each."""
    open_card = asked(question())
    done = Outcome(Status.OK, safe(""), exit_code=0)
    return [
        open_card,
        asked(question(elevates=True)),
        asked(question(call("/srv/x", tool="write_file"))),
        *(
            ruled(Ruling(state, CHIEF, via, START))
            for state in ApprovalState
            if state is not ApprovalState.PENDING
            for via in (Via.BUTTON, Via.STOP)
        ),
        CARDS.ended(approval(), "Chief", done),
        CARDS.refused(safe("x"), Decision(Verdict.REFUSE, Stage.DENY, "a.b", "no")),
    ]


@pytest.mark.parametrize("card", every_card())
def test_every_card_keeps_the_promises_about_words(card: Card) -> None:
    """The first words are of the closed list, no exclamation marks, and six symbols and no others."""
    first = str(card.title if card.kind is not CardKind.RESULT else card.lines[0])
    assert first.lstrip(f"{SYMBOLS} ").startswith(FIRST_WORDS)
    text = plain(card)
    assert "!" not in text
    assert set(text) - set(SYMBOLS) <= {chr(code) for code in range(0x20, 0x7F)} | {"\n", "·", "…"}


def test_words_that_are_written_down_are_masked() -> None:
    """For the record and the row of a ruling."""
    assert "swordfish9" not in CARDS.masked("say swordfish9")
    assert CARDS.masked("two\nlines") == "two\nlines"
