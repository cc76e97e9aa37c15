"""A part of a file is cut on the borders of characters and of secrets."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mtbot.tools.window import Window, masked_part, read_window
from tests.unit.tools.builders import MASK, REDACTOR, SECRET


@contextmanager
def _opened(path: Path, data: bytes) -> Iterator[int]:
    path.write_bytes(data)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@pytest.mark.parametrize(
    ("offset", "limit", "expected"),
    [
        (0, 100, Window("añ€😀z", 0, 11, exact=True)),
        (0, 2, Window("a", 0, 1, exact=True)),
        (0, 3, Window("añ", 0, 3, exact=True)),
        (2, 4, Window("ñ€", 1, 6, exact=True)),
        (1, 1, Window("ñ", 1, 3, exact=True)),
        (7, 1, Window("😀", 6, 10, exact=True)),
        (10, 9, Window("z", 10, 11, exact=True)),
    ],
)
def test_no_character_is_cut_in_two(tmp_path: Path, offset: int, limit: int, expected: Window) -> None:
    """Borders move back to where a character begins, and one whole character is always shown."""
    with _opened(tmp_path / "f", "añ€😀z".encode()) as descriptor:
        assert read_window(descriptor, offset, limit, REDACTOR) == expected


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_parts_of_any_size_join_to_the_whole(tmp_path: Path, limit: int) -> None:
    """Going on where a part ended loses nothing, repeats nothing and comes to an end."""
    text = "x€😀ñ\n" * 7
    with _opened(tmp_path / "f", text.encode()) as descriptor:
        parts, at = [], 0
        while at < len(text.encode()):
            window = read_window(descriptor, at, limit, REDACTOR)
            assert window.start == at < window.end
            parts.append(window.text)
            at = window.end
    assert "".join(parts) == text


def test_bytes_that_are_no_text_are_replaced_and_said(tmp_path: Path) -> None:
    """Latin-1 and NUL show as what they are not, and the window says so."""
    with _opened(tmp_path / "f", b"caf\xe9 \0!") as descriptor:
        assert read_window(descriptor, 0, 100, REDACTOR) == Window("caf\ufffd \u2400!", 0, 7, exact=False)


def test_a_secret_is_masked_and_the_part_is_no_longer_exact(tmp_path: Path) -> None:
    """What reads as a mask is not what stands in the file."""
    with _opened(tmp_path / "f", f"key {SECRET}\n".encode()) as descriptor:
        assert read_window(descriptor, 0, 100, REDACTOR) == Window(f"key {MASK}\n", 0, 33, exact=False)


def test_no_part_of_a_secret_can_be_read_in_slices(tmp_path: Path) -> None:
    """Whatever offset and limit are chosen, no three characters of the value come out."""
    slivers = {SECRET[at : at + 3] for at in range(len(SECRET) - 2)}
    text = f"first {SECRET} last"
    with _opened(tmp_path / "f", text.encode()) as descriptor:
        for offset in range(len(text)):
            for limit in (1, 3, 5, 8, 20):
                shown = read_window(descriptor, offset, limit, REDACTOR).text
                assert not any(sliver in shown for sliver in slivers), (offset, limit, shown)


def test_a_value_that_only_its_name_betrays_is_masked_without_the_name_too() -> None:
    """The name may lie before the border and the value behind it."""
    before, part, after = "password=", "hunter2hunter2", " user=chief"
    assert str(REDACTOR.mask(before + part + after)) != before + part + after
    assert masked_part(REDACTOR, before, part, after) == ""


def test_a_part_beside_a_secret_is_shown_whole() -> None:
    """Only what lies within a mask is left out."""
    half = len(SECRET) // 2
    assert masked_part(REDACTOR, f"a {SECRET[:half]}", f"{SECRET[half:]} rest", " end") == " rest"
    assert masked_part(REDACTOR, "start ", f"text {SECRET[:half]}", f"{SECRET[half:]} b") == "text "
    assert masked_part(REDACTOR, f"a {SECRET} b", "plain", f"c {SECRET}") == "plain"
