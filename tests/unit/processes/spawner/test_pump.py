"""A pump keeps both ends of a stream, counts the rest, and lets a slow listener miss the middle."""

import os
from collections.abc import Iterator

import pytest

from mtbot.processes.spawner.pump import Pump


@pytest.fixture
def pipe() -> Iterator[tuple[Pump, int]]:
    """A pump that keeps ten bytes, and the end to write to."""
    source, sink = os.pipe()
    yield Pump(source, 10), sink
    os.close(source)
    os.close(sink)


def feed(pipe: tuple[Pump, int], data: bytes) -> Pump:
    """Write and read ``data`` in pieces that the pipe holds."""
    pump, sink = pipe
    for at in range(0, len(data), 60_000):
        os.write(sink, data[at : at + 60_000])
        while pump.read():
            pass
    return pump


def test_both_ends_are_kept_and_the_rest_is_counted(pipe: tuple[Pump, int]) -> None:
    """Head, tail and count add up to what was written."""
    pump = feed(pipe, b"abcdefghijklmnop")
    assert (bytes(pump.head), pump.tail, pump.dropped) == (b"abcde", b"lmnop", 6)


def test_a_listener_gets_everything_or_the_latest(pipe: tuple[Pump, int]) -> None:
    """Between two looks at most 16 KiB are kept for the listener; what was skipped before them is counted."""
    pump = feed(pipe, b"first")
    assert [pump.has_live, pump.take_live(), pump.has_live] == [True, (0, b"first"), False]
    feed(pipe, b"x" * 20_000 + b"y" * 10_000)
    feed(pipe, b"z" * 10_000)
    assert pump.take_live() == (40_000 - 16_384, b"y" * 6_384 + b"z" * 10_000)
    assert pump.take_live() == (0, b"")


def test_the_end_of_the_stream_is_told_from_silence() -> None:
    """Nothing to read is not the end; the end is when the last writer is gone."""
    source, sink = os.pipe()
    pump = Pump(source, 10)
    assert (pump.read(), pump.ended) == (False, False)
    os.close(sink)
    assert (pump.read(), pump.ended) == (False, True)
    os.close(source)
