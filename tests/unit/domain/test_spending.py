"""Prices, caps and the words in which amounts are told."""

import pytest

from mtbot.domain.spending import Budgets, Cap, Price, money_text, tokens_text, usage_text
from mtbot.domain.turn import Usage


@pytest.mark.parametrize(
    ("price", "usage", "cost"),
    [
        (Price(3, 15), Usage(1_000_000, 1_000_000), 18_000_000),
        (Price(3, 15), Usage(1000, 200), 6000),
        (Price(0.15, 0.6), Usage(1, 1), 1),
        (Price(0, 0), Usage(10**9, 10**9), 0),
    ],
)
def test_a_price_per_million_tokens_is_millionths_per_token(price: Price, usage: Usage, cost: int) -> None:
    """So no sum is ever a fraction."""
    assert price.of(usage) == cost


@pytest.mark.parametrize(
    ("cap", "spent", "reached"),
    [
        (Cap(), Usage(10**9, 10**9, 10**9), False),
        (Cap(tokens=100), Usage(60, 39), False),
        (Cap(tokens=100), Usage(60, 40), True),
        (Cap(cost=500), Usage(10**6, 0, 499), False),
        (Cap(cost=500), Usage(0, 0, 500), True),
        (Cap(tokens=100, cost=500), Usage(1, 0, 501), True),
        (Cap(tokens=100, cost=500), Usage(101, 0, 0), True),
    ],
)
def test_a_cap_is_reached_by_what_comes_first(cap: Cap, spent: Usage, reached: bool) -> None:
    """Zero is no cap."""
    assert cap.reached(spent) is reached


def test_only_some_caps_need_the_book() -> None:
    """A turn knows what it spent itself."""
    cap = Cap(cost=1)
    assert not Budgets(turn=cap).reads_the_book
    assert all(one.reads_the_book for one in (Budgets(session=cap), Budgets(person=cap), Budgets(day=cap)))


def test_usage_adds_up() -> None:
    """Tokens and money."""
    assert Usage(1, 2, 3) + Usage(10, 20, 30) == Usage(11, 22, 33)
    assert Usage(1, 2, 3).tokens == 3


def test_amounts_in_words() -> None:
    """As a person reads them."""
    assert (tokens_text(0), tokens_text(1), tokens_text(12345)) == ("0 tokens", "1 token", "12,345 tokens")
    assert money_text(41_200, "USD") == "0.0412 USD"
    assert money_text(1_234_560_000, "EUR") == "1,234.56 EUR"
    assert money_text(0, "EUR") == "0.00 EUR"


@pytest.mark.parametrize(
    ("usage", "cap", "text"),
    [
        (Usage(300, 45), Cap(), "345 tokens"),
        (Usage(300, 45), Cap(tokens=2000), "345 of 2,000 tokens"),
        (Usage(300, 45, 41_200), Cap(), "345 tokens, 0.0412 USD"),
        (Usage(300, 45, 41_200), Cap(cost=2_000_000), "345 tokens, 0.0412 of 2.00 USD"),
        (Usage(300, 45), Cap(cost=2_000_000), "345 tokens, 0.00 of 2.00 USD"),
    ],
)
def test_spending_beside_its_cap(usage: Usage, cap: Cap, text: str) -> None:
    """Money appears only where there is any."""
    assert usage_text(usage, cap, "USD") == text
