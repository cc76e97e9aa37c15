"""A scripted model, a scripted gate, and an agent between them."""

from collections.abc import Awaitable, Sequence
from dataclasses import replace

from mtbot.agent.budget import Purse
from mtbot.agent.context import Past
from mtbot.agent.loop import Agent, Mind
from mtbot.domain.call import Decision, Outcome, Risk, Stage, Status, ToolDefault, ToolSpec, Verdict
from mtbot.domain.errors import ProviderError
from mtbot.domain.ids import ApprovalId, BotName, CallId, ChatId, Digest, SessionId, TurnId
from mtbot.domain.model import Finish, ModelAnswer, ModelRequest, OnText
from mtbot.domain.ports import Names
from mtbot.domain.record import Approval, ApprovalState, Card, CardKind, Ruling, Via
from mtbot.domain.spending import Budgets, DayOfPerson, Spent
from mtbot.domain.turn import (
    Actor,
    ActorKind,
    Address,
    Message,
    Role,
    SourceRef,
    SurfaceName,
    ToolCall,
    TurnEnd,
    TurnState,
    Usage,
)
from mtbot.gate.answers import refused
from mtbot.gate.gate import Done, Waiting
from mtbot.redaction.mask import Redactor
from tests.unit.approvals.samples import Names as SampleNames

MASK = Redactor({}, b"key").mask
CHIEF = Actor(ActorKind.TELEGRAM, 1001, "Chief")
PRIVATE = Address(SurfaceName.PRIVATE, BotName("ops"), ChatId(1001))
CRON = Address(SurfaceName.CRON, BotName(""), ChatId(0), label="job:nightly")
EXEC = ToolSpec("exec", "Run.", {"type": "object"}, Risk.EXEC, ToolDefault.ASK)
RUN = Decision(Verdict.RUN, Stage.ALLOW, "pack.ps", "allowed")
ASK = Decision(Verdict.ASK, Stage.MODE, None, "no rule allows it")
DENY = Decision(Verdict.REFUSE, Stage.DENY, "files.rm", "forced delete")
TOKENS = Usage(10, 2)

Step = ModelAnswer | ProviderError | Awaitable[ModelAnswer]
Judged = Done | Waiting | BaseException


class Model:
    """Says one thing after another and keeps what it was asked."""

    def __init__(self, *script: Step) -> None:
        self.script = list(script)
        self.asked: list[ModelRequest] = []
        self.watched: list[OnText | None] = []

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelAnswer:
        """The next step of the script."""
        self.asked.append(request)
        self.watched.append(on_text)
        step = self.script.pop(0)
        if isinstance(step, ProviderError):
            raise step
        return step if isinstance(step, ModelAnswer) else await step


class ScriptedGate:
    """Judges one call after another; ``seen`` are the commands in their order, ``resumed`` what was gone on with."""

    def __init__(self, *script: Judged) -> None:
        self.script = list(script)
        self.seen: list[str] = []
        self.resumed: list[tuple[str, ApprovalId]] = []

    async def submit(self, wanted: ToolCall, state: TurnState, names: Names) -> Done | Waiting:
        """The next judgement, for the first open call."""
        assert state.open_calls[0] == wanted
        self.seen.append(wanted.arguments)
        step = self._next()
        assert isinstance(step, Done | Waiting)
        return step

    async def resume(self, wanted: ToolCall, state: TurnState, approval: Approval) -> Done:
        """The next judgement, for a call that a person ruled on."""
        self.resumed.append((wanted.arguments, approval.id))
        step = self._next()
        assert isinstance(step, Done)
        return step

    def _next(self) -> Judged:
        step = self.script.pop(0)
        if isinstance(step, BaseException):
            raise step
        return step


class Book:
    """A book in memory: what was entered, and what it says was spent before."""

    def __init__(self, session: Usage = Usage(), person: Usage = Usage(), everybody: Usage = Usage()) -> None:  # noqa: B008 - frozen
        self.before = Spent(session, person, everybody)
        self.paid: list[tuple[str, str, Usage]] = []
        self.read = 0

    async def add(self, person: str, day: str, usage: Usage) -> None:
        """Enter."""
        self.paid.append((person, day, usage))

    async def spent(self, session: SessionId, person: str, day: str) -> Spent:
        """What it said from the beginning."""
        del session, person, day
        self.read += 1
        return self.before

    async def last(self, session: SessionId) -> Usage:
        """Nothing."""
        del session
        return Usage()

    async def days(self, since: str) -> tuple[DayOfPerson, ...]:
        """None."""
        del since
        return ()


