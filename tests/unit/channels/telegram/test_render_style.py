"""Cleaning of text, and the composer's promise that spans nest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtbot.channels.telegram.render_style import Composer, EntityType, Prefix, Span, Styled, clean, is_visible
from tests.unit.channels.telegram.server_rules import ALTERED_BY_THE_SERVER, visible_to_server


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("a\r\nb\rc\u2028d\u2029e\x85f\ng", "a\nb\nc\nd\ne\nf\ng"),
        ("\tx", "    x"),
        ("\x00\x1b[0m\x7f\x9f\ufffc", "\ufffd\ufffd[0m\ufffd\ufffd\ufffd"),
        ("a\u202eb\u202cc", "abc"),
        ("\ud83d\ude00 \ud83d \ude00", "\U0001f600 \ufffd \ufffd"),
        ("\u200f\u2066ok", "\u200f\u2066ok"),
    ],
)
def test_cleaning_replaces_what_the_server_would_refuse_or_alter(raw: str, cleaned: str) -> None:
    """Offsets must mean the same on both sides."""
    assert clean(raw) == cleaned


@given(st.text(st.characters(codec=None), max_size=60))
def test_cleaned_text_stays_clean_and_can_be_sent(raw: str) -> None:
    """Whatever characters, surrogates included."""
    cleaned = clean(raw)
    assert clean(cleaned) == cleaned
    assert ALTERED_BY_THE_SERVER.search(cleaned) is None
    assert cleaned.encode().decode() == cleaned


@given(st.text(max_size=8))
def test_what_counts_as_visible_is_visible_to_the_server_too(text: str) -> None:
    """The other way round it may be stricter: a filler letter is drawn as nothing."""
    assert not is_visible(text) or visible_to_server(text)


@pytest.mark.parametrize(
    "blank", ["\u200b", "\u2800", "\u3164", "\ufe0f", "\U000e0101", "\u030a", "\xa0", "\n", "\u00ad"]
)
def test_characters_that_draw_nothing_are_not_visible(blank: str) -> None:
    """A message of only these is refused."""
    assert (is_visible(blank * 3), is_visible(blank + "x")) == (False, True)


def test_code_interrupts_styles_and_they_begin_again_inside_one_another() -> None:
    """Italic inside bold stays inside bold on both sides of the code."""
    out = Composer()
    out.open(EntityType.BOLD)
    out.write("a")
    out.open(EntityType.ITALIC)
    out.write("b")
    out.code("c")
    out.write("d")
    out.close()
    out.close()
    assert out.finish() == Styled(
        "abcd",
        (
            Span(EntityType.BOLD, 0, 2),
            Span(EntityType.ITALIC, 1, 2),
            Span(EntityType.CODE, 2, 3),
            Span(EntityType.BOLD, 3, 4),
            Span(EntityType.ITALIC, 3, 4),
        ),
    )


def test_gaps_are_written_only_between_texts() -> None:
    """Neither a beginning nor an end has blank lines."""
    out = Composer()
    out.gap(2)
    out.write("\na")
    out.gap(1)
    out.gap(2)
    out.write("b\n")
    out.gap(2)
    assert out.finish() == Styled("a\n\nb")


def test_an_item_without_text_still_shows_its_marker() -> None:
    """And what is asked for at the margin stands below it."""
    out = Composer()
    out.push(Prefix("1. ", "   "))
    out.pre("x")
    out.write("y")
    out.pop()
    out.gap(1)
    out.push(Prefix("2. ", "   "))
    out.pop()
    assert out.finish() == Styled("1. \nx\n   y\n2.", (Span(EntityType.PRE, 4, 5),))
