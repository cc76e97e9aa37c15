"""Consent at a real terminal: an answer is for the question that was shown before it was typed, and for no other."""

import asyncio
import io
import os
import select
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from mtbot.channels.terminal import LONGEST_MS, Terminal, TerminalInput
from mtbot.domain.ids import ApprovalId, BotName, ChatId
from mtbot.domain.record import ApprovalState, Card, CardKind, Choice, ChoiceAction, OutboxItem, OutKind, Via
from mtbot.domain.turn import Address, SurfaceName
from mtbot.redaction.mask import Redactor

SAFE = Redactor({}, b"key").mask
HERE = Address(SurfaceName.TERMINAL, BotName(""), ChatId(0), label="local")
LASTING = Choice("✅ Allow for 15 min", ChoiceAction.GRANT, "tok")
Verdict = tuple[str, ApprovalState, Via, str, int]


@dataclass
class Screen:
    """A terminal with somebody at its keyboard, and what was decided there."""

    keyboard: int
    terminal: Terminal
    seen: io.StringIO
    decided: list[Verdict] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self.keyboard, keys.encode())

    def decide(self, approval: ApprovalId, state: ApprovalState, via: Via, reason: str, lasts: int) -> None:
        """Note what the terminal tells."""
        self.decided.append((str(approval), state, via, reason, lasts))
        self.changed.set()

    async def ask(self, ident: str, *choices: Choice) -> None:
        """Show a question; it is read from the keyboard when this returns."""
        card = Card(CardKind.QUESTION, SAFE(f"Run this? #{ident}"), SAFE("ls\x1b[2J"), (), choices)
        await self.terminal.deliver(OutboxItem(OutKind.CARD, HERE, card=card, approval=ApprovalId(ident)), None)
        await asyncio.sleep(0)

    async def verdict(self) -> Verdict:
        """The next decision."""
        async with asyncio.timeout(5):
            await self.changed.wait()
        self.changed.clear()
        return self.decided[-1]


@pytest.fixture
def pty() -> Iterator[tuple[int, int]]:
    """The two ends of a terminal."""
    ends = os.openpty()
    yield ends
    for end in ends:
        os.close(end)


@pytest.fixture
def screen(pty: tuple[int, int]) -> Screen:
    """A terminal that asks."""
    seen = io.StringIO()
    made = Screen(pty[0], Terminal(TerminalInput(pty[1]), io.StringIO(), seen), seen)
    made.terminal.decide = made.decide
    return made


async def test_what_was_typed_before_a_question_is_no_answer(screen: Screen, pty: tuple[int, int]) -> None:
    """Neither before the first one nor between two, whole lines or half of one."""
    screen.type("y\n")
    select.select([pty[1]], [], [], 5)
    await screen.ask("A1")
    screen.type("not yet\n")
    assert await screen.verdict() == ("A1", ApprovalState.DENIED, Via.TERMINAL, "not yet", 0)
    screen.type("y\ny\ny")
    select.select([pty[1]], [], [], 5)
    await screen.ask("A2")
    screen.type("\n")
    assert await screen.verdict() == ("A2", ApprovalState.DENIED, Via.TERMINAL, "", 0)


async def test_an_answer_is_for_the_question_that_is_shown_last(screen: Screen) -> None:
    """The first one lapsed unanswered: what is typed after the second one decides that one alone."""
    await screen.ask("A1")
    await screen.ask("A2")
    screen.type("y\n")
    assert await screen.verdict() == ("A2", ApprovalState.APPROVED, Via.TERMINAL, "", 0)
    assert len(screen.decided) == 1


@pytest.mark.parametrize(
    ("keys", "offered", "state", "reason", "lasts"),
    [
        ("y", False, ApprovalState.APPROVED, "", 0),
        (" YES ", False, ApprovalState.APPROVED, "", 0),
        ("a", True, ApprovalState.APPROVED, "", LONGEST_MS),
        ("a", False, ApprovalState.DENIED, "a", 0),
        ("yy", True, ApprovalState.DENIED, "yy", 0),
        ("yes, but later", True, ApprovalState.DENIED, "yes, but later", 0),
        ("n", False, ApprovalState.DENIED, "", 0),
        ("", False, ApprovalState.DENIED, "", 0),
    ],
)
async def test_only_a_yes_is_a_yes(
    screen: Screen, keys: str, offered: bool, state: ApprovalState, reason: str, lasts: int
) -> None:
    """Everything else is a no and its reason; what lasts has to be on offer."""
    await screen.ask("A1", *([LASTING] if offered else []))
    screen.type(f"{keys}\n")
    assert await screen.verdict() == ("A1", state, Via.TERMINAL, reason, lasts)
    assert ("a to allow for 15 min" in screen.seen.getvalue()) is offered


async def test_an_input_that_ended_has_ended_for_good(screen: Screen) -> None:
    """Nobody is there for the next question either, and it is not waited for."""
    await screen.ask("A1")
    screen.type("\x04")
    assert await screen.verdict() == ("A1", ApprovalState.EXPIRED, Via.EXPIRY, "no_approver", 0)
    screen.type("y\n")
    await screen.ask("A2")
    assert await screen.verdict() == ("A2", ApprovalState.EXPIRED, Via.EXPIRY, "no_approver", 0)


async def test_a_pipe_answers_only_where_that_was_asked_for() -> None:
    """In order and to its end, also if all answers came at once."""
    reading, writing = os.pipe()
    os.write(writing, b"y\nno\n")
    os.close(writing)
    assert TerminalInput(reading).closed
    source = TerminalInput(reading, piped=True)
    assert [await source.answer() for _ in range(3)] == ["y", "no", None]
    assert source.closed
    os.close(reading)


async def test_a_question_gives_the_terminal_no_orders(screen: Screen) -> None:
    """What it shows is text."""
    await screen.ask("A1")
    assert "\x1b" not in screen.seen.getvalue()
