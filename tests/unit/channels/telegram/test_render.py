"""What a person sees of an answer, and the faults that other bots made on the way there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mtbot.channels.telegram.render import Entity, EntityType, Part, plain, render, utf16_len
from tests.unit.channels.telegram.server_rules import faults


def text_of(markdown: str) -> str:
    """The only part's text."""
    (part,) = render(markdown)
    return part.text


def test_markup_becomes_formats_over_text_without_marks() -> None:
    """Offsets count UTF-16 units: the face takes two."""
    assert render("\U0001f600 **b** *i* ~~s~~ `c` [l](https://h.example)") == (
        Part(
            "\U0001f600 b i s c l",
            (
                Entity(EntityType.BOLD, 3, 1),
                Entity(EntityType.ITALIC, 5, 1),
                Entity(EntityType.STRIKETHROUGH, 7, 1),
                Entity(EntityType.CODE, 9, 1),
                Entity(EntityType.TEXT_LINK, 11, 1, url="https://h.example"),
            ),
        ),
    )


@pytest.mark.parametrize(
    "literal",
    [
        "<name>", "Use <your-token> here", "<b>bold</b> & <br>", "Chief <chief@host.example>", "__init__", "__init__.py and __main__.py",
        "2*3*4", "2**3**4", "snake_case_name", "MAX_READ_BYTES", "_private and other", "/srv/*/logs/*/x", "src/**/*.py", "*.py and *.txt",
        "*.tar*", "*a in /b/*/c", "a * b * c", "https://h.example/_a_/__b__/c~~d~~?a=1&copy;=2&q=*e*", "x[0](y)", "[note]: https://h.example", "~/a ~/b",
        "C:\\new_dir\\temp", "5 < 6 > 4", "#hashtag", "f(*args, **kwargs)", "| not a table |",
    ],
)  # fmt: skip
def test_names_formulas_globs_and_html_survive_unformatted(literal: str) -> None:
    """A reader copies names from answers; a mark that belongs to one must not turn into a format."""
    assert render(literal) in {(Part(literal),), (Part(literal.replace("x[0](y)", "x0 (y)")),)}


@pytest.mark.parametrize(
    ("markdown", "bold"),
    [
        ("**Note**: x", ["Note"]), ("**/etc/hosts** is", ["/etc/hosts"]), ("这是**重点**内容", ["重点"]), ("**a**/**b**", ["a", "b"]),
        ("(**a**)", ["a"]), ("**a b.**", ["a b."]), ("__a b__", ["a b"]), ("**`x` y**", ["y"]), ("__see https://h.example__", ["see https://h.example"]),
        ("**see https://h.example/a_b**", ["see https://h.example/a_b"]),
    ],
)  # fmt: skip
def test_emphasis_that_means_emphasis_is_shown(markdown: str, bold: list[str]) -> None:
    """The care for names must not cost the bold that models do write."""
    (part,) = render(markdown)
    found = [entity for entity in part.entities if entity.type is EntityType.BOLD]
    assert [part.text[entity.offset : entity.offset + entity.length] for entity in found] == bold


def test_an_answer_of_several_messages_reopens_its_code_block_with_the_language() -> None:
    """Each message holds a block of its own, cut between lines."""
    code = "\n".join(f"line {number}" for number in range(1000))
    parts = render(f"Look:\n\n```python\n{code}\n```\n\nDone.")
    assert "\n".join(part.text for part in parts) == f"Look:\n\n{code}\n\nDone."
    assert faults(parts) == []
    assert [[(entity.type, entity.language) for entity in part.entities] for part in parts] == [
        [(EntityType.PRE, "python")]
    ] * len(parts)


def test_a_code_line_longer_than_a_message_is_cut_without_losing_a_character() -> None:
    """Another splitter never came to an end here."""
    parts = render("```\n" + "x" * 9000 + "\n```")
    assert [len(part.text) for part in parts] == [4096, 4096, 808]
    assert faults(parts) == []


def test_length_is_measured_after_rendering() -> None:
    """Angle brackets don't grow, so four thousand of them are one message."""
    assert [len(part.text) for part in render("<" * 4000)] == [4000]
    parts = render("> a\n" * 1250)
    assert (faults(parts), len(parts)) == ([], 1)


