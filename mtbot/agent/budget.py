"""Hard caps on what models may cost: looked at before every answer, paid after it.

One answer may go past a cap, because nobody knows what it takes before it is there; the next one is not asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass

from mtbot.domain.spending import Budgets, Cap, Ledger, Spent, money_text, tokens_text
from mtbot.domain.turn import TurnState, Usage


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the model is not asked: a stable code and one sentence for the person."""

    code: str
    text: str


class Purse:
    """The caps of one profile over the book. ``today`` gives the ISO date of the owner's zone."""

    def __init__(self, budgets: Budgets, ledger: Ledger, today: Callable[[], str]) -> None:
        self._budgets = budgets
        self._ledger = ledger
        self._today = today

    async def refusal(self, state: TurnState, ahead: Usage = Usage()) -> Refusal | None:  # noqa: B008 - frozen
        """Why nothing more may be spent on this turn, if so. StorageError.

        ``ahead`` is what can be done without and counts as if it were spent already.
        """
        budgets = self._budgets
        if budgets.turn.reached(state.spent + ahead):
            text = (
                f"I stopped: this request has used its budget of {_cap(budgets.turn, budgets)}. Say if I should go on."
            )
            return Refusal("budget.turn", text)
        if not budgets.reads_the_book:
            return None
        spent = await self._ledger.spent(state.session, state.requester.key, self._today())
        spent = Spent(spent.session, spent.person + ahead, spent.everybody + ahead)
        return _of_the_book(budgets, state.spent + ahead, spent)

    async def pay(self, state: TurnState, usage: Usage) -> None:
        """Enter one answer of the model. StorageError."""
        await self._ledger.add(state.requester.key, self._today(), usage)


def _of_the_book(budgets: Budgets, turn: Usage, spent: Spent) -> Refusal | None:
    if budgets.session.reached(spent.session + turn):
        text = f"this conversation has used its budget of {_cap(budgets.session, budgets)}. /new starts a fresh one."
        return Refusal("budget.session", f"I stopped: {text}")
    if budgets.person.reached(spent.person):
        text = f"you have used your budget for today, {_cap(budgets.person, budgets)}. A new one begins at midnight."
        return Refusal("budget.person", f"I stopped: {text}")
    if budgets.day.reached(spent.everybody):
        text = f"today's budget for everybody, {_cap(budgets.day, budgets)}, is used up. A new one begins at midnight."
        return Refusal("budget.day", f"I stopped: {text}")
    return None


def _cap(cap: Cap, budgets: Budgets) -> str:
    words = [tokens_text(cap.tokens)] if cap.tokens else []
    words += [money_text(cap.cost, budgets.currency)] if cap.cost else []
    return " or ".join(words)
