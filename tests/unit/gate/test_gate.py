"""The gate: no record, no run; and a cancellation at any moment leaves the record telling the truth."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from mtbot.domain.call import Call, Outcome, Permit, Risk, Status, ToolDefault, ToolSpec
from mtbot.domain.errors import NotUsable, ProcessesDown, ProviderError, ProviderKind, RecordUnavailable
from mtbot.domain.ids import ApprovalId, CallId, SafeText
from mtbot.domain.ports import Tool
from mtbot.domain.record import ApprovalState, AuditEvent, EventDraft, EventKind, Word
from mtbot.domain.turn import Address, ToolCall, TurnState
from mtbot.gate.consent import Consent, Judges
from mtbot.gate.facts import FactFinder, Surroundings
from mtbot.gate.gate import CallStopped, Done, Gate, GateProfile, Waiting
from mtbot.policy.ruleset import Mode, RuleSet
from mtbot.policy.sensitive import Places
from mtbot.tools.world import HostWorld
from tests.unit.approvals.office import Office, yes
from tests.unit.approvals.samples import CHIEF, PRIVATE, REDACTOR, Names, people, state

CRON = replace(PRIVATE, surface=type(PRIVATE.surface).CRON, label="job:nightly")
SPEC = ToolSpec(
    "exec",
    "Run.",
    {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    Risk.EXEC,
    ToolDefault.ASK,
)


@dataclass
class Shell:
    """The exec tool without a shell; it does as it is told by a test."""

    fault: Exception | None = None
    holds: asyncio.Event | None = None
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    permits: list[Permit] = field(default_factory=list)
    spec: ToolSpec = SPEC

    async def perform(self, call: Call, permit: Permit, progress: Callable[[SafeText], None]) -> Outcome:
        """Perform; a cancelled command still tells how it ended."""
        self.permits.append(permit)
        self.begun.set()
        if self.fault is not None:
            raise self.fault
        if self.holds is not None:
            try:
                await self.holds.wait()
            except asyncio.CancelledError:
                return Outcome(Status.STOPPED, REDACTOR.mask("status: stopped by the person"))
        return Outcome(Status.OK, REDACTOR.mask("exit_code: 0"), exit_code=0)


@dataclass
class Log:
    """The record of an office, with the faults and pauses that a test wants at an event's kind."""

    office: Office
    faults: dict[EventKind, Exception] = field(default_factory=dict)
    pauses: dict[EventKind, asyncio.Event] = field(default_factory=dict)
    reached: asyncio.Event = field(default_factory=asyncio.Event)

    async def append(self, *drafts: EventDraft) -> tuple[AuditEvent, ...]:
        """Write."""
        await self._meet(drafts[0].kind)
        return await self.office.stores.trail.append(*drafts)

    async def start(self, draft: EventDraft, approval: ApprovalId | None) -> AuditEvent:
        """Start."""
        await self._meet(draft.kind)
        return await self.office.stores.trail.start(draft, approval)

    async def _meet(self, kind: EventKind) -> None:
        if kind in self.faults:
            raise self.faults[kind]
        if kind in self.pauses:
            self.reached.set()
            await self.pauses[kind].wait()


class Classifier:
    """Answers as told."""

    def __init__(self, answer: str | Exception) -> None:
        self.answer = answer

    async def ask(self, command: str, cwd: str, shell: object) -> str:
        """Its raw answer."""
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@dataclass
class House:
    """A gate over an office."""

    office: Office
    cwd: str
    shell: Shell = field(default_factory=Shell)
    mode: Mode = Mode.APPROVAL
    classifier: Classifier | None = None
    tools: Mapping[str, Tool] | None = None
    attended: bool | None = None

    def __post_init__(self) -> None:
        self.log = Log(self.office)
        self.names = Names()

    def gate(self) -> Gate:
        """As bootstrap builds it."""
        home = "/nowhere"
        rules = RuleSet(mode=self.mode, places=Places(home=home))
        around = Surroundings(home, (), containment_ready=self.mode is Mode.AUTO, attended=self.attended)

        def profile(_address: Address) -> GateProfile:
            tools = {"exec": self.shell} if self.tools is None else self.tools
            return GateProfile(tools, rules, self.cwd, ("/bin/bash", "-c"), 5.0, around)

        judges = Judges(self.office.desk(), lambda: self.office.people, self.classifier)
        world = HostWorld(home=home, path=("/usr/bin", "/bin"), places=rules.places)
        consent = Consent(judges, self.log, self.office.clock, REDACTOR)
        return Gate(profile, FactFinder(world), consent, self.log, self.office.clock, REDACTOR)

    async def submit(self, command: str = "touch x", address: Address = PRIVATE) -> Done | Waiting:
        """A fresh call."""
        return await self.gate().submit(wanted(command), turn(command, address), self.names)

    async def resume(self, approval: ApprovalId, command: str = "touch x") -> Done:
        """Go on after a ruling."""
        row = await self.office.stores.consents.get(approval)
        return await self.gate().resume(wanted(command), turn(command), row)

    async def kinds(self) -> list[EventKind]:
        """What is on record, in order."""
        found = await self.office.stores.trail.page(limit=100)
        return [event.draft.kind for event in reversed(found)]


