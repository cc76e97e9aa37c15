"""How each block of Markdown is laid out as text."""

from __future__ import annotations

import pytest

from mtbot.channels.telegram.render_style import EntityType, Span, Styled
from mtbot.channels.telegram.render_tree import styled


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("a\nb  \nc\\\nd\n\n\n\ne", "a\nb\nc\nd\n\ne"),
        ("- a\n- b\n  - c\n    d\n- e", "• a\n• b\n  • c\n    d\n• e"),
        ("9. a\n10. b\n    - c", "9. a\n10. b\n    • c"),
        ("3) a\n4) b", "3. a\n4. b"),
        ("- a\n\n- b\n\n  c\n\nd", "• a\n\n• b\n\n  c\n\nd"),
        ("- [ ] a\n- [x] b\n- [X] c\n- [y] d", "• ☐ a\n• ☑ b\n• ☑ c\n• [y] d"),
        ("[ ] a", "[ ] a"),
        ("-\n- b", "• \n• b"),
        ("- - a\n- b", "• • a\n• b"),
        ("a\n\n---\n\nb", "a\n\n──────────\n\nb"),
        ("a\n\n- b\n\nc", "a\n\n• b\n\nc"),
        ("&lt;a&gt; &amp; \\*b\\*", "<a> & *b*"),
        ("a &#10; b&#x202e;c", "a \n b" + "c"),
    ],
)
def test_blocks_without_formats(markdown: str, text: str) -> None:
    """Lists have bullets or their numbers, tasks their boxes, lines stay lines."""
    assert styled(markdown) == Styled(text)


def test_headings_are_bold_and_bold_inside_them_is_no_second_format() -> None:
    """A format inside one of its kind would be refused."""
    assert styled("# a **b** `c` *d*\ne") == Styled(
        "a b c d\n\ne",
        (
            Span(EntityType.BOLD, 0, 3),
            Span(EntityType.CODE, 4, 5),
            Span(EntityType.BOLD, 6, 7),
            Span(EntityType.ITALIC, 6, 7),
        ),
    )


def test_an_inner_quote_gets_a_bar_since_quotes_do_not_nest() -> None:
    """The outer quote is one format over everything in it."""
    assert styled("> a\n> > b\n> > c\n>\n> d\n\ne") == Styled(
        "a\n\n│ b\n│ c\n\nd\n\ne", (Span(EntityType.BLOCKQUOTE, 0, 13),)
    )


def test_a_quote_begins_with_the_marker_of_a_list_in_it() -> None:
    """The bullet is part of what is quoted."""
    assert styled("> - a\n> - b") == Styled("• a\n• b", (Span(EntityType.BLOCKQUOTE, 0, 7),))


def test_code_in_a_quote_in_an_item_starts_at_the_margin() -> None:
    """Neither a quote nor a block may begin in the middle of a line; the item's marker stands above."""
    assert styled("- > ```sh\n  >   ls\n  > ```\n- ```\n  x\n  ```\n  y") == Styled(
        "• \n  ls\n• \nx\n  y",
        (
            Span(EntityType.BLOCKQUOTE, 3, 7),
            Span(EntityType.PRE, 3, 7, language="sh"),
            Span(EntityType.PRE, 11, 12),
        ),
    )


def test_a_block_keeps_its_indentation_and_loses_only_its_last_line_ends() -> None:
    """Tabs become blanks, because the server would make each of them one."""
    assert styled("```py extra\n\tif x:\n\n\t\ty\n\n```") == Styled(
        "    if x:\n\n        y", (Span(EntityType.PRE, 0, 20, language="py"),)
    )


def test_an_unclosed_block_goes_to_the_end() -> None:
    """An answer that was cut off ends like this."""
    assert styled("a\n```\nb *c*") == Styled("a\n\nb *c*", (Span(EntityType.PRE, 3, 8),))


def test_a_format_does_not_cover_blanks_at_its_ends() -> None:
    """A mark around blanks only is no format at all."""
    assert styled("` ` **a&nbsp;** b") == Styled("  a\xa0 b", (Span(EntityType.BOLD, 2, 3),))


def test_emphasis_over_lines_of_an_item_is_one_format() -> None:
    """It goes across the indentation of the second line."""
    assert styled("- **a\n  b** c") == Styled("• a\n  b c", (Span(EntityType.BOLD, 2, 7),))
