"""A long-lived child is talked to over its own pipes and ended like any other command."""

import asyncio
import json
import sys

from mtbot.processes.conversation import Conversation
from mtbot.processes.ending import EndStatus, ProcessEnd
from mtbot.processes.request import SpawnRequest
from mtbot.processes.runner import Runner

from .scenes import PATH, Watched

ECHO = """
import json, os, sys
print('ready', file=sys.stderr, flush=True)
for line in sys.stdin:
    print(json.dumps({'pid': os.getpid(), 'length': len(json.loads(line))}), flush=True)
"""


def server(source: str) -> SpawnRequest:
    """A child without a time-out."""
    return SpawnRequest("server", (sys.executable, "-I", "-S", "-c", source), PATH, "/", None, 4096)


async def talk(runner: Runner, source: str = ECHO) -> Conversation:
    """Start a conversation that must start."""
    started = await runner.converse(server(source))
    assert isinstance(started, Conversation)
    return started


async def ask(conversation: Conversation, text: str) -> dict[str, int]:
    """Send one line and return the answer."""
    conversation.writer.write(json.dumps(text).encode() + b"\n")
    await conversation.writer.drain()
    answer = json.loads(await conversation.reader.readline())
    assert isinstance(answer, dict)
    return answer


async def test_lines_go_both_ways_and_errors_are_kept_apart(runner: Runner) -> None:
    """Questions and answers of any length pass; standard error is the output of the end; closing ends it cleanly."""
    conversation = await talk(runner)
    assert [(await ask(conversation, "x" * size))["length"] for size in (0, 1, 1_000_000)] == [0, 1, 1_000_000]
    conversation.writer.close()
    end = await conversation.end
    assert await conversation.reader.read() == b""
    assert (end.status, end.exit_code, end.output.head) == (EndStatus.EXITED, 0, b"ready\n")


async def test_a_stop_ends_the_child(runner: Runner) -> None:
    """A server that is stopped is dead when stop returns, and its stream ends."""
    conversation = await talk(runner)
    watched = Watched((await ask(conversation, ""))["pid"])
    assert await runner.stop("server")
    assert watched.gone(0)
    assert (await conversation.end).status is EndStatus.STOPPED
    assert await conversation.reader.read() == b""
    conversation.writer.close()
    watched.close()


async def test_a_child_that_exits_ends_the_conversation(runner: Runner) -> None:
    """Its last words arrive before the end of the stream."""
    conversation = await talk(runner, "print('bye'); raise SystemExit(9)")
    assert await conversation.reader.read() == b"bye\n"
    assert (await conversation.end).exit_code == 9
    conversation.writer.close()


async def test_another_command_does_not_hold_the_pipes(runner: Runner) -> None:
    """A command that runs beside it inherits neither end, so the child sees the end of its input at once."""
    conversation = await talk(runner)
    beside = asyncio.ensure_future(runner.run(SpawnRequest("c", ("sleep", "600"), PATH, "/", 60, 4096)))
    await ask(conversation, "")
    conversation.writer.close()
    assert (await conversation.end).exit_code == 0
    await runner.stop("c")
    assert (await beside).status is EndStatus.STOPPED


async def test_what_cannot_start_says_so_at_the_end(runner: Runner) -> None:
    """A missing program ends the stream and tells why."""
    started = await runner.converse(SpawnRequest("server", ("no-such-program",), PATH, "/", None, 4096))
    assert isinstance(started, Conversation)
    assert await started.reader.read() == b""
    assert await started.end == ProcessEnd(EndStatus.FAILED_TO_START, message="program not found: no-such-program")
    started.writer.close()


async def test_without_a_spawner_there_is_no_conversation(runner: Runner) -> None:
    """The refusal is an end, and no descriptor is left open."""
    await runner.close()
    assert await runner.converse(server(ECHO)) == ProcessEnd(
        EndStatus.FAILED_TO_START, message="mtclaw is shutting down"
    )
