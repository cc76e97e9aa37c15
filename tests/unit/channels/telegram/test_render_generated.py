"""Properties of rendering over thousands of generated documents; MTCLAW_RENDER_DOCUMENTS sets how many."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtbot.channels.telegram.render import EntityType, Part, plain, render
from mtbot.channels.telegram.render_split import split
from mtbot.channels.telegram.render_style import Styled, is_visible
from mtbot.channels.telegram.render_tree import styled
from tests.unit.channels.telegram.generated import SCRAPS, document
from tests.unit.channels.telegram.server_rules import faults

DOCUMENTS = int(os.environ.get("MTCLAW_RENDER_DOCUMENTS", "3000"))
LIMITS = (4096, 4096, 4096, 1024, 300)
TINY_LIMITS = (64, 17, 3, 2)
Formats = frozenset[tuple[str, str | None]]
PORTION = 500
"""How many documents a test looks at, so that several workers share them."""

BLANKS_ARE_CONTENT = {EntityType.CODE, EntityType.PRE}


shown_as_ink = cache(is_visible)
"""Of single characters, which are few and looked at by the million."""


@pytest.mark.parametrize("first", range(0, DOCUMENTS, PORTION))
def test_every_part_of_every_generated_document_is_a_message_that_the_server_takes_unchanged(first: int) -> None:
    """No exception, no refused part, nothing lost but separators, and every format on the characters it belongs to."""
    for seed in range(first, min(first + PORTION, DOCUMENTS)):
        source = document(seed)
        limit = random.Random(seed).choice(LIMITS if len(source) > 500 else LIMITS + TINY_LIMITS)
        whole = styled(source)
        parts = split(whole, limit)
        assert faults(parts, limit) == [], seed
        assert _misfits(whole, parts, limit) == [], seed


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.lists(st.one_of(st.sampled_from(SCRAPS), st.text(max_size=12)), max_size=60), st.sampled_from((4096, 100, 7, 2))
)
def test_any_mixture_of_markup_and_text_renders_to_valid_parts(pieces: list[str], limit: int) -> None:
    """Hypothesis looks for the mixture that the generator didn't think of."""
    whole = styled("".join(pieces))
    parts = split(whole, limit)
    assert faults(parts, limit) == []
    assert _misfits(whole, parts, limit) == []


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(max_size=400), st.integers(min_value=2, max_value=50))
def test_plain_text_is_cut_into_valid_parts_and_keeps_every_character(text: str, limit: int) -> None:
    """The fallback has no formats, so text is all that could be lost."""
    parts = plain(text, limit)
    assert faults(parts, limit) == []
    shown = "".join(char for char in "".join(part.text for part in parts) if shown_as_ink(char))
    assert [part.entities for part in parts] == [()] * len(parts)
    assert shown == "".join(char for part in plain(text) for char in part.text if shown_as_ink(char))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.lists(
        st.sampled_from(
            ("{}", "**{}**", "*{}*", "`{}`", "# {}", "- {}", "  - {}", "1. {}", "> {}", "> > {}", "- [ ] {}", "[{}](https://h.example)",
             "| {} | {} |\n|---|---|\n| {} | {} |", "```\n{}\n```", "- a\n\n      {}", "~~{}~~", "![{}](https://h.example/i.png)",
             "> ```sh\n> {}\n> ```", "- > {}\n- {}", "Title {}\n===", "<b>{}</b>", "[{}]: https://h.example", "&lt;{}&gt;", "({}*)")
        ),
        max_size=30,
    ),
    st.sampled_from(("\n\n", "\n")),
)  # fmt: skip
def test_no_word_is_lost_whatever_construct_it_stands_in(frames: list[str], between: str) -> None:
    """Numbered words are put into every construct; all of them must come out (a head twice, where rows become records)."""
    count = 0
    blocks = []
    for frame in frames:
        holes = frame.count("{}")
        blocks.append(frame.format(*(f"w{number}w" for number in range(count, count + holes))))
        count += holes
    text = "\n".join(part.text for part in render(between.join(blocks)))
    assert sorted(set(_numbered(text))) == sorted(f"w{number}w" for number in range(count))


def _numbered(text: str) -> list[str]:
    spaced = "".join(char if char.isalnum() else " " for char in text)
    return [word for word in spaced.split() if word.startswith("w") and word.endswith("w") and word[1:-1].isdigit()]


def _misfits(whole: Styled, parts: Sequence[Part], limit: int) -> list[str]:
    """What is wrong when the parts are laid over the uncut text: characters lost, or formats on other characters."""
    formats = _formats_by_character(whole)
    found: list[str] = []
    position = 0
    for index, part in enumerate(parts):
        start = _next_match(whole.text, position, part.text)
        if start is None:
            return [f"part {index} is not in the text behind {position}"]
        if _lost_in_code(whole.text, formats, range(position, start), limit):
            found.append(f"blanks of a line of code vanished at {position}")
        shown = _formats_of_part(part)
        found += [
            f"part {index}, {at}: {shown[at]} instead of {formats[start + at]}"
            for at, char in enumerate(part.text)
            if shown[at] != formats[start + at] and shown_as_ink(char)
        ]
        position = start + len(part.text)
    if is_visible(whole.text[position:]):
        found.append("the end is missing")
    return found


def _next_match(text: str, position: int, piece: str) -> int | None:
    start = position
    while not text.startswith(piece, start):
        if start >= len(text) or shown_as_ink(text[start]):
            return None
        start += 1
    return start


def _lost_in_code(text: str, formats: Sequence[Formats], gap: range, limit: int) -> bool:
    """Blanks of a line of code are content: only a whole message of nothing but blanks may be left out."""
    missing = text[gap.start : gap.stop]
    in_code = all(any(kind in BLANKS_ARE_CONTENT for kind, _ in formats[at]) for at in gap)
    return bool(missing) and in_code and "\n" not in missing and len(missing) < limit - 32


def _formats_by_character(whole: Styled) -> list[Formats]:
    formats: list[set[tuple[str, str | None]]] = [set() for _ in whole.text]
    for span in whole.spans:
        for index in range(span.start, span.end):
            formats[index].add((span.type, span.url or span.language))
    return [frozenset(kinds) for kinds in formats]


def _formats_of_part(part: Part) -> list[Formats]:
    by_unit: list[set[tuple[str, str | None]]] = [set() for _ in range(len(part.text.encode("utf-16-le")) // 2)]
    for entity in part.entities:
        for unit in range(entity.offset, entity.offset + entity.length):
            by_unit[unit].add((entity.type, entity.url or entity.language))
    formats, unit = [], 0
    for char in part.text:
        formats.append(frozenset(by_unit[unit]))
        unit += 2 if ord(char) > 0xFFFF else 1
    return formats
