"""What a chat hears of its jobs, and of nobody else's."""

from dataclasses import dataclass, field, replace

import pytest

from mtbot.agent.context import mended
from mtbot.domain.call import Outcome, Status
from mtbot.domain.ids import BotName, CallId, SafeText
from mtbot.domain.job import Job, JobId, Killed
from mtbot.domain.memory import from_outside
from mtbot.domain.ports import TurnFlush
from mtbot.domain.turn import Inbound, InboundKind, SourceRef
from mtbot.gateway.background import JobDesk, fenced
from mtbot.policy.people import BotPeople, People
from tests.unit.approvals.samples import CHIEF, GROUP, MINUTE, PRIVATE, REDACTOR, START, Clock, people, safe

RUNNING = Job(JobId("J7Q2"), CallId("c1"), PRIVATE, CHIEF, safe("sh `job`.sh"), START - 5 * MINUTE, 3600.0)
SECOND = replace(RUNNING, id=JobId("J8XX"), command=safe("x" * 200))
ELSEWHERE = replace(RUNNING, id=JobId("JGGG"), address=GROUP)


def over(status: Status = Status.OK, text: str = "exit_code: 3\noutput:\nlast line\n", code: int | None = 3) -> Job:
    """A job that has ended."""
    return replace(RUNNING, id=JobId("J3XA"), outcome=Outcome(status, safe(text), code, 41_000))


@dataclass
class Book:
    """Jobs as a test sets them."""

    jobs: list[Job]
    killed: Killed = Killed.ENDED
    written: str = ""

    def all(self) -> tuple[Job, ...]:
        """All."""
        return tuple(self.jobs)

    def find(self, name: str) -> Job | None:
        """By name."""
        return next((job for job in self.jobs if job.id == name.strip().upper()), None)

    def tail(self, job: Job) -> SafeText:
        """What it wrote."""
        return safe(self.written)

    async def kill(self, job: JobId) -> Killed:
        """End it."""
        return self.killed


@dataclass
class History:
    """Keeps what is flushed."""

    flushed: list[TurnFlush] = field(default_factory=list)

    async def flush(self, flush: TurnFlush, now_ms: int) -> None:
        """Keep."""
        self.flushed.append(flush)


def desk(book: Book, history: History | None = None, who: People | None = None) -> JobDesk:
    """A desk over them."""
    return JobDesk(book, history or History(), lambda: who or people(), Clock(), REDACTOR)  # type: ignore[arg-type] # flush is all


def said(command: str, text: str = "") -> Inbound:
    """A command in the private chat."""
    return Inbound(PRIVATE, CHIEF, SourceRef(), InboundKind.COMMAND, text, command=command)


async def test_the_list_is_of_this_chat() -> None:
    """How long each has run and may run, shortened commands, and how the last ones ended."""
    told = await desk(Book([over(), RUNNING, SECOND, ELSEWHERE])).jobs(said("jobs"))
    assert told.splitlines() == [
        "J3XA: exit 3 · 41 s: `sh ´job´.sh`",
        "J7Q2: running for 5 min, at most 55 min more: `sh ´job´.sh`",
        f"J8XX: running for 5 min, at most 55 min more: `{'x' * 99}…`",
    ]
    assert await desk(Book([ELSEWHERE])).jobs(said("jobs")) == "No jobs here."


async def test_a_tail_is_of_one_job_and_short() -> None:
    """From the start of a line; an unknown one is answered with the way to find it."""
    book = Book([RUNNING, ELSEWHERE])
    assert await desk(book).tail(said("tail", "j7q2")) == "Job J7Q2 has not written a whole line yet."
    book.written = "".join(f"line {number}\n" for number in range(2000))
    shown = await desk(book).tail(said("tail", "J7Q2"))
    assert shown.startswith("Job J7Q2, running for 5 min, at most 55 min more:\n```\n…\nline ")
    assert (shown.endswith("line 1999\n```"), len(shown) < 3200) == (True, True)
    assert await desk(book).tail(said("tail")) == "Which one? Say /tail ID; /jobs lists them."
    assert await desk(book).tail(said("tail", "JGGG")) == "There is no job JGGG here; /jobs lists them."


