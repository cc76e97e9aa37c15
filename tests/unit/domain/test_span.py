"""Spans in their two largest units."""

import pytest

from mtbot.domain.span import span_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-1, "0 s"), (59.9, "59 s"), (60, "1 min"), (3599, "59 min"), (3900, "1 h 5 min"), (2 * 86_400 + 7300, "2 d 2 h")],
)
def test_a_span_is_rounded_down(seconds: float, text: str) -> None:
    """Never more than has passed."""
    assert span_text(seconds) == text
