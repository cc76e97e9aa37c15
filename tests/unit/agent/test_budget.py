"""Caps stop a turn before the next answer, in words that say what can be done."""

from dataclasses import replace

import pytest

from mtbot.domain.spending import Budgets, Cap
from mtbot.domain.turn import Failed, Reply, Usage
from tests.unit.agent.scenes import TOKENS, Book, Model, Scene, ScriptedGate, begun, done, purse, says, wants

MUCH = Usage(900, 100, 2_000_000)


@pytest.mark.parametrize(
    ("budgets", "book", "code", "words"),
    [
        (
            Budgets(session=Cap(tokens=1000)),
            Book(session=MUCH),
            "budget.session",
            "I stopped: this conversation has used its budget of 1,000 tokens. /new starts a fresh one.",
        ),
        (
            Budgets(person=Cap(cost=2_000_000)),
            Book(person=MUCH),
            "budget.person",
            "I stopped: you have used your budget for today, 2.00 USD. A new one begins at midnight.",
        ),
        (
            Budgets(day=Cap(tokens=1, cost=1), currency="EUR"),
            Book(everybody=MUCH),
            "budget.day",
            (
                "I stopped: today's budget for everybody, 1 token or 0.0000 EUR, is used up. "
                "A new one begins at midnight."
            ),
        ),
    ],
)
async def test_a_cap_that_is_reached_asks_no_model(budgets: Budgets, book: Book, code: str, words: str) -> None:
    """Not even once."""
    scene = Scene(Model(says("hello")), ScriptedGate(), purse=purse(budgets, book))
    end = await scene.advance(begun())
    assert isinstance(end, Failed)
    assert (end.code, end.text, scene.model.asked, book.paid) == (code, words, [], [])


async def test_a_turn_that_reaches_its_own_cap_stops_between_two_answers() -> None:
    """What ran stays, and the book is not even read for it."""
    book = Book()
    scene = Scene(
        Model(wants("ls"), says("done")), ScriptedGate(done()), purse=purse(Budgets(turn=Cap(tokens=12)), book)
    )
    end = await scene.advance(begun())
    assert isinstance(end, Failed)
    assert end.text == "I stopped: this request has used its budget of 12 tokens. Say if I should go on."
    assert (end.code, len(scene.model.asked), book.read) == ("budget.turn", 1, 0)
    assert end.state.open_calls == ()


async def test_what_a_parked_turn_spent_before_counts_when_it_goes_on() -> None:
    """The state carries it."""
    scene = Scene(Model(says("done")), ScriptedGate(), purse=purse(Budgets(turn=Cap(tokens=12)), Book()))
    assert isinstance(await scene.advance(replace(begun(), spent=Usage(12, 0))), Failed)


async def test_a_conversation_counts_its_running_turn_too() -> None:
    """Finished turns and this one together."""
    book = Book(session=Usage(90, 0))
    scene = Scene(
        Model(wants("ls"), says("x")), ScriptedGate(done()), purse=purse(Budgets(session=Cap(tokens=100)), book)
    )
    end = await scene.advance(begun())
    assert isinstance(end, Failed)
    assert (end.code, len(scene.model.asked)) == ("budget.session", 1)


async def test_every_answer_is_entered_for_whoever_asked() -> None:
    """Also an empty one that is asked for again."""
    book = Book()
    scene = Scene(Model(wants("ls"), says(""), says("done")), ScriptedGate(done()), purse=purse(Budgets(), book))
    assert isinstance(await scene.advance(begun()), Reply)
    assert book.paid == [("telegram:1001", "2026-11-30", TOKENS)] * 3


async def test_below_every_cap_nothing_is_said() -> None:
    """One token less."""
    budgets = Budgets(Cap(13), Cap(1013), Cap(1001), Cap(1001))
    scene = Scene(Model(says("hi")), ScriptedGate(), purse=purse(budgets, Book(MUCH, MUCH, MUCH)))
    end = await scene.advance(begun())
    assert isinstance(end, Reply)
    assert end.text == "hi"
