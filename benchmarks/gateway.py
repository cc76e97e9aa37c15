"""What a turn costs around the model, and what the gateway costs the host, on both sides of the same run.

``python -m benchmarks.gateway [--turns N] [--chats N] [--rounds N] [--own VENV] [--nanobot VENV] [--hermes VENV]``. Telegram and the
model are the loopback simulators, which answer at once, so that what is left is the bot's own work. With a virtual
environment that holds nanobot-ai or hermes-agent, that program is measured beside ours and the ratio is printed. With
``--own`` ours is taken from an environment too, one without the tools of development: some libraries import more where
they find more.
"""

import argparse
import asyncio
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from benchmarks.contenders import Contender, Ground, hermes, mtclaw, nanobot, rss_mb
from mtbot.simulator.model import ModelSimulator
from mtbot.simulator.script import ModelRequest, Script, Step, say
from mtbot.simulator.telegram import TelegramSimulator
from mtbot.simulator.values import Person

FIRST = 1001
SETTLE_SECONDS = 3.0
READY_SECONDS = 90.0
TURN_SECONDS = 120.0
SPREAD = 5.0
"""p99 of a turn under load may be so many times its p50."""

GROWTH_MB = 30.0
_ASKED = re.compile(r"please repeat (\w+)")


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one program: seconds, megabytes, milliseconds and kilobytes as the names say; the turns are warm p50.

    ``idle_mb`` is what the program's own process has resident (1,000,000 bytes each), ``tree_mb`` that and all below it,
    where pages that two of them share count twice.
    """

    start_s: float
    idle_mb: float
    tree_mb: float
    to_model_ms: float
    to_reply_ms: float
    first_turn_ms: float
    warm_turn_ms: float
    first_body_kb: float


LIMITS = {
    "start_s": 1.2,
    "idle_mb": 100.0,
    "to_model_ms": 15.0,
    "to_reply_ms": 10.0,
    "first_body_kb": 8.0,
}


def echo(request: ModelRequest) -> Step:
    """The model: it repeats what it was asked to, whatever a program has put around the person's words."""
    asked = _ASKED.findall(request.last_user_text)
    return say(f"echo {asked[-1]}" if asked else "nothing")


@dataclass(slots=True)
class Scene:
    """A program that serves, and the simulators around it."""

    telegram: TelegramSimulator
    model: ModelSimulator
    process: "subprocess.Popen[bytes]"
    start_s: float

    async def turn(self, person: Person, word: str) -> tuple[float, float]:
        """Seconds from the message to the model's call, and from its answer to the reply."""
        asked = len(self.model.requests)
        began = time.monotonic()
        await self.telegram.say(person, None, f"please repeat {word}")
        await self.telegram.shown(person.id, f"echo {word}", timeout=TURN_SECONDS)
        replied = time.monotonic()
        call = next(one for one in self.model.requests[asked:] if word in one.last_user_text)
        return call.at - began, replied - call.at


