"""Which process wrote something, and whether it is certainly dead; tried with real processes."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mtbot.storage import instance
from mtbot.storage.instance import Instance, provably_dead, this_instance
from tests.integration.storage.ordinary import ordinary_user

ROOT = Path(__file__).parents[3]
PRINT = "from mtbot.storage.instance import this_instance; print(this_instance(), flush=True); input()"


def child() -> tuple["subprocess.Popen[str]", Instance]:
    """Another process and its identity as it tells it itself."""
    process = subprocess.Popen(
        [sys.executable, "-c", PRINT], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    told = Instance.parse(process.stdout.readline().strip())
    assert told is not None
    return process, told


def test_an_identity_is_read_back_as_it_was_written() -> None:
    """And anything else is none."""
    here = this_instance()
    assert here.pid == os.getpid()
    assert len(here.boot) == 8
    assert Instance.parse(str(here)) == here
    for other in ("", "a:b:c", "a:b:x:1", "a:b:1:2:3", "cli"):
        assert Instance.parse(other) is None


def test_a_running_process_is_alive_and_an_ended_one_dead() -> None:
    """Also while it has ended and nobody has collected it."""
    here = this_instance()
    process, told = child()
    assert not provably_dead(told, here)
    assert not provably_dead(here, told)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert provably_dead(told, here)
    process.communicate()
    assert provably_dead(told, here)


def test_a_pid_that_came_back_is_another_process() -> None:
    """The start time tells them apart."""
    here = this_instance()
    assert provably_dead(replace(here, start="1"), here)
    assert not provably_dead(replace(here, start="-"), here)


def test_nothing_survives_a_reboot() -> None:
    """Whatever has its pid now."""
    here = this_instance()
    assert provably_dead(replace(here, boot="00000000"), here)
    assert not provably_dead(replace(here, boot="-"), here)


def test_another_host_proves_nothing() -> None:
    """Its pids mean nothing here."""
    here = this_instance()
    assert not provably_dead(replace(here, host="elsewhere", pid=2**22 + 1), here)


def test_a_process_of_somebody_else_counts_as_what_can_be_seen() -> None:
    """A signal is forbidden, but the start time is public; a number that is no pid proves nothing."""
    here = this_instance()
    with ordinary_user():
        first = replace(here, pid=1, start=instance._start(1) or "-")
        assert not provably_dead(first, here)
    assert not provably_dead(replace(here, pid=2**80), here)


def test_without_proc_only_a_missing_pid_is_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS."""
    monkeypatch.setattr(instance, "_PROC", tmp_path)
    here = this_instance()
    assert (here.boot, here.start) == ("-", "-")
    assert not provably_dead(here, here)
    process = subprocess.Popen(["true"])
    process.wait()
    assert provably_dead(replace(here, pid=process.pid), here)
