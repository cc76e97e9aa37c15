"""Frames are short, whole, of one version and JSON objects; everything else is named and refused."""

import json

import pytest

from mtbot.control.wire import MAX_FRAME, frame, read_frame, text_of
from mtbot.domain.errors import ControlError


def test_a_frame_is_one_line_and_reads_back() -> None:
    """Whatever is in a text, the newline stands at the end only."""
    data = frame({"do": "deny", "reason": "not now\nplease \u2028"})
    assert (data.count(b"\n"), data.endswith(b"\n")) == (1, True)
    assert read_frame(data) == {"v": 1, "do": "deny", "reason": "not now\nplease \u2028"}


def test_a_frame_has_at_most_64_kib() -> None:
    """The newline counts."""
    room = MAX_FRAME - len(frame({"x": ""}))
    assert len(frame({"x": "a" * room})) == MAX_FRAME == 65_536
    with pytest.raises(ControlError, match="65537 bytes is over the limit of 65536"):
        frame({"x": "a" * (room + 1)})


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no JSON"),
        (b'{"v": 1', "no JSON"),
        (b"\xff\xfe", "no JSON"),
        (b"[" * 60_000, "no JSON"),
        (b"[1]", "no JSON object"),
        (b'{"do": "status"}', "version None"),
        (b'{"v": 2}', "version 2"),
        (b'{"v": true}', "version True"),
    ],
    ids=["empty", "cut", "bytes", "deep", "list", "no-version", "later", "boolean"],
)
def test_what_is_no_message_is_named(data: bytes, why: str) -> None:
    """The reader of the line learns what was wrong with it."""
    with pytest.raises(ControlError, match=why):
        read_frame(data)


def test_a_text_is_a_text() -> None:
    """A number where a text belongs is no id of a question."""
    assert (text_of({"id": "K7QD"}, "id"), text_of({}, "id")) == ("K7QD", "")
    with pytest.raises(ControlError, match="id must be a text"):
        text_of({"id": json.loads("[1]")}, "id")
