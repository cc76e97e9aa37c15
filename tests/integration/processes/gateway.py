"""A small gateway as a program of its own, for tests that stop or kill one: reads requests as JSON lines, prints ends.

Prints ``spawner PID`` first, then for every line of output ``out NAME TEXT``, and ``end NAME STATUS SURVIVORS``.
"""

import asyncio
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from mtbot.domain.process import Account
from mtbot.processes.request import SpawnRequest
from mtbot.processes.runner import Runner
from mtbot.processes.spawning import harden_gateway, start_spawner


async def serve() -> None:
    """Run until standard input ends; then close the runner."""
    harden_gateway()
    runner = Runner(start_spawner())
    print("spawner", runner.pid(), flush=True)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    running: set[asyncio.Task[None]] = set()
    while line := await reader.readline():
        running.add(asyncio.create_task(execute(runner, *json.loads(line))))
    await asyncio.gather(*running)
    await runner.close()


async def execute(runner: Runner, name: str, script: str, timeout: float, uid: int = 0) -> None:
    """Run one script, as another user if ``uid`` says so, and print what it says and how it ends."""
    account = Account("somebody", uid, uid, (uid,), "/", "/bin/sh") if uid else None
    request = SpawnRequest(name, ("bash", "-c", script), {"PATH": "/usr/bin:/bin"}, "/", timeout, 4096, account=account)
    end = await runner.run(request, lambda data: print("out", name, data.decode().strip(), flush=True))
    left = json.dumps([[one.pid, one.start_time, one.uid, one.argv] for one in end.survivors], separators=(",", ":"))
    print("end", name, end.status, left, flush=True)


asyncio.run(serve())
