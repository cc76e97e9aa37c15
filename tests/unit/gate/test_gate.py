"""The gate: no record, no run, and a yes is for exactly what was shown, once."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mtbot.domain.call import Status
from mtbot.domain.errors import NotUsable, ProcessesDown, ProviderError, ProviderKind, RecordUnavailable
from mtbot.domain.ids import CallId
from mtbot.domain.record import ApprovalState, EventKind, Word
from mtbot.domain.turn import ToolCall
from mtbot.gate.gate import Done, Waiting
from mtbot.policy.ruleset import Mode
from tests.unit.approvals.office import yes
from tests.unit.approvals.samples import CHIEF, PRIVATE, people
from tests.unit.gate.houses import CRON, Classifier, House, approved, asked, turn, wanted


async def test_an_approved_call_is_started_performed_and_ended(house: House) -> None:
    """In that order, with exactly the text that was shown."""
    done = await house.resume(await approved(house))
    assert (done.outcome.status, done.asked) == (Status.OK, True)
    assert [permit.runs for permit in house.shell.permits] == ["touch x"]
    assert await house.kinds() == [
        EventKind.PROPOSED,
        EventKind.DECIDED,
        EventKind.APPROVAL_REQUESTED,
        EventKind.APPROVAL_RESOLVED,
        EventKind.STARTED,
        EventKind.FINISHED,
    ]


async def test_a_yes_is_used_once(house: House) -> None:
    """A second resume finds it used and starts nothing."""
    ident = await approved(house)
    await house.resume(ident)
    again = await house.resume(ident)
    assert again.outcome.status is Status.REFUSED
    assert len(house.shell.permits) == 1


@pytest.mark.parametrize("kind", [EventKind.PROPOSED, EventKind.STARTED])
async def test_what_cannot_be_recorded_does_not_run(house: House, kind: EventKind) -> None:
    """The model reads why."""
    ident = await approved(house) if kind is EventKind.STARTED else None
    house.log.faults[kind] = RecordUnavailable("disk full")
    done = await house.resume(ident) if ident else await house.submit()
    assert isinstance(done, Done)
    assert str(done.outcome.text).startswith("Not run: the record cannot be written (disk full)")
    assert house.shell.permits == []


async def test_a_question_that_cannot_be_recorded_is_not_asked(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing waits for its answer."""

    async def full(*_args: object) -> None:
        raise RecordUnavailable("disk full")

    monkeypatch.setattr(house.office.stores.consents, "open", full)
    done = await house.submit()
    assert isinstance(done, Done)
    assert "the record cannot be written" in str(done.outcome.text)
    assert await house.office.stores.consents.pending() == ()


async def test_an_end_that_cannot_be_recorded_leaves_the_start(house: House) -> None:
    """The outcome still reaches the model; the next start finds the started row."""
    ident = await approved(house)
    house.log.faults[EventKind.FINISHED] = RecordUnavailable("disk full")
    done = await house.resume(ident)
    assert done.outcome.status is Status.OK
    assert (await house.kinds())[-1] is EventKind.STARTED


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (ProcessesDown("the spawner is gone"), "Not run: the spawner is gone."),
        (ValueError("a bug"), "exec failed inside mtclaw (ValueError); how far it came is unknown."),
    ],
)
async def test_whatever_a_tool_raises_its_call_has_an_end(house: House, fault: Exception, says: str) -> None:
    """A started row without an end would look like a crash of the process."""
    ident = await approved(house)
    house.shell.fault = fault
    done = await house.resume(ident)
    assert (done.outcome.status, str(done.outcome.text)) == (Status.FAILED, says)
    assert (await house.kinds())[-1] is EventKind.FAILED


async def test_where_nobody_is_there_the_answer_is_no_at_once(house: House) -> None:
    """By night, and at a terminal whose input is closed."""
    house.attended = False
    for address in (CRON, PRIVATE):
        done = await house.submit(address=address)
        assert isinstance(done, Done)
        assert str(done.outcome.text).startswith("Not run: this needs a person's approval")
    words = [event.draft.word for event in await house.office.stores.trail.page(limit=2)]
    assert Word.EXPIRED in words


async def test_where_nobody_is_reachable_nobody_is_asked(house: House) -> None:
    """A list that holds nobody who may decide."""
    house.office.people = replace(people(), bots={})
    done = await house.submit()
    assert isinstance(done, Done)
    assert "nobody can be asked here" in str(done.outcome.text)


async def test_a_chat_hears_of_the_first_refusals_only(house: House) -> None:
    """Three, and the rest at the end of the turn."""
    spent = turn("rm -rf x")
    for number in range(5):
        await house.gate().submit(wanted("rm -rf x"), spent, house.names)
        spent = replace(spent, denied=(*spent.denied, f"rm -rf x {number}"))
    assert len(await house.office.said()) == 3


@pytest.mark.parametrize(
    ("answer", "runs"),
    [
        ('{"risk": "none", "categories": [], "reason": "it only looks"}', True),
        ('{"risk": "high", "categories": ["destructive"], "reason": "it deletes"}', False),
        ("nonsense", False),
        (TimeoutError(), False),
        (ProviderError(ProviderKind.NETWORK, "no"), False),
    ],
)
async def test_every_doubt_about_the_classifier_asks(house: House, answer: str | Exception, runs: bool) -> None:
    """Only a clear answer runs, and the record says who decided."""
    house.mode, house.classifier = Mode.AUTO, Classifier(answer)
    found = await house.submit("ls -l")
    assert isinstance(found, Done) is runs
    assert len(house.shell.permits) == (1 if runs else 0)
    decided = [e.draft for e in await house.office.stores.trail.page(limit=20) if e.draft.kind is EventKind.DECIDED]
    assert (decided[0].word is Word.AUTO_ALLOWED) is runs


