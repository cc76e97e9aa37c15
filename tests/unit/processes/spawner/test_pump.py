"""A pump keeps both ends of a stream, counts the rest, and lets a slow listener miss the middle."""

import os
from collections.abc import Iterator
from pathlib import Path

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


@pytest.mark.parametrize(
    ("writes", "room", "spooled"),
    [
        ((b"0123456789",), 100, b""),
        ((b"01234", b"56789"), 100, b""),
        ((b"01234", b"56789", b"a"), 100, b"0123456789a"),
        ((b"0123456789abcdef", b"ghij"), 100, b"0123456789abcdefghij"),
        ((b"0123456789abcdef", b"ghij"), 12, b"0123456789ab"),
        ((b"0123", b"456789abcdef", b"ghij"), 18, b"0123456789abcdefgh"),
    ],
    ids=["fits", "fits in two", "one too many", "at once", "little room", "room ends later"],
)
def test_what_is_not_kept_whole_is_spooled_whole(
    tmp_path: Path, writes: tuple[bytes, ...], room: int, spooled: bytes
) -> None:
    """From the first byte, as far as there is room; what fits costs nothing."""
    source, sink = os.pipe()
    file = tmp_path / "spool"
    pump = Pump(source, 10, os.open(file, os.O_CREAT | os.O_WRONLY), room)
    for data in writes:
        feed((pump, sink), data)
    pump.release()
    os.close(sink)
    assert file.read_bytes() == spooled
    assert bytes(pump.head) == b"".join(writes)[:5]


def test_a_spool_that_takes_nothing_is_let_go() -> None:
    """The output is drained as ever."""
    source, sink = os.pipe()
    pump = Pump(source, 10, os.open("/dev/full", os.O_WRONLY), 100)
    feed((pump, sink), b"x" * 50)
    feed((pump, sink), b"y" * 50)
    assert pump.dropped == 90
    pump.release()
    os.close(sink)