@pytest.mark.parametrize(
    ("killed", "words"),
    [
        (Killed.ENDED, "⏹ Stopped: job J7Q2."),
        (Killed.ENDING, "⏹ Stopping job J7Q2; it has not ended yet."),
        (Killed.NOT_RUNNING, "Job J7Q2 does not run any more."),
    ],
)
async def test_a_kill_says_what_came_of_it(killed: Killed, words: str) -> None:
    """By name, or all that run here."""
    book = Book([over(), RUNNING, ELSEWHERE], killed)
    assert await desk(book).kill(said("kill", "J7Q2")) == words
    assert await desk(book).kill(said("kill", "All")) == words
    assert await desk(book).kill(said("kill", "x" * 30)) == f"There is no job {'x' * 20} here; /jobs lists them."
    assert await desk(Book([over()])).kill(said("kill", "all")) == "No job runs here."


def test_what_stop_leaves_alone_is_named() -> None:
    """One with its name, several with the way to end them, none with nothing."""
    assert desk(Book([over()])).going_on(PRIVATE) == ""
    assert desk(Book([RUNNING, ELSEWHERE])).going_on(PRIVATE) == "Job J7Q2 goes on; /kill J7Q2 ends it."
    both = desk(Book([RUNNING, SECOND])).going_on(PRIVATE)
    assert both == "Jobs J7Q2, J8XX go on; /kill all ends them."


async def test_the_report_and_the_note_are_one_write() -> None:
    """The chat reads how it ended and its last lines; the model reads the same in the history."""
    history = History()
    place = desk(Book([]), history)
    woken: list[bool] = []
    place.wake = lambda: woken.append(True)
    await place.report(over(text="exit_code: 3\noutput:\nkey swordfish9\n```\nlast"))
    (flush,) = history.flushed
    (item,) = flush.items
    shown = str(item.text)
    assert shown.startswith("Job J3XA ended: exit 3 · 41 s\n```\nsh `job`.sh\n```\n````\nkey ‹secret:")
    assert shown.endswith("\n```\nlast\n````")
    assert [message.role.value for message in flush.messages] == ["user", "assistant", "tool", "assistant"]
    assert mended(flush.messages) == flush.messages
    told = [message.content for message in flush.messages if "last" in message.content]
    assert told == [flush.messages[2].content]
    assert "swordfish9" not in told[0]
    assert told[0].startswith("The background job J3XA ended by now: exit 3 · 41 s.")
    assert (flush.turn, flush.address, woken) == ("job-c1", PRIVATE, [True])


async def test_what_came_from_outside_stays_marked() -> None:
    """However much of the result is left out: the next turn is told that there is such text in it."""
    history = History()
    job = over()
    assert job.outcome is not None
    await desk(Book([]), history).report(replace(job, outcome=replace(job.outcome, tainted=True)))
    await desk(Book([]), history).report(job)
    marked = [any(map(from_outside, flush.messages)) for flush in history.flushed]
    assert marked == [True, False]


async def test_a_stopped_one_is_reported_as_stopped() -> None:
    """Without output there is no empty block."""
    history = History()
    await desk(Book([]), history).report(over(Status.STOPPED, "status: stopped\noutput: (no output)", None))
    (item,) = history.flushed[0].items
    assert str(item.text) == "⏹ Stopped: job J3XA · stopped · 41 s\n```\nsh `job`.sh\n```"


async def test_who_is_no_longer_listed_is_told_nothing() -> None:
    """The record has it; the model's history too."""
    history = History()
    nobody = People({}, None, {BotName("ops"): BotPeople(frozenset())})
    await desk(Book([]), history, nobody).report(over())
    assert [(flush.items, len(flush.messages)) for flush in history.flushed] == [((), 4)]


def test_a_block_holds_whatever_is_in_it() -> None:
    """The fence is longer than any run of backticks inside."""
    assert fenced("a") == "```\na\n```"
    assert fenced("a ```` b") == "`````\na ```` b\n`````"
