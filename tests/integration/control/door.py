"""A small gateway with a control socket: runs one script as a command of the bot, and says who may speak and who not.

``door.py DIRECTORY SCRIPT``. Prints ``speaks`` or ``refused WHY`` for every peer, and ``end STATUS`` when the script is
over. Built from what needs the standard library alone, so that any Python of the machine can be it, as any user.
"""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

import os

from mtbot.control.peer import Watch
from mtbot.control.place import Listening
from mtbot.domain.errors import PeerRefused
from mtbot.processes.request import SpawnRequest
from mtbot.processes.runner import Runner
from mtbot.processes.spawning import harden_gateway, start_spawner


async def main(directory: Path, script: str) -> None:
    """Serve until the script is over and everybody who had connected was looked at."""
    harden_gateway()
    runner = Runner(start_spawner())
    listening = Listening(directory)
    watch = Watch(frozenset({os.getpid()}), "MTCLAW_CALL")
    looking = asyncio.create_task(look(listening, watch))
    # without the mark: where a process comes from has to be enough
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "AT": str(directory / "socket")}
    end = await runner.run(SpawnRequest("c", ("bash", "-c", script), environment, str(directory.parent), 20, 65536))
    await asyncio.sleep(0)
    looking.cancel()
    await asyncio.gather(looking, return_exceptions=True)
    print("end", end.status.value, flush=True)
    await runner.close()
    listening.close()


async def look(listening: Listening, watch: Watch) -> None:
    """Judge every peer, and let it know."""
    loop = asyncio.get_running_loop()
    while True:
        connection, _ = await loop.sock_accept(listening.socket)
        with connection:
            try:
                watch.identify(connection)
                print("speaks", flush=True)
                connection.sendall(b"welcome\n")
            except PeerRefused as refused:
                print("refused", refused, flush=True)


asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
