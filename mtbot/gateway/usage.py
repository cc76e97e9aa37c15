"""``/usage``: what models took here, for this person and for everybody, beside what may still be spent."""

from collections.abc import Callable

from mtbot.domain.ports import Clock
from mtbot.domain.spending import Budgets, Cap, Ledger, usage_text
from mtbot.domain.turn import Inbound


class UsageReport:
    """Answers ``/usage``. ``date`` gives the ISO date of a moment in the owner's zone."""

    def __init__(
        self, ledger: Ledger, budgets: Callable[[], Budgets], clock: Clock, date: Callable[[int], str]
    ) -> None:
        self._ledger = ledger
        self._budgets = budgets
        self._clock = clock
        self._date = date

    async def of(self, inbound: Inbound) -> str:
        """The lines, one per budget. StorageError."""
        session = inbound.address.session
        today = self._date(self._clock.now_ms())
        spent = await self._ledger.spent(session, inbound.sender.key, today)
        budgets = self._budgets()
        lines = (
            ("Last turn", await self._ledger.last(session), budgets.turn),
            ("This conversation", spent.session, budgets.session),
            ("You today", spent.person, budgets.person),
            ("Everybody today", spent.everybody, budgets.day),
        )
        said = [f"{name}: {usage_text(usage, cap, budgets.currency)}" for name, usage, cap in lines]
        if all(cap == Cap() for _, _, cap in lines):
            said.append("No caps are set; the owner sets them under budgets.")
        return "\n".join(said)