def test_characters_of_two_units_are_counted_as_two_and_never_cut() -> None:
    """The server counts in units of UTF-16."""
    parts = render("\U0001f600" * 2100)
    assert [utf16_len(part.text) for part in parts] == [4096, 104]
    assert faults(parts) == []


def test_lone_surrogates_are_replaced_and_pairs_are_joined() -> None:
    """JSON can smuggle half a character into a str, and such a str can't be sent."""
    assert text_of("a \ud83d b \ud83d\ude00") == "a \ufffd b \U0001f600"


def test_an_endless_info_string_is_capped() -> None:
    """Another bot recursed without end on this."""
    (part,) = render("```" + "x" * 5000 + "\ncode\n```")
    assert part == Part("code", (Entity(EntityType.PRE, 0, 4, language="x" * 64),))


def test_one_wide_character_in_a_block_fits_the_smallest_limit() -> None:
    """A strict step forward, even where a character is as long as a message."""
    assert [part.text for part in render("```\n\U0001f600\U0001f600\n```", limit=2)] == ["\U0001f600", "\U0001f600"]


def test_parts_without_anything_to_see_are_left_out_and_later_ones_kept() -> None:
    """An empty message is refused, and what came after it was dropped."""
    assert render("```\n\n```\n\n\u200b\n\n&nbsp;\n\nend") == (Part("\u200b\n\n\xa0\n\nend"),)
    assert [part.text for part in render("a" * 4096 + "\n\n" + "\u200b" * 4096 + "\n\nend")] == ["a" * 4096, "end"]


@pytest.mark.parametrize("nothing", ["", " \n\t", "\u200b\u200d", "\ufe0f\u2800\u3164"])
def test_a_text_of_which_nothing_shows_has_no_parts(nothing: str) -> None:
    """There is nothing to send, and the server would say so with an error."""
    assert (render(nothing), plain(nothing)) == ((), ())


def test_markup_around_nothing_is_shown_as_written() -> None:
    """An answer that is one empty block must not disappear."""
    assert render("```sh\n```") == (Part("```sh\n```"),)


def test_a_hard_cut_followed_by_a_blank_loses_only_that_blank() -> None:
    """The blank is a separator, the indentation behind a newline is not."""
    assert [part.text for part in plain("x" * 4096 + " y")] == ["x" * 4096, "y"]
    assert [part.text for part in plain("x" * 4096 + "\n    y")] == ["x" * 4096, "    y"]
    assert [part.text for part in plain("x" * 5000)] == ["x" * 4096, "x" * 904]


def test_more_than_a_hundred_formats_go_on_in_the_next_message() -> None:
    """The server silently drops what comes after the hundredth."""
    parts = render("**b** " * 150)
    assert [len(part.entities) for part in parts] == [100, 50]


def test_long_addresses_are_spread_so_that_no_request_grows_too_big() -> None:
    """Thirty links of two thousand characters each are allowed one by one, but not in one request."""
    parts = render(" ".join(f"[l](https://h.example/{'p' * 2000})" for _ in range(30)))
    assert (faults(parts), sum(len(part.entities) for part in parts)) == ([], 30)


def test_text_nested_deeper_than_the_parser_goes_is_shown_as_written() -> None:
    """The parser would leave the innermost text out without a word."""
    deep = "Look:\n\n" + ">" * 60 + " deep"
    assert render(deep) == (Part(deep),)


def test_a_huge_answer_is_not_read_as_markdown() -> None:
    """Reading it would hold up everybody else for seconds."""
    assert render("**b** " * 20_000)[0].text.startswith("**b** **b**")


def test_plain_shows_markup_as_written() -> None:
    """When a rendering is refused, the fallback is the original text."""
    assert plain("**a** `b` <c>\r\n_d_\n\n") == (Part("**a** `b` <c>\n_d_"),)


@pytest.mark.parametrize("limit", [1, 0, -1, 4097])
def test_a_limit_that_no_message_can_keep_is_an_error(limit: int) -> None:
    """A limit of one could not hold a character of two units."""
    with pytest.raises(ValueError, match="limit must be between 2 and 4096"):
        render("x", limit)


def test_importing_the_renderer_imports_neither_the_parser_nor_aiogram() -> None:
    """A start must not pay for a first answer."""
    check = "import sys, mtbot.channels.telegram.render; print({'markdown_it', 'aiogram'} & set(sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", check], cwd=Path(__file__).parents[4], capture_output=True, text=True, check=True
    )
    assert run.stdout == "set()\n"
