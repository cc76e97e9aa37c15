"""A gateway of its own for tests of containment: reads what to run as JSON lines and says how each ended.

The options are a JSON object: ``bubblewrap`` is its program, ``wait_ms`` how long that may take, ``landlock`` the
newest version of it to be used. It imports nothing but what of mtbot needs only the standard library, so that any user's
Python can run it.
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
from mtbot.processes import bubblewrap, probe
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
        guarded=wanted.get("guarded", ""),
        git=wanted.get("git", False),
    )


async def main() -> None:
    """Serve until the input ends."""
    runner = Runner(start_spawner())
    await runner.ready()
    options = json.loads(sys.argv[1])
    bubblewrap.WAIT_MILLISECONDS = options.get("wait_ms", bubblewrap.WAIT_MILLISECONDS)
    look_through = bubblewrap.look_through
    guard = Guard(lambda _path: False, lambda _path: False, ("/nowhere/own",))
    confiner = Confiner(runner, guard, program=options.get("bubblewrap"), newest_landlock=options.get("landlock"))
    children = RunnerChildren(runner, confiner)
    held = await confiner.state()
    say(
        files=held.files,
        network=held.network,
        signals=held.signals,
        bubblewrap=held.bubblewrap,
        no_bubblewrap=held.no_bubblewrap,
        missing=held.missing,
        pid=os.getpid(),
        spawner=runner.pid(),
        python=sys.executable,
    )
    for number, line in enumerate(iter(sys.stdin.readline, "")):
        wanted = json.loads(line)
        if "plan" in wanted:
            planned = bubblewrap.Closed(wanted["grants"]["guarded"], found=dict(wanted["plan"]))
        bubblewrap.look_through = look_through if "plan" not in wanted else lambda *_, **__: planned  # noqa: B023 - called before the next turn
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
        say(
            exit=end.exit_code,
            output=end.output,
            message=end.message,
            status=end.status.value,
            held=end.held,
            left=end.background_left,
        )
    await confiner.close()
    await runner.close()


if __name__ == "__main__":
    asyncio.run(main())
