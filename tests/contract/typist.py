"""A person at a terminal of their own: a command in the foreground of a real pseudo-terminal, who reads and types."""

import asyncio
import contextlib
import fcntl
import os
import signal
import subprocess
import termios
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.contract.stage import HERE, MTCLAW, Stage

SECONDS = 60.0


@dataclass(slots=True)
class Typist:
    """What the terminal shows, and what is typed into it."""

    process: "subprocess.Popen[bytes]"
    master: int
    shown: str = ""
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def read(self) -> None:
        """Take what came; a terminal whose other side is gone reads as an error."""
        try:
            data = os.read(self.master, 65_536)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self.master)
        self.shown += data.decode("utf-8", "replace")
        self._news.set()

    async def sees(self, text: str) -> None:
        """Wait until it is on the screen."""
        async with asyncio.timeout(SECONDS):
            while text not in self.shown:
                self._news.clear()
                await self._news.wait()

    def types(self, text: str) -> None:
        """Type, also what the terminal makes a signal of."""
        os.write(self.master, text.encode())

    async def ends(self) -> int:
        """Its exit status, with everything read."""
        status = await asyncio.to_thread(self.process.wait, SECONDS)
        while True:
            with contextlib.suppress(BlockingIOError):
                try:
                    data = os.read(self.master, 65_536)
                except BlockingIOError:
                    return status
                except OSError:
                    return status
                if not data:
                    return status
                self.shown += data.decode("utf-8", "replace")


@asynccontextmanager
async def at_terminal(argv: Sequence[str], directory: Path, environment: Mapping[str, str]) -> AsyncIterator[Typist]:
    """``argv`` as the foreground of a terminal; killed at the end if it still lives."""
    master, slave = os.openpty()
    os.set_blocking(master, False)
    process = subprocess.Popen(
        argv,
        cwd=directory,
        env=dict(environment),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - one call of the kernel, no lock
    )
    os.close(slave)
    typist = Typist(process, master)
    asyncio.get_running_loop().add_reader(master, typist.read)
    try:
        yield typist
    finally:
        asyncio.get_running_loop().remove_reader(master)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(master)


@asynccontextmanager
async def host_run(stage: Stage, ident: str) -> AsyncIterator[Typist]:
    """``mtclaw approvals run`` by somebody at the host whose variables are others than the gateway's."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(stage.directory), "PYTHONPATH": str(HERE), "TERM": "xterm"}
    argv = (*MTCLAW, "--config", str(stage.config), "approvals", "run", ident)
    async with at_terminal(argv, stage.directory, environment) as typist:
        yield typist
