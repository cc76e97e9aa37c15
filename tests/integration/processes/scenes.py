"""What the process tests share: requests, and ways to know that a process is gone without asking a clock."""

import asyncio
import json
import os
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Self

from mtbot.processes.request import SpawnRequest
from mtbot.processes.runner import Runner

HOME = Path(__file__).parents[3]
PATH = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}


def shell(script: str, *, name: str = "c", timeout: float | None = 20.0, keep: int = 65536) -> SpawnRequest:
    """A request that runs ``script`` in bash."""
    return SpawnRequest(name, ("bash", "-c", script), PATH, "/", timeout, keep)


def program(source: str, *, name: str = "c", timeout: float = 20.0) -> SpawnRequest:
    """A request that runs ``source`` in Python."""
    return SpawnRequest(name, (sys.executable, "-I", "-S", "-c", source), PATH, "/", timeout, 65536)


class Heard:
    """Collects running output, and lets a test wait for a text in it."""

    def __init__(self) -> None:
        self.data = b""
        self._more = asyncio.Event()

    def __call__(self, data: bytes) -> None:
        self.data += data
        self._more.set()

    async def line(self, number: int = 1) -> list[str]:
        """Wait for ``number`` complete lines and return their words, all in one list."""
        async with asyncio.timeout(10):
            while self.data.count(b"\n") < number:
                await self._more.wait()
                self._more.clear()
        return self.data.decode().split()

    async def text(self, wanted: bytes) -> None:
        """Wait for a text; what comes too fast to be followed is passed over."""
        async with asyncio.timeout(10):
            while wanted not in self.data:
                await self._more.wait()
                self._more.clear()

    async def pids(self, count: int) -> list[int]:
        """Wait for ``count`` lines of pids."""
        return [int(word) for word in await self.line(count)]


class Watched:
    """Processes held by pidfd from a moment at which they are alive, so that their end is an event and no guess."""

    def __init__(self, *pids: int) -> None:
        self._held = {pid: os.pidfd_open(pid) for pid in pids}

    def gone(self, seconds: float = 5.0) -> bool:
        """Wait for the end of all; False if one is alive after ``seconds``."""
        poller = select.poll()
        for fd in self._held.values():
            poller.register(fd, select.POLLIN)
        left = len(self._held)
        while left:
            ended = poller.poll(seconds * 1000)
            if not ended:
                return False
            for fd, _ in ended:
                poller.unregister(fd)
                left -= 1
        return True

    def close(self) -> None:
        """Let go of all."""
        for fd in self._held.values():
            os.close(fd)


class Gateway:
    """A gateway in a process of its own, which a test may kill."""

    def __init__(self, *command: str) -> None:
        program = command or (sys.executable,)
        self.process = subprocess.Popen(
            [*program, "-B", str(Path(__file__).with_name("gateway.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self._unheard: list[list[str]] = []
        self.spawner = int(self.hear("spawner")[0])

    def hear(self, *words: str) -> list[str]:
        """Return the rest of the next line that begins with ``words``; other lines are kept for later."""
        assert self.process.stdout is not None
        for line in self._unheard:
            if line[: len(words)] == list(words):
                self._unheard.remove(line)
                return line[len(words) :]
        for text in self.process.stdout:
            line = text.split()
            if line[: len(words)] == list(words):
                return line[len(words) :]
            self._unheard.append(line)
        raise AssertionError(f"the gateway never said {words}")

    def tell(self, name: str, script: str, timeout: float = 20, uid: int = 0) -> None:
        """Have it run a script."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([name, script, timeout, uid]) + "\n")
        self.process.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def spawner_children(runner: Runner) -> list[int]:
    """The spawner's children: supervisors, dead ones included."""
    pid = runner.pid()
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def eventually(holds: Callable[[], bool]) -> bool:
    """Give a condition that no event announces up to five seconds to become true."""
    for _ in range(1000):
        if holds():
            return True
        await asyncio.sleep(0.005)
    return False