async def begin(contender: Contender, home: Path, people: Sequence[Person], answers: Script = echo) -> Scene:
    """Start it and wait until it polls. RuntimeError if it never does."""
    telegram, model = TelegramSimulator(), ModelSimulator(answers, strict=False)
    await telegram.start()
    await model.start()
    for person in people:
        telegram.open(person)
    ground = Ground(home, telegram.base_url, model.base_url, telegram.token(), tuple(one.id for one in people))
    command = contender.prepare(ground)
    extra = {name: value.format(home=home) for name, value in contender.environment.items()}
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", **extra}
    began = time.monotonic()
    with home.joinpath("output").open("wb") as output:
        process = subprocess.Popen(
            command, cwd=home, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    try:
        await telegram.wait_for(lambda sim: sim.bot().queue.is_polled or process.poll() is not None, READY_SECONDS)
    except TimeoutError:
        process.kill()
    if process.poll() is not None or not telegram.bot().queue.is_polled:
        raise RuntimeError(f"{contender.name} did not begin to poll: {home.joinpath('output').read_text()[-2000:]}")
    return Scene(telegram, model, process, time.monotonic() - began)


async def end(scene: Scene) -> None:
    """Stop it and the simulators."""
    scene.process.send_signal(signal.SIGTERM)
    try:
        await asyncio.to_thread(scene.process.wait, 20)
    except subprocess.TimeoutExpired:
        scene.process.kill()
    await scene.model.stop()
    await scene.telegram.stop()


async def measure(contender: Contender, turns: int) -> Figures:
    """The figures of one program; every warm turn is in a chat of its own, so that nobody is paced."""
    people = [Person(FIRST + number, f"P{number}") for number in range(turns + 1)]
    with tempfile.TemporaryDirectory(prefix="mtclaw-bench-") as home:
        scene = await begin(contender, Path(home), people)
        try:
            await asyncio.sleep(SETTLE_SECONDS)
            idle, tree = rss_mb(scene.process.pid, alone=True), rss_mb(scene.process.pid)
            first = await scene.turn(people[0], "w0")
            body = len(str(scene.model.requests[0].body).encode()) / 1000
            warm = [await scene.turn(person, f"w{number}") for number, person in enumerate(people[1:], 1)]
        finally:
            await end(scene)
    return Figures(
        start_s=scene.start_s,
        idle_mb=idle,
        tree_mb=tree,
        to_model_ms=statistics.median(one for one, _ in warm) * 1000,
        to_reply_ms=statistics.median(two for _, two in warm) * 1000,
        first_turn_ms=sum(first) * 1000,
        warm_turn_ms=statistics.median(sum(pair) for pair in warm) * 1000,
        first_body_kb=body,
    )


async def crowd(contender: Contender, chats: int, rounds: int) -> bool:
    """Many chats at once, each turn after the one before it: nothing lost, nothing reordered; prints the spread."""
    people = [Person(FIRST + number, f"P{number}") for number in range(chats)]
    taken: list[float] = []

    async def talk(scene: Scene, person: Person) -> None:
        taken.extend([sum(await scene.turn(person, f"r{number}x")) for number in range(rounds)])

    with tempfile.TemporaryDirectory(prefix="mtclaw-bench-") as home:
        scene = await begin(contender, Path(home), people)
        try:
            await scene.turn(people[0], "warm")
            before = rss_mb(scene.process.pid)
            await asyncio.gather(*(talk(scene, person) for person in people))
            growth = rss_mb(scene.process.pid) - before
            wanted = [f"echo r{number}x" for number in range(rounds)]
            heard = [
                [one.text for one in scene.telegram.chat(person.id) if one.sender.is_bot][-rounds:] for person in people
            ]
        finally:
            await end(scene)
    wrong = sum(texts != wanted for texts in heard)
    ordered = sorted(taken)
    spread = ordered[round(len(ordered) * 0.99) - 1] / statistics.median(ordered)
    good = wrong == 0 and spread <= SPREAD and growth <= GROWTH_MB
    print(
        f"{chats} chats, {rounds} turns each: {wrong} chats with a loss or a wrong order, p99 {spread:.2f} times p50 "
        f"(limit {SPREAD}), {growth:.1f} MB more (limit {GROWTH_MB:.0f}){'' if good else ' BROKEN'}"
    )
    return good


def report(ours: Figures, others: dict[str, Figures]) -> bool:
    """Print every figure beside its limit and the others' as ratios; whether all hold."""
    good = True
    for field in fields(Figures):
        value: float = getattr(ours, field.name)
        limit = LIMITS.get(field.name)
        if field.name == "first_turn_ms":
            limit = 2 * ours.warm_turn_ms
        broken = limit is not None and value > limit
        good = good and not broken
        beside = "".join(
            f"; {name} {getattr(figures, field.name):.1f}, {getattr(figures, field.name) / value:.1f} times ours"
            for name, figures in others.items()
        )
        bound = "" if limit is None else f" (limit {limit:.1f})"
        print(f"{field.name:14} {value:8.2f}{bound}{beside}{' BROKEN' if broken else ''}")
    return good


async def run(options: argparse.Namespace) -> bool:
    """Everything, one program after the other."""
    python = sys.executable if options.own is None else str(options.own.absolute() / "bin" / "python")
    own = mtclaw((python, "-m", "mtbot.cli.main"))
    ours = await measure(own, options.turns)
    others = {}
    for name, make in (("nanobot", nanobot), ("hermes", hermes)):
        environment: Path | None = getattr(options, name)
        if environment is not None:
            others[name] = await measure(make(environment.absolute()), options.turns)
    good = report(ours, others)
    return await crowd(own, options.chats, options.rounds) and good


def main() -> int:
    """Measure and print; 1 if a promise is broken."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=30, help="warm turns of each program")
    parser.add_argument("--chats", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=10, help="turns of each chat")
    parser.add_argument("--own", type=Path, help="virtual environment that holds mtclaw as it is installed")
    parser.add_argument("--nanobot", type=Path, help="virtual environment that holds nanobot-ai")
    parser.add_argument("--hermes", type=Path, help="virtual environment that holds hermes-agent")
    return 0 if asyncio.run(run(parser.parse_args())) else 1


if __name__ == "__main__":
    sys.exit(main())
