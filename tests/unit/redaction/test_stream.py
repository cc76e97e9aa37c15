"""Text in pieces is masked as the whole is, wherever it was split."""

import base64
import itertools
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtbot.domain.ids import SafeText
from mtbot.redaction.mask import Redactor
from mtbot.redaction.stream import LIMIT
from tests.unit.redaction.samples import ALNUM, SAMPLES, Sample, draw, private_key, windows

JSON_KEY = '{\n  "type": "key",\n  "id": "hunter2hunter2"\n}'
REDACTOR = Redactor({"model": "swordfish9", "json": JSON_KEY, "spaced": "correct horse battery"}, b"key")
ENCODED = base64.encodebytes(b"\xff" * 50 + b"swordfish9" + b"\xff" * 50).decode()
PIXELS = "iVBORw0KGgo" + draw(65)
IMAGE = "\n".join([PIXELS, *(draw(76, ALNUM + "+/", seed) for seed in range(6)), draw(44)])
DOCUMENT = "\n".join(
    [*(sample.text for sample in SAMPLES), JSON_KEY, ENCODED, IMAGE, "correct horse battery", "end", ""]
)


def _streamed(pieces: Iterable[str], redactor: Redactor = REDACTOR) -> str:
    stream = redactor.stream()
    shown = [stream.feed(piece) for piece in pieces]
    shown.append(stream.close())
    assert all(isinstance(piece, SafeText) for piece in shown)
    return "".join(shown)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_a_secret_split_anywhere_is_masked_as_if_it_were_whole(sample: Sample) -> None:
    """Every place of every sample, and one character at a time."""
    text = f"{sample.text}\nnext\n"
    whole = REDACTOR.mask(text)
    assert {_streamed([text[:at], text[at:]]) for at in range(len(text))} == {whole}
    assert _streamed(text) == whole


@pytest.mark.parametrize("text", [JSON_KEY, ENCODED, IMAGE, "correct horse battery", "x\r\ny\rz\n"])
def test_values_over_several_lines_are_masked_as_if_they_were_whole(text: str) -> None:
    """A configured value with lines, a wrapped encoding of one, and data that must stay readable."""
    whole = REDACTOR.mask(f"{text}\nnext\n")
    assert {_streamed([f"{text}\nnext\n"[:at], f"{text}\nnext\n"[at:]]) for at in range(len(text))} == {whole}
    assert _streamed(f"{text}\nnext\n") == whole


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, len(DOCUMENT)), max_size=40))
def test_a_document_in_any_pieces_is_masked_as_if_it_were_whole(cuts: list[int]) -> None:
    """Everything at once."""
    places = [0, *sorted(cuts), len(DOCUMENT)]
    assert _streamed(DOCUMENT[a:b] for a, b in itertools.pairwise(places)) == REDACTOR.mask(DOCUMENT)


def test_a_finished_line_is_shown_at_once_and_an_open_one_is_not() -> None:
    """Progress is visible as it comes."""
    stream = REDACTOR.stream()
    assert stream.feed("one\ntwo") == "one\n"
    assert stream.feed(" and\rthree") == "two and\r"
    assert stream.feed(" --token \\\n") == ""
    assert stream.feed("abc\n") == REDACTOR.mask("three --token \\\nabc\n")
    assert stream.close() == ""


def test_a_stream_can_be_used_again_after_it_was_closed() -> None:
    """Nothing of the first text is left."""
    stream = REDACTOR.stream()
    assert stream.feed("a") + stream.close() == "a"
    assert stream.feed("b") + stream.close() == "b"


def test_a_line_without_end_is_shown_before_it_ends() -> None:
    """Memory stays bounded, and what is shown is what the whole would show."""
    text = "word swordfish9 --token abcdef " * 4000
    stream = REDACTOR.stream()
    shown = ""
    for at in range(0, len(text), 1000):
        shown += stream.feed(text[at : at + 1000])
        assert len(stream._pending) <= 2 * LIMIT
    assert shown + stream.close() == REDACTOR.mask(text)


@pytest.mark.parametrize("size", [1000, 40_000, 300_000])
def test_data_without_blanks_passes_unmasked(size: int) -> None:
    """An encoded file on one line is longer than any secret."""
    data = draw(300_000)
    assert _streamed(data[at : at + size] for at in range(0, len(data), size)) == data


@pytest.mark.parametrize("size", [1000, 40_000, 300_000])
@pytest.mark.parametrize("before", ["TOKEN=", "x --password ", "\ud800 TOKEN="])
def test_a_value_longer_than_anything_that_waits_shows_nothing(before: str, size: int) -> None:
    """It becomes one mask, and what follows it is shown again."""
    value = draw(300_000)
    text = f"{before}{value} after TOKEN=abc\n"
    shown = _streamed(text[at : at + size] for at in range(0, len(text), size))
    assert [window for window in windows(value, 12) if window in shown] == []
    assert shown.endswith(f" after {REDACTOR.mask('TOKEN=abc')}\n")
    assert shown.count("\u2039") == 2


def test_a_value_that_never_ends_is_closed_quietly() -> None:
    """The stream may end while it still swallows."""
    stream = REDACTOR.stream()
    shown = "".join(stream.feed("TOKEN=" + "ab1Z" * 40_000) for _ in range(1)) + stream.feed("ab1Z") + stream.close()
    assert shown == REDACTOR.mask("TOKEN=" + "ab1Z" * 40_000)


def test_values_that_cross_the_place_of_a_forced_cut_are_not_cut() -> None:
    """A configured value with blanks lies across the middle of what waits."""
    for shift in range(0, 40, 3):
        text = "x " * (LIMIT // 4 - 20) + " " * shift + "correct horse battery " + "y " * LIMIT
        assert _streamed([text]) == REDACTOR.mask(text)


def test_a_block_without_end_does_not_wait_for_ever() -> None:
    """The words of a begin line alone hold back no more than the limit."""
    text = "-----BEGIN nothing-----\n" + "line of text\n" * 6000
    stream = REDACTOR.stream()
    assert len(stream.feed(text)) > 0
    assert "".join([_streamed([text])]) == text


def test_lines_before_an_unfinished_block_are_shown() -> None:
    """Only the block waits."""
    key = private_key()
    stream = REDACTOR.stream()
    assert stream.feed(f"a\nb\n{key[:100]}\n") == "a\nb\n"
    assert stream.feed(f"{key[100:]}\n") == f"{REDACTOR.mask(key[:100] + chr(10) + key[100:])}\n"
