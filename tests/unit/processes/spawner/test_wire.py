"""Frames survive any cutting of the stream, and nonsense is noticed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtbot.processes.spawner.wire import MAX_PAYLOAD, BrokenFrame, FrameReader, Kind, frame, json_frame


@given(
    st.lists(st.tuples(st.sampled_from(Kind), st.binary(max_size=50)), max_size=8),
    st.lists(st.integers(1, 30), min_size=1, max_size=10),
)
@settings(max_examples=200, deadline=None)
def test_frames_come_out_as_they_went_in(frames: list[tuple[Kind, bytes]], cuts: list[int]) -> None:
    """However the stream is cut, the same frames come out in the same order."""
    stream = b"".join(frame(kind, payload) for kind, payload in frames)
    reader = FrameReader()
    found: list[tuple[Kind, bytes]] = []
    at = turn = 0
    while at < len(stream):
        size = cuts[turn % len(cuts)]
        found += reader.feed(stream[at : at + size])
        at, turn = at + size, turn + 1
    assert found == frames


@pytest.mark.parametrize(
    "stream",
    [b"\0\0\0\0\0", b"\0\0\0\0\xff", (MAX_PAYLOAD + 1).to_bytes(4, "big") + b"\1", b"GET / HTTP/1.1\r\n"],
)
def test_what_is_no_frame_is_an_error(stream: bytes) -> None:
    """A wrong kind or an excessive length is refused before anything is kept for it."""
    with pytest.raises(BrokenFrame):
        list(FrameReader().feed(stream))


def test_json_is_written_in_ascii() -> None:
    """Text that is no UTF-8 on the host passes through JSON, because it is escaped."""
    assert json_frame(Kind.REQUEST, {"argv": ["\udcff"]}) == b'\0\0\0\x13\x01{"argv":["\\udcff"]}'
