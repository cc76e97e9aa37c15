"""A command in somebody's own terminal: a real pseudo-terminal, real processes, and nobody who only looks like a person."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mtbot.domain.errors import StateError
from mtbot.domain.process import CONTAINED, ChildRequest, ChildStatus
from mtbot.processes.own_terminal import TerminalChildren, require_terminal
from tests.contract.stage import HERE
from tests.contract.typist import at_terminal

ASK = "import sys; from mtbot.processes.own_terminal import require_terminal; require_terminal(0, 1); print('a person')"


def request(script: str, *, keep: int = 65_536, profile: str = "host", cwd: str = "/") -> ChildRequest:
    """A shell command, as the exec tool would ask for it."""
    environment = {"PATH": os.environ["PATH"]}
    return ChildRequest("c1", ("/bin/sh", "-c", script), cwd, environment, max_output=keep, profile=profile)


@pytest.fixture
def screen(tmp_path: Path) -> int:
    """Where the output goes that a person would see."""
    return os.open(tmp_path / "screen", os.O_CREAT | os.O_RDWR)


def seen(screen: int) -> bytes:
    """What is on it."""
    os.lseek(screen, 0, os.SEEK_SET)
    return os.read(screen, 10_000_000)


async def test_output_is_on_the_screen_as_it_is_and_kept_harmless(screen: int) -> None:
    """Both streams in their order; the model's copy has no control characters."""
    end = await TerminalChildren(screen).run(request("printf 'a\\033[31mb\\n'; echo err >&2; exit 3"))
    assert (end.status, end.exit_code) == (ChildStatus.EXITED, 3)
    assert seen(screen) == b"a\x1b[31mb\nerr\n"
    assert end.output == "ab\nerr\n"
    assert "in their own terminal" in end.message


async def test_much_output_is_shown_whole_and_kept_in_part(screen: int) -> None:
    """The first and the last of it, and how much lies between."""
    end = await TerminalChildren(screen).run(request("seq 100000", keep=1000))
    assert len(seen(screen)) == 588_895
    assert end.output.startswith("1\n2\n")
    assert end.output.endswith("99999\n100000\n")
    assert end.dropped == 588_895 - 1000


async def test_nothing_at_all_is_no_output(screen: int) -> None:
    """And not a text about it."""
    end = await TerminalChildren(screen).run(request("true"))
    assert (end.exit_code, end.output, end.raw) == (0, "", b"")


async def test_a_signal_is_no_exit(screen: int) -> None:
    """It has no code."""
    end = await TerminalChildren(screen).run(request("kill -9 $$"))
    assert (end.status, end.exit_code) == (ChildStatus.SIGNALED, None)


async def test_what_cannot_start_says_why(screen: int) -> None:
    """A missing directory; a containment that a person's own terminal does not have."""
    end = await TerminalChildren(screen).run(request("true", cwd="/nowhere"))
    assert (end.status, end.message) == (ChildStatus.NOT_STARTED, "No such file or directory: /nowhere")
    end = await TerminalChildren(screen).run(request("true", profile=CONTAINED))
    assert (end.status, end.message) == (ChildStatus.NOT_STARTED, "a command that a person runs cannot be contained")


async def test_a_background_child_does_not_hold_the_run(screen: int, tmp_path: Path) -> None:
    """It goes on, and that is said."""
    os.mkfifo(tmp_path / "hold")
    end = await TerminalChildren(screen).run(request(f"(read x < {tmp_path}/hold) & echo done"))
    assert (end.exit_code, end.output) == (0, "done\n")
    assert end.message.endswith("something that it started still runs")
    (tmp_path / "hold").write_text("go\n")


async def test_a_screen_that_is_gone_changes_nothing(tmp_path: Path) -> None:
    """The command ends as it would, and its output is kept."""
    reading, writing = os.pipe()
    os.close(reading)
    end = await TerminalChildren(writing).run(request("echo still here"))
    os.close(writing)
    assert (end.exit_code, end.output) == (0, "still here\n")


async def test_it_is_asked_to_end_when_it_is_stopped(screen: int) -> None:
    """Before it begins there is nothing to stop."""
    children = TerminalChildren(screen)
    assert await children.stop("c1") is False
    end = await children.run(request("kill -TERM $PPID; exec sleep 600"))
    assert (end.status, end.exit_code) == (ChildStatus.SIGNALED, None)
    assert await children.stop("c1") is True


async def test_a_signal_is_not_lost_while_the_command_starts(screen: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes when the process is there and nobody here has its number yet; one from before the run is none of it."""
    children = TerminalChildren(screen)
    popen = subprocess.Popen
    early = [True]

    def start(*words: Any, **named: Any) -> "subprocess.Popen[bytes]":
        process = popen(*words, **named)
        if early:
            children._pass_on(signal.SIGTERM)
        return process

    monkeypatch.setattr(subprocess, "Popen", start)
    assert (await children.run(request("exec sleep 600"))).status is ChildStatus.SIGNALED
    early.clear()
    assert (await children.run(request("true"))).exit_code == 0


class TestWhoSitsThere:
    """A person, and nothing that looks like one."""

    async def test_the_foreground_of_a_terminal_is_a_person(self, tmp_path: Path) -> None:
        """As far as anybody can tell."""
        environment = {**os.environ, "PYTHONPATH": str(HERE)}
        async with at_terminal((sys.executable, "-c", ASK), tmp_path, environment) as person:
            assert await person.ends() == 0
            assert "a person" in person.shown

    async def test_the_background_is_not(self, tmp_path: Path) -> None:
        """It would read what is meant for somebody else."""
        program = f"import os\nos.setpgid(0, 0) if os.fork() == 0 else os._exit(os.waitstatus_to_exitcode(os.wait()[1]))\n{ASK}"
        environment = {**os.environ, "PYTHONPATH": str(HERE)}
        async with at_terminal((sys.executable, "-c", program), tmp_path, environment) as person:
            assert await person.ends() == 1
            assert "not the one that this process is in the foreground of" in person.shown

    def test_a_pipe_is_not(self) -> None:
        """Whatever it says."""
        reading, writing = os.pipe()
        with pytest.raises(StateError, match="needs a terminal"):
            require_terminal(reading, writing)
        os.close(reading)
        os.close(writing)