def purse(budgets: Budgets, book: Book) -> Purse:
    """A purse on a day of the year 2026."""
    return Purse(budgets, book, lambda: "2026-11-30")


def free_purse() -> Purse:
    """A purse without caps."""
    return purse(Budgets(), Book())


class Scene:
    """An agent between a scripted model and a scripted gate, and everything that it kept on its way."""

    def __init__(self, model: Model, gate: ScriptedGate, *, max_steps: int = 20, purse: Purse | None = None) -> None:
        self.model = model
        self.gate = gate
        self.kept: list[TurnState] = []
        mind = Mind(model, "sim-1", 0.5, (EXEC,), "You are mtclaw.", max_steps, 40, purse or free_purse())
        self.agent = Agent(gate, lambda _address: mind, SampleNames())

    async def advance(self, state: TurnState, history: Sequence[Message] = ()) -> TurnEnd:
        """One step."""
        return await self.agent.advance(state, Past(history), self.kept.append)

    async def resume(self, state: TurnState, approval: Approval) -> TurnEnd:
        """One step after a ruling."""
        return await self.agent.resume(state, approval, Past(), self.kept.append)


def scene(*script: Step, gate: Sequence[Judged] = (), max_steps: int = 20) -> Scene:
    """A scene with these scripts."""
    return Scene(Model(*script), ScriptedGate(*gate), max_steps=max_steps)


def begun(address: Address = PRIVATE) -> TurnState:
    """A turn that has only begun."""
    return TurnState(TurnId("t1"), address, CHIEF, SourceRef(5, 6), (Message(Role.USER, "is jellyfin ok?"),))


def says(text: str, finish: Finish = Finish.STOP, refusal: str = "") -> ModelAnswer:
    """An answer in words."""
    return ModelAnswer(text, (), finish, TOKENS, refusal)


def wants(*commands: str, finish: Finish = Finish.TOOL_CALLS, text: str = "") -> ModelAnswer:
    """An answer with calls; the command stands for the arguments."""
    calls = tuple(ToolCall(CallId(f"m{number}"), "exec", one) for number, one in enumerate(commands))
    return ModelAnswer(text, calls, finish, TOKENS)


def done(
    text: str = "exit_code: 0",
    decision: Decision | None = RUN,
    *,
    status: Status = Status.OK,
    shown: str = "docker ps",
    asked: bool = False,
    tainted: bool = False,
) -> Done:
    """A call that came to its end."""
    return Done(Outcome(status, MASK(text), tainted=tainted), decision, shown, asked)


def turned_down(text: str = "") -> Done:
    """A call that policy refused."""
    return done(text or refused(DENY), DENY, status=Status.REFUSED, shown="rm -rf x")


def parked_state(*commands: str) -> TurnState:
    """A turn whose first open call waits for a person."""
    answer = wants(*commands)
    state = begun().say(Message(Role.ASSISTANT, "", answer.calls))
    return replace(state, open_calls=answer.calls, step=1, spent=TOKENS)


def ruled(state: ApprovalState, via: Via = Via.BUTTON, decider: Actor = CHIEF) -> Approval:
    """A request that was ruled on."""
    card = Card(CardKind.QUESTION, MASK("Run this"), MASK("id"), ())
    ruling = None if state is ApprovalState.PENDING else Ruling(state, decider, via, 50)
    return Approval(
        ApprovalId("K7QD"),
        CallId("c1"),
        TurnId("t1"),
        PRIVATE,
        CHIEF,
        "exec",
        "id",
        Digest("00"),
        card,
        "tok",
        0,
        99,
        state=state,
        ruling=ruling,
    )


def contents(state: TurnState) -> list[tuple[Role, str]]:
    """Who said what in a turn."""
    return [(message.role, message.content) for message in state.messages]
