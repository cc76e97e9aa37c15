"""However much a command writes, it is drained, counted and kept at both ends, in memory that does not grow."""

import resource

import pytest

from mtbot.processes.ending import EndStatus
from mtbot.processes.runner import Runner

from .scenes import Heard, shell

KEEP = 65536
MEGABYTE = 1 << 20


async def test_a_gigabyte_costs_no_memory(runner: Runner) -> None:
    """Supervisor and gateway are as large after a gigabyte as after a line, and not one byte is miscounted."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak = "grep -a VmHWM /proc/$PPID/status"
    small = await runner.run(shell(f"echo; {peak}", keep=KEEP))
    large = await runner.run(shell(f"head -c {1 << 30} /dev/zero; echo; {peak}", keep=KEEP))
    before, after = (int((end.output.head + end.output.tail).split()[-2]) for end in (small, large))
    assert after - before < 4096
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - own < 16384
    assert large.output.size == (1 << 30) + 1 + len(small.output.head) - 1
    assert (len(large.output.head), len(large.output.tail)) == (KEEP // 2, KEEP // 2)


async def test_yes_is_cut_at_the_time_out(runner: Runner) -> None:
    """A writer without end runs at full speed until its time is over; both ends of what it wrote are kept."""
    end = await runner.run(shell("yes", timeout=0.5, keep=KEEP))
    assert end.status is EndStatus.TIMED_OUT
    assert end.output.head == b"y\n" * (KEEP // 4)
    assert end.output.tail.replace(b"y", b"").replace(b"\n", b"") == b""
    assert end.dropped > 20 * MEGABYTE
    assert end.output.text().count("bytes left out") == 1


async def test_a_follower_of_a_flood_gets_a_trickle(runner: Runner) -> None:
    """Running output is thinned out before it reaches the gateway, so that no command can occupy its loop."""
    heard = Heard()
    end = await runner.run(shell("yes", timeout=0.5, keep=KEEP), heard)
    assert 0 < len(heard.data) < MEGABYTE / 4
    assert end.output.size > 20 * MEGABYTE


@pytest.mark.parametrize("piece", [1, 7, 4096, 65536, 100_000])
async def test_the_kept_ends_do_not_depend_on_the_size_of_writes(runner: Runner, piece: int) -> None:
    """Written byte by byte or in one piece, head, tail and count are the same."""
    total = 1_000_000 if piece > 100 else 30_000
    numbers = f"bash -c 'for ((i=0; i<{total // 10}; i++)); do printf %09d\\\\n $i; done'"
    end = await runner.run(shell(f"{numbers} | dd obs={piece} ibs=65536 status=none", keep=2000))
    written = b"".join(b"%09d\n" % n for n in range(total // 10))
    assert (end.output.head, end.output.tail) == (written[:1000], written[-1000:])
    assert end.dropped == total - 2000


async def test_bytes_that_are_no_text_pass_through_whole(runner: Runner) -> None:
    """The kept bytes are the command's own; only their text form is made harmless."""
    end = await runner.run(shell(r"printf '\377\360\000\033[31mred\033[0m'"))
    assert end.output.head == b"\xff\xf0\0\x1b[31mred\x1b[0m"
    assert end.output.text() == "\ufffd\ufffd␀red"
