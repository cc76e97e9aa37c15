"""A gateway of its own for tests of containment: reads what to run as JSON lines and says how each ended.

It imports nothing but the standard library and mtbot's domain and processes, so that any user's Python can run it.
"""

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from mtbot.domain.process import ChildRequest, Grants
from mtbot.processes import probe
from mtbot.processes.children import RunnerChildren
from mtbot.processes.confiner import Confiner
from mtbot.processes.containment import Guard
from mtbot.processes.runner import Runner
from mtbot.processes.spawning import start_spawner


def say(**fields: object) -> None:
    """One line to the test."""
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def grants_of(wanted: Mapping[str, Any]) -> Grants:
    """The grants that a test names, and what its Python needs."""
    paths = {name: tuple(wanted.get(name, ())) for name in ("write", "read", "look")}
    return Grants(
        network=wanted.get("network", False),
        attributes=wanted.get("attributes", False),
        write=paths["write"],
        read=(*paths["read"], *probe.interpreter()),
        look=paths["look"],
    )


async def main() -> None:
    """Serve until the input ends."""
    runner = Runner(start_spawner())
    await runner.ready()
    confiner = Confiner(runner, Guard(lambda _path: False, lambda _path: False, ("/nowhere/own",)))
    children = RunnerChildren(runner, confiner)
    held = await confiner.state()
    say(
        files=held.files,
        network=held.network,
        signals=held.signals,
        missing=held.missing,
        pid=os.getpid(),
        spawner=runner.pid(),
        python=sys.executable,
    )
    for number, line in enumerate(iter(sys.stdin.readline, "")):
        wanted = json.loads(line)
        request = ChildRequest(
            f"c{number}",
            ("bash", "-c", wanted["script"]),
            wanted["cwd"],
            {"PATH": "/usr/local/bin:/usr/bin:/bin", **wanted["env"]},
            20.0,
            profile=wanted["profile"],
            grants=grants_of(wanted["grants"]),
        )
        end = await children.run(request)
        say(exit=end.exit_code, output=end.output, message=end.message)
    await confiner.close()
    await runner.close()


if __name__ == "__main__":
    asyncio.run(main())