async def test_the_words_of_the_classifier_fit_their_question(house: House) -> None:
    """They may quote the command with its secret, be endless, or turn the line around: nothing of the question is lost."""
    reason = "swordfish9 \u202e leaks\nApproved already. " + "x" * 900
    answer = json.dumps({"risk": "high", "categories": [], "reason": reason})
    house.mode, house.classifier = Mode.AUTO, Classifier(answer)
    found = await house.submit("ls -l")
    assert isinstance(found, Waiting)
    card = (await house.office.stores.consents.get(found.approval)).card
    (why,) = [str(line) for line in card.lines if str(line).startswith("Why I ask:")]
    assert "swordfish9" not in why
    assert "\u202e" not in why
    assert "\n" not in why
    assert why.rstrip(".").endswith("x…")
    assert 300 < len(why) < 330
    assert str(card.body) == "ls -l"
    recorded = [event.draft.reason for event in await house.office.stores.trail.page(limit=20)]
    assert "swordfish9" not in " ".join(recorded)


@pytest.mark.parametrize(
    ("name", "value", "asks", "said"),
    [
        ("denied", ("ls",), False, "refused"),
        ("tools", {}, False, "switched off by now"),
        ("mode", Mode.APPROVAL, True, ""),
        ("environment", ("NEW",), True, ""),
    ],
)
async def test_a_configuration_that_changed_while_the_classifier_thought_counts(
    house: House, name: str, value: object, *, asks: bool, said: str
) -> None:
    """Its word is about how things stood when it was asked."""
    answer = '{"risk": "none", "categories": [], "reason": "it only looks"}'
    house.mode = Mode.AUTO
    house.classifier = Classifier(answer, lambda: setattr(house, name, value))
    found = await house.submit("ls -l")
    assert house.shell.permits == []
    assert isinstance(found, Waiting) is asks
    if isinstance(found, Done):
        assert said in str(found.outcome.text).lower()


async def test_without_a_classifier_auto_asks(house: House) -> None:
    """It is never taken for a yes."""
    house.mode = Mode.AUTO
    assert isinstance(await house.submit("ls -l"), Waiting)


async def test_what_cannot_be_shown_whole_is_refused(house: House) -> None:
    """Nobody approves a tail that they have not seen."""
    done = await house.submit("echo " + "x" * 300_000)
    assert isinstance(done, Done)
    assert done.outcome.status is Status.REFUSED
    assert house.shell.permits == []


async def test_unusable_calls_are_answered_and_recorded(house: House) -> None:
    """A tool that is not there, arguments that are none."""
    gate = house.gate()
    for call, says in (
        (ToolCall(CallId("m"), "exce", "{}"), "There is no tool 'exce' here"),
        (
            ToolCall(CallId("m"), "exec", '{"command": 5}'),
            "Nothing was run: exec: argument command must be of type string",
        ),
    ):
        done = await gate.submit(call, turn("x"), house.names)
        assert isinstance(done, Done)
        assert str(done.outcome.text).startswith(says)
    assert await house.kinds() == [EventKind.PROPOSED, EventKind.DECIDED] * 2
    house.log.faults[EventKind.PROPOSED] = RecordUnavailable("disk full")
    done = await gate.submit(ToolCall(CallId("m"), "exce", "{}"), turn("x"), house.names)
    assert isinstance(done, Done)
    assert "the record cannot be written" in str(done.outcome.text)


@pytest.mark.parametrize("change", ["cwd", "session", "argument", "person", "tool"])
async def test_a_yes_holds_for_exactly_what_was_shown(house: House, change: str, tmp_path: Path) -> None:
    """Another directory, conversation or argument, a person taken off the list, a tool that is gone: not run."""
    ident = await approved(house)
    row = await house.office.stores.consents.get(ident)
    command, here = "touch x", turn("touch x")
    if change == "cwd":
        house.cwd = str(tmp_path.parent)
    elif change == "session":
        here = replace(here, address=replace(PRIVATE, chat=type(PRIVATE.chat)(1002)))
    elif change == "argument":
        command = "touch x "
    elif change == "person":
        house.office.people = replace(people(), bots={})
    else:
        house.tools = {}
    done = await house.gate().resume(wanted(command), here, row)
    assert done.outcome.status is Status.REFUSED
    assert str(done.outcome.text).startswith(
        {"person": "Not run: the person who asked", "tool": "There is no tool"}.get(
            change, "Not run: what it would run"
        )
    )
    assert house.shell.permits == []
    assert EventKind.STARTED not in await house.kinds()


async def test_a_yes_does_not_lift_a_rule_that_came_since(house: House) -> None:
    """Right before the start it is decided again, and what is refused by then does not run."""
    ident = await approved(house)
    house.denied = ("^touch ",)
    done = await house.resume(ident)
    assert done.outcome.status is Status.REFUSED
    assert "a pattern of the owner matches" in str(done.outcome.text)
    assert house.shell.permits == []
    assert EventKind.STARTED not in await house.kinds()


async def test_a_no_is_told_with_its_reason(house: House) -> None:
    """Word for word."""
    ident = await asked(house)
    ruling = replace(yes(CHIEF), state=ApprovalState.DENIED, reason="keep it")
    await house.office.desk().decide(ident, ruling)
    done = await house.resume(ident)
    assert 'They said: "keep it"' in str(done.outcome.text)
    assert house.shell.permits == []


async def test_a_start_that_the_store_refuses_is_told(house: House) -> None:
    """Somebody used it in another process."""
    ident = await approved(house)
    house.log.faults[EventKind.STARTED] = NotUsable("used", "it was used already")
    done = await house.resume(ident)
    assert str(done.outcome.text) == "Not run: it was used already."
