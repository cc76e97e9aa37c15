"""Where a text is cut, and that no cut costs anything but a separator."""

from __future__ import annotations

import pytest

from mtbot.channels.telegram.render_split import MAX_PAYLOAD, Entity, Part, split, utf16_len
from mtbot.channels.telegram.render_style import EntityType, Span, Styled
from tests.unit.channels.telegram.server_rules import faults


def texts(text: str, limit: int, *spans: Span) -> list[str]:
    """The texts of the parts."""
    return [part.text for part in split(Styled(text, spans), limit)]


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [
        ("aaaa bbbb\n\ncccc dddd", 18, ["aaaa bbbb", "cccc dddd"]),
        ("aaaa bbbb\ncccc dddd", 16, ["aaaa bbbb", "cccc dddd"]),
        ("aaaa bbbb cccc", 11, ["aaaa bbbb", "cccc"]),
        ("aaaa   \n \n\n  bbbb", 9, ["aaaa", "  bbbb"]),
        ("aaaa    bbbb", 6, ["aaaa", "bbbb"]),
        ("a bbbbbbbbbbbbbbbbbbbb", 16, ["a bbbbbbbbbbbbbb", "bbbbbb"]),
        ("aaa\n\nbbbbbbbb bbbb cccc", 16, ["aaa\n\nbbbbbbbb", "bbbb cccc"]),
        ("aaaa bbbbbbbbbbbbbbbbbb", 16, ["aaaa", "bbbbbbbbbbbbbbbb", "bb"]),
        ("abcdef", 6, ["abcdef"]),
        ("abcdef", 4, ["abcd", "ef"]),
        ("abcd ef", 4, ["abcd", "ef"]),
    ],
)
def test_cuts_prefer_paragraphs_then_lines_then_words_then_characters(text: str, limit: int, cut: list[str]) -> None:
    """A far better place is preferred to a full message, but not at the price of a nearly empty one."""
    assert texts(text, limit) == cut


def test_blanks_of_code_are_no_separators() -> None:
    """A line of code comes through whole even when it has to be cut; the blanks go to the front, where they stay."""
    code = Span(EntityType.PRE, 0, 12)
    assert texts("aaaa    bbbb", 6, code) == ["aaaa", "    bb", "bb"]
    assert texts("aaaa\nbbbb cc", 8, code) == ["aaaa", "bbbb cc"]
    assert texts("aaaa bb cc  dd", 6, Span(EntityType.CODE, 4, 14)) == ["aaaa b", "b cc", "  dd"]


def test_a_separator_in_front_of_code_does_not_eat_the_blanks_of_the_code() -> None:
    """They belong to the code."""
    assert texts("aaaa   x", 5, Span(EntityType.CODE, 5, 8)) == ["aaaa", "  x"]


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [
        ("abce\u0301f", 4, ["abc", "e\u0301f"]),
        ("ab\U0001f468\u200d\U0001f469cd", 5, ["ab", "\U0001f468\u200d\U0001f469", "cd"]),
        ("a\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", 7, ["a\U0001f1e9\U0001f1ea", "\U0001f1eb\U0001f1f7"]),
        ("ab\U0001f44d\U0001f3fdc", 4, ["ab", "\U0001f44d\U0001f3fd", "c"]),
        ("a" + "\u0301" * 80, 40, ["a" + "\u0301" * 39, "\u0301" * 40, "\u0301"]),
    ],
)
def test_what_is_drawn_as_one_character_stays_together_while_it_fits(text: str, limit: int, cut: list[str]) -> None:
    """An accent alone would be drawn on nothing; a heap of them is cut all the same."""
    assert texts(text, limit) == cut


def test_formats_are_clipped_to_their_part_and_counted_in_utf16_units() -> None:
    """An outer one comes before an inner one of the same place."""
    spans = (
        Span(EntityType.BLOCKQUOTE, 0, 7),
        Span(EntityType.TEXT_LINK, 1, 6, url="https://h.example"),
        Span(EntityType.BOLD, 1, 6),
    )
    assert split(Styled("\U0001f600bc def", spans), 4) == (
        Part(
            "\U0001f600bc",
            (
                Entity(EntityType.BLOCKQUOTE, 0, 4),
                Entity(EntityType.TEXT_LINK, 2, 2, url="https://h.example"),
                Entity(EntityType.BOLD, 2, 2),
            ),
        ),
        Part(
            "def",
            (
                Entity(EntityType.BLOCKQUOTE, 0, 3),
                Entity(EntityType.TEXT_LINK, 0, 2, url="https://h.example"),
                Entity(EntityType.BOLD, 0, 2),
            ),
        ),
    )


def test_a_hundred_and_first_format_starts_the_next_part() -> None:
    """Also without any separator, and although the text is short."""
    spans = tuple(Span(EntityType.BOLD if at % 2 else EntityType.ITALIC, at, at + 1) for at in range(201))
    parts = split(Styled("x" * 201, spans))
    assert ([len(part.entities) for part in parts], faults(parts)) == ([100, 100, 1], [])


def test_addresses_count_against_the_size_of_a_request() -> None:
    """Each part stays below it, each holds at least one."""
    url = "https://h.example/" + "\u4e2d" * 2000
    spans = tuple(Span(EntityType.TEXT_LINK, at, at + 1, url=url) for at in range(12))
    parts = split(Styled("x" * 12, spans))
    assert [len(part.entities) for part in parts] == [MAX_PAYLOAD // (len(url.encode()) + 81)] * 3


def test_utf16_units_are_counted_per_character() -> None:
    """One up to U+FFFF, two above."""
    assert [utf16_len(text) for text in ("", "a\u4e2d", "\uffff", "\U00010000x")] == [0, 2, 1, 3]
