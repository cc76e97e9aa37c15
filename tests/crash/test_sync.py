"""Seen by the kernel: what must survive a power cut is synced before anything follows from it.

The gateway runs under strace. Its write-ahead log has to be synced between the insert of the ``started`` event and the
``execve`` of the command, and between the insert of an update and the request that confirms it.
"""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.crash.scene import COMMAND, open_scene

CALLS = "execve,fsync,fdatasync,pwrite64,write,writev,sendto,sendmsg,read,recvfrom,recvmsg"
LONGEST = 8192
"""Bytes of a buffer that are shown: a page of the database and its frame's head are fewer."""

_LINE = re.compile(r"(?P<pid>\d+) +(?P<rest>.*)")
_RESUMED = re.compile(r"<\.\.\. \w+ resumed>")


@dataclass(frozen=True, slots=True)
class Step:
    """A system call by when it began and when it was done, counted in lines of the trace."""

    text: str
    begun: int
    done: int

    @property
    def syncs(self) -> bool:
        """Whether it brought the log to the disk."""
        return (
            self.text.startswith(("fdatasync(", "fsync("))
            and "mtclaw.db-wal" in self.text
            and self.text.endswith("= 0")
        )

    @property
    def logs(self) -> bool:
        """Whether it wrote to the log."""
        return self.text.startswith("pwrite64(") and "mtclaw.db-wal" in self.text


def steps(trace: str) -> Iterator[Step]:
    """The calls of a trace of several threads, put together where another thread came in between."""
    open_: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(trace.splitlines()):
        found = _LINE.fullmatch(line)
        if found is None:
            continue
        pid, rest = found["pid"], found["rest"]
        if rest.endswith("<unfinished ...>"):
            open_[pid] = (rest.removesuffix("<unfinished ...>").rstrip(), number)
        elif (resumed := _RESUMED.match(rest)) and pid in open_:
            text, begun = open_.pop(pid)
            yield Step(text + rest[resumed.end() :].lstrip(), begun, number)
        else:
            yield Step(rest, number, number)


def first(found: list[Step], after: int, *words: str, logs: bool = False) -> Step:
    """The first call behind ``after`` that shows all of ``words``."""
    return next(
        step for step in found if step.begun > after and all(word in step.text for word in words) and step.logs >= logs
    )


def synced(found: list[Step], written: Step, before: Step) -> bool:
    """Whether the log was synced behind that write and before that call began."""
    return any(step.syncs and step.begun > written.done and step.done < before.begun for step in found)


async def test_the_log_is_on_disk_before_anything_follows_from_it(tmp_path: Path) -> None:
    """An update before it is confirmed; a start before the command exists."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("needs: strace")
    trace = tmp_path / "trace"
    async with open_scene(tmp_path) as scene:
        # the database is made before, so that its schema is not in the trace
        await scene.start()
        await scene.stop()
        scene.wrapper = (strace, "-f", "-y", "-s", str(LONGEST), "-o", str(trace), "-e", f"trace={CALLS}")
        await scene.start()
        await scene.play()
        await scene.stop()
    found = sorted(steps(trace.read_text(errors="replace")), key=lambda step: step.begun)
    received = first(found, 0, "do it", "update_id")
    stored = first(found, received.done, logs=True)
    confirmed = first(found, received.done, "getUpdates")
    assert synced(found, stored, confirmed)
    started = first(found, confirmed.done, "started", COMMAND, logs=True)
    ran = first(found, confirmed.done, "execve(", COMMAND)
    assert started.done < ran.begun
    assert synced(found, started, ran)


def test_a_call_that_was_interrupted_by_another_thread_is_put_together() -> None:
    """It counts from its beginning to its end."""
    trace = (
        "7 fdatasync(4</a/mtclaw.db-wal> <unfinished ...>\n"
        '8 sendto(5<socket>, "getUpdates", 10, 0, NULL, 0) = 10\n'
        "7 <... fdatasync resumed>) = 0\n"
    )
    sent, sync = steps(trace)
    assert (sync.begun, sync.done, sync.syncs) == (0, 2, True)
    assert not synced([sent, sync], Step("", -1, -1), sent)