def wanted(command: str) -> ToolCall:
    """What the model wrote."""
    return ToolCall(CallId("m1"), "exec", f'{{"command": "{command}"}}')


def turn(command: str, address: Address = PRIVATE) -> TurnState:
    """The turn that it belongs to."""
    return replace(state(), address=address, open_calls=(wanted(command),))


@pytest.fixture
def house(office: Office, tmp_path: Path) -> House:
    """A gate in an empty directory."""
    return House(office, str(tmp_path))


async def asked(house: House, command: str = "touch x") -> ApprovalId:
    """Have a call asked about."""
    waiting = await house.submit(command)
    assert isinstance(waiting, Waiting)
    return waiting.approval


async def approved(house: House) -> ApprovalId:
    """Have it approved too."""
    ident = await asked(house)
    await house.office.desk().decide(ident, yes())
    return ident


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


async def cancelled(task: "asyncio.Task[Done]", *, times: int = 1) -> Outcome:
    """Cancel, and see what comes up."""
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(CallStopped) as stopped:
        await task
    return stopped.value.done.outcome


@pytest.mark.parametrize("times", [1, 3])
async def test_a_call_that_is_cancelled_is_stopped_and_its_end_recorded(house: House, times: int) -> None:
    """However often; and the question says how it ended."""
    ident = await approved(house)
    house.shell.holds = asyncio.Event()
    task = asyncio.create_task(house.resume(ident))
    await house.shell.begun.wait()
    outcome = await cancelled(task, times=times)
    assert outcome.status is Status.STOPPED
    assert (await house.kinds())[-1] in (EventKind.FINISHED, EventKind.FAILED)
    titles = [str(item.card.lines[0]) for item in await house.office.said() if item.card is not None]
    assert "· stopped ·" in titles[-1]


async def test_a_cancel_while_the_start_is_written_runs_nothing(house: House) -> None:
    """The start is on record by then, so its end is written too: stopped before it began."""
    ident = await approved(house)
    house.log.pauses[EventKind.STARTED] = asyncio.Event()
    task = asyncio.create_task(house.resume(ident))
    await house.log.reached.wait()
    task.cancel()
    await asyncio.sleep(0)
    house.log.pauses[EventKind.STARTED].set()
    with pytest.raises(CallStopped) as stopped:
        await task
    assert str(stopped.value.done.outcome.text) == "Stopped before it began."
    assert house.shell.permits == []
    assert (await house.kinds())[-2:] == [EventKind.STARTED, EventKind.FAILED]


async def test_a_cancel_while_the_end_is_written_keeps_the_outcome(house: House) -> None:
    """It has run, and the history must say so."""
    ident = await approved(house)
    house.log.pauses[EventKind.FINISHED] = asyncio.Event()
    task = asyncio.create_task(house.resume(ident))
    await house.log.reached.wait()
    task.cancel()
    await asyncio.sleep(0)
    house.log.pauses[EventKind.FINISHED].set()
    with pytest.raises(CallStopped) as stopped:
        await task
    assert stopped.value.done.outcome.status is Status.OK
    assert (await house.kinds())[-1] is EventKind.FINISHED


async def test_a_cancel_while_the_question_is_written_leaves_it_open(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever stopped the turn finds it and closes it; it is never half there."""
    go, reached = asyncio.Event(), asyncio.Event()
    whole = house.office.stores.consents.open

    async def slow(*args: object) -> None:
        reached.set()
        await go.wait()
        await whole(*args)  # type: ignore[arg-type] # passed on as they came

    monkeypatch.setattr(house.office.stores.consents, "open", slow)
    task = asyncio.create_task(house.submit())
    await reached.wait()
    task.cancel()
    await asyncio.sleep(0)
    go.set()
    waiting = await task
    assert isinstance(waiting, Waiting)
    assert [row.id for row in await house.office.stores.consents.pending()] == [waiting.approval]


async def test_a_cancel_while_nobody_is_asked_goes_up(house: House) -> None:
    """There is no question that could stand, so the turn ends."""
    house.log.pauses[EventKind.APPROVAL_RESOLVED] = asyncio.Event()
    task = asyncio.create_task(house.submit(address=CRON))
    await house.log.reached.wait()
    task.cancel()
    await asyncio.sleep(0)
    house.log.pauses[EventKind.APPROVAL_RESOLVED].set()
    with pytest.raises(asyncio.CancelledError):
        await task


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
