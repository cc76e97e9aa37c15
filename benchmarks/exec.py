"""What a command through the spawner costs, as ratios against a bare asyncio subprocess in the same run.

``python benchmarks/exec.py [--runs N] [--gateway-mb N] [--flood-gb N]`` prints one line a number. Only ratios are
promises: machine, load and the size of the measuring process are the same on both sides of each.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from mtbot.domain.process import CONTAINED, HOST, ChildRequest, Grants
from mtbot.processes.children import RunnerChildren
from mtbot.processes.confiner import Confiner
from mtbot.processes.containment import Guard
from mtbot.processes.request import SpawnRequest
from mtbot.processes.runner import Runner
from mtbot.processes.spawning import start_spawner

BATCH = 20
SPAWN_RATIO = 4.0
PROGRAM = "/bin/true"


async def bare() -> None:
    """Run the program as anyone would."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(PROGRAM, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe)
    await process.communicate()


async def timed(action: Callable[[], Awaitable[object]], runs: int) -> list[float]:
    """Return the milliseconds of each run."""
    taken = []
    for _ in range(runs):
        began = time.perf_counter()
        await action()
        taken.append((time.perf_counter() - began) * 1000)
    return taken


async def spawn_ratio(runner: Runner, runs: int) -> float:
    """Measure both in alternating batches, so that what else the machine does falls on both."""

    async def spawned() -> None:
        await runner.run(SpawnRequest("c", (PROGRAM,), {}, "/", 10, 65536))

    await timed(spawned, BATCH)
    await timed(bare, BATCH)
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(max(1, runs // BATCH)):
        ours += await timed(spawned, BATCH)
        theirs += await timed(bare, BATCH)
    for name, taken in (("spawner", ours), ("bare asyncio", theirs)):
        cuts = statistics.quantiles(taken, n=20)
        print(f"{name:<14} p50 {statistics.median(taken):.2f} ms   p95 {cuts[-1]:.2f} ms   ({len(taken)} runs)")
    return statistics.median(ours) / statistics.median(theirs)


async def contained(runner: Runner, runs: int) -> None:
    """Print what a contained command costs, with and without bubblewrap, in alternating batches. Nothing is promised of it."""
    nothing_guarded = Guard(lambda _path: False, lambda _path: False)
    began = time.perf_counter()
    confiner = Confiner(runner, nothing_guarded)
    held = await confiner.state()
    print(f"probe          {(time.perf_counter() - began) * 1000:.0f} ms   (ready: {held.ready})")
    children = RunnerChildren(runner, confiner)

    async def run(profile: str, workspace: str) -> None:
        grants = Grants(write=(workspace,) if workspace else (), guarded=workspace)
        await children.run(ChildRequest("c", (PROGRAM,), "/", {}, 10, profile=profile, grants=grants))

    with tempfile.TemporaryDirectory() as workspace:
        ways: dict[str, Callable[[], Awaitable[object]]] = {
            "bare asyncio": bare,
            "host": partial(run, HOST, ""),
            "contained": partial(run, CONTAINED, ""),
            "in bubblewrap": partial(run, CONTAINED, os.path.realpath(workspace)),
        }
        if not held.bubblewrap:
            print(f"in bubblewrap  cannot be measured: {'; '.join(held.no_bubblewrap)}")
            del ways["in bubblewrap"]
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(max(1, runs // BATCH)):
            for name, way in ways.items():
                taken[name] += await timed(way, BATCH)
    base = statistics.median(taken["bare asyncio"])
    for name in list(ways)[2:]:
        middle = statistics.median(taken[name])
        more = middle - statistics.median(taken["host"])
        print(f"{name:<14} ratio {middle / base:.2f}   {more:+.2f} ms on the host's at p50")


async def flood(runner: Runner, gigabytes: float) -> None:
    """Drain a stream and print how fast, and how large the supervisor became."""
    script = f"head -c {int(gigabytes * 2**30)} /dev/zero; echo; grep -a VmHWM /proc/$PPID/status"
    began = time.perf_counter()
    end = await runner.run(SpawnRequest("c", ("bash", "-c", script), {"PATH": "/usr/bin:/bin"}, "/", 3600, 65536))
    seconds = time.perf_counter() - began
    peak = int(end.output.tail.split()[-2]) / 1024
    print(
        f"flood          {gigabytes:g} GB in {seconds:.1f} s ({gigabytes / seconds:.2f} GB/s)   supervisor peak {peak:.1f} MB"
    )


async def measure(runs: int, gateway_mb: int, flood_gb: float) -> float:
    """Run everything and return the ratio that is promised."""
    began = time.perf_counter()
    runner = Runner(start_spawner())
    await runner.ready()
    print(f"spawner ready  {(time.perf_counter() - began) * 1000:.0f} ms after the call")
    ratio = await spawn_ratio(runner, runs)
    print(f"ratio          {ratio:.2f}   (promised: at most {SPAWN_RATIO:g})")
    await contained(runner, runs)
    if gateway_mb:
        ballast = bytearray(os.urandom(1 << 20) * gateway_mb)
        print(f"-- with a gateway {len(ballast) >> 20} MB larger")
        with_ballast = await spawn_ratio(runner, runs)
        print(f"ratio          {with_ballast:.2f}")
        ratio = max(ratio, with_ballast)
    if flood_gb:
        await flood(runner, flood_gb)
    await runner.close()
    return ratio


def main() -> int:
    """Measure; the exit status says whether the promise holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--gateway-mb", type=int, default=300)
    parser.add_argument("--flood-gb", type=float, default=1.0)
    asked = parser.parse_args()
    return 0 if asyncio.run(measure(asked.runs, asked.gateway_mb, asked.flood_gb)) <= SPAWN_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
