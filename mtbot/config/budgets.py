"""What models may cost: prices per model and the caps of a turn, a conversation, a person's day and everybody's day."""

from typing import Annotated

from mtbot.config.values import Section, Word, key, number, whole
from mtbot.domain.spending import MILLION, Budgets, Cap, Price

_MOST_TOKENS = 10**12
_MOST_MONEY = 1e9


class PriceSettings(Section):
    """What a model takes for a million tokens."""

    input: Annotated[float, number(0, _MOST_MONEY)] = key(says="Price of a million tokens that are sent.")
    output: Annotated[float, number(0, _MOST_MONEY)] = key(says="Price of a million tokens that come back.")

    @property
    def price(self) -> Price:
        """The value that answers are priced with."""
        return Price(self.input, self.output)


class CapSettings(Section):
    """The most that may be spent; what is reached first counts."""

    tokens: Annotated[int, whole(0, _MOST_TOKENS)] = key(0, says="Tokens sent and received; 0 is no cap.")
    cost: Annotated[float, number(0, _MOST_MONEY)] = key(
        0.0,
        says="Money in budgets.currency; 0 is no cap. It needs providers.NAME.prices, or a provider that reports cost.",
    )

    @property
    def cap(self) -> Cap:
        """The value that spending is compared with."""
        return Cap(self.tokens, round(self.cost * MILLION))


class TurnCap(CapSettings):
    """What one message and everything that is done for it may take."""


class SessionCap(CapSettings):
    """What a conversation may take until /new."""


class PersonCap(CapSettings):
    """What one person may take in a day, which begins at midnight in cron.timezone."""


class DayCap(CapSettings):
    """What everybody together, scheduled jobs included, may take in a day."""


class BudgetSettings(Section):
    """Caps on what models may cost, by tokens counted or, at worst, estimated. A turn that reaches one stops with a sentence."""

    currency: Word = key("USD", says="Currency of prices and caps; a word that is shown behind amounts.")
    turn: TurnCap = key({}, says="")
    session: SessionCap = key({}, says="")
    person: PersonCap = key({}, says="")
    day: DayCap = key({}, says="")

    @property
    def caps(self) -> Budgets:
        """The values that spending is compared with."""
        return Budgets(self.turn.cap, self.session.cap, self.person.cap, self.day.cap, self.currency)
