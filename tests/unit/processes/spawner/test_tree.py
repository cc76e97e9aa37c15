"""Processes are found by kinship and by what they hold, and described as the record names them."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from mtbot.processes.spawner import tree

WAITS = "import sys; print('ready', flush=True); sys.stdin.read()"


@pytest.fixture
def holder() -> Iterator[tuple[int, int]]:
    """A child that holds a pipe and a mark: its pid and the pipe's inode."""
    source, sink = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", WAITS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=[sink],
        env={"MARK": "17"},
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        yield child.pid, os.fstat(source).st_ino
        child.communicate()
    os.close(source)
    os.close(sink)


def test_children_and_descendants_are_found(holder: tuple[int, int]) -> None:
    """A child is listed under its parent, and not if it is to be spared."""
    pid, _ = holder
    assert pid in tree.children(os.getpid())
    assert pid in tree.own_children()
    assert (pid, os.getpid()) in tree.descendants(os.getpid())
    assert pid not in [found for found, _ in tree.descendants(os.getpid(), frozenset({pid}))]


def test_a_holder_is_found_by_its_pipe_or_its_mark(holder: tuple[int, int]) -> None:
    """Either is enough; neither, or an age before the command, is not."""
    pid, inode = holder
    since = tree.start_time(pid)
    leader = pid - 1
    assert pid in tree.newer_holders(leader, since, inode, b"")
    assert pid in tree.newer_holders(leader, since, None, b"MARK=17")
    assert pid not in tree.newer_holders(leader, since, None, b"MARK=1")
    assert pid not in tree.newer_holders(leader, since, None, b"")
    assert pid not in tree.newer_holders(leader, since + 1, inode, b"MARK=17")


def test_a_process_is_described_for_the_record(holder: tuple[int, int]) -> None:
    """Pid, start, effective user and argv; a process that is gone has no description."""
    pid, _ = holder
    described = tree.describe(pid)
    assert described is not None
    argv = [sys.executable, "-I", "-S", "-c", WAITS]
    assert described.as_json() == [pid, tree.start_time(pid), os.geteuid(), argv]
    assert abs(described.start - tree.ticks_now()) < 60 * os.sysconf("SC_CLK_TCK")


def test_the_dead_are_not_described() -> None:
    """A zombie is no survivor."""
    with subprocess.Popen(["true"]) as child:
        held = os.pidfd_open(child.pid)
        os.waitid(os.P_PIDFD, held, os.WEXITED | os.WNOWAIT)
        assert tree.describe(child.pid) is None
        os.close(held)
    assert tree.describe(child.pid) is None
    assert tree.start_time(child.pid) == 0
