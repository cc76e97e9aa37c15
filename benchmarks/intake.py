"""That nothing which comes in is lost, reordered, or kept in memory: the real gateway beside the loopback simulators.

``python -m benchmarks.intake [--messages N] [--chats N] [--strangers N] [--sessions N] [--turns N] [--parked N]``. Memory is
the gateway's resident size, as a ratio of after to before; ``before`` is taken when everything has been used once. The
whole of it takes as long as Telegram's own pace of thirty messages a second makes it.
"""

import argparse
import asyncio
import re
import sqlite3
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.contenders import mtclaw, rss_mb
from benchmarks.gateway import FIRST, TURN_SECONDS, Scene, begin, end
from mtbot.simulator.script import ModelRequest, Step, call, say
from mtbot.simulator.values import Person

WAVE = 5
"""Messages of one chat that wait at once: fewer than a lane keeps."""

AT_ONCE = 20
FLAT = 1.1
"""What memory may grow to, of what it was."""

KEPT_OPEN = 10
"""Connections that a pool may hold, however many turns are parked."""

FIRST_STRANGER = 5_000_000
_ASKED = re.compile(r"please (repeat|park) (\w+)")


@dataclass(frozen=True, slots=True)
class Held:
    """What a process holds: megabytes in memory, threads, open files."""

    rss_mb: float
    threads: int
    files: int


def answer(request: ModelRequest) -> Step:
    """The model: repeats a word, or wants to run something that a person is asked about."""
    asked = _ASKED.findall(request.last_user_text)
    if not asked:
        return say("nothing")
    verb, word = asked[-1]
    return say(f"echo {word}") if verb == "repeat" else call("exec", {"command": f"printf %s {word} > {word}"})


def held(scene: Scene) -> Held:
    """What the gateway holds now."""
    process = Path(f"/proc/{scene.process.pid}")
    return Held(
        rss_mb(scene.process.pid), len(list((process / "task").iterdir())), len(list((process / "fd").iterdir()))
    )


def rows(home: Path, statement: str) -> int:
    """One number from the gateway's database."""
    database = sqlite3.connect(f"{(home / 'state' / 'mtclaw.db').as_uri()}?mode=ro", uri=True)
    try:
        return int(database.execute(statement).fetchone()[0])
    finally:
        database.close()


async def burst(scene: Scene, people: Sequence[Person], each: int) -> int:
    """Everybody writes ``each`` messages, some before the one ahead is answered; chats with a loss or a wrong order."""
    words = [f"m{number}x" for number in range(each)]
    for at in range(0, each, WAVE):
        for word in words[at : at + WAVE]:
            for person in people:
                await scene.telegram.say(person, None, f"please repeat {word}")
        for person in people:
            await scene.telegram.shown(person.id, f"echo {words[min(at + WAVE, each) - 1]}", timeout=TURN_SECONDS)
    wanted = [f"echo {word}" for word in words]
    heard = ([one.text for one in scene.telegram.chat(person.id) if one.sender.is_bot] for person in people)
    return sum(texts[-each:] != wanted or len(texts) != each for texts in heard)


async def strangers(scene: Scene, known: Person, first: int, count: int) -> None:
    """People whom nobody listed write once each; when this returns, the gateway has met them all."""
    for number in range(first, first + count):
        stranger = Person(FIRST_STRANGER + number, f"S{number}")
        scene.telegram.open(stranger)
        await scene.telegram.say(stranger, None, f"please repeat s{number}x")
    await scene.turn(known, f"after{first}x")


async def talk(scene: Scene, people: Sequence[Person], first: int, turns: int) -> None:
    """So many turns in each session, a few sessions at a time."""
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(person: Person) -> None:
        async with slots:
            for number in range(first, first + turns):
                await scene.turn(person, f"t{number}x")

    await asyncio.gather(*(one(person) for person in people))


async def park(scene: Scene, people: Sequence[Person], word: str) -> None:
    """A question in every chat, which nobody answers."""
    for person in people:
        await scene.telegram.say(person, None, f"please park {word}")
    for person in people:
        await scene.telegram.shown(person.id, f"> {word}", timeout=TURN_SECONDS)


async def measure(options: argparse.Namespace, home: Path) -> bool:
    """Everything, in one gateway; prints a line for each promise, and whether all hold."""
    people = [Person(FIRST + number, f"P{number}") for number in range(max(options.sessions, options.parked) + 1)]
    chief, people = people[0], people[1:]
    scene = await begin(mtclaw((sys.executable, "-m", "mtbot.cli.main")), home, (chief, *people), answer)
    good = True

    def tell(what: str, ratio: float, limit: float) -> None:
        nonlocal good
        good = good and ratio <= limit
        print(f"{what}: {ratio:.2f} (at most {limit:g}){'' if ratio <= limit else ' BROKEN'}", flush=True)

    try:
        chats = people[: options.chats]
        wrong = await burst(scene, chats, options.messages // options.chats)
        tell(f"{options.messages} messages from {options.chats} chats, chats with a loss or a wrong order", wrong, 0)

        await strangers(scene, chief, 0, options.strangers // 5)
        before, kept = held(scene), rows(home, "SELECT count(*) FROM inbox")
        await strangers(scene, chief, options.strangers // 5, options.strangers - options.strangers // 5)
        tell(f"memory after {options.strangers} unknown senders", held(scene).rss_mb / before.rss_mb, FLAT)
        tell("rows that they left", rows(home, "SELECT count(*) FROM inbox") - kept - 1, 0)

        talkers = people[: options.sessions]
        await talk(scene, talkers, 0, 2)
        before = held(scene)
        await talk(scene, talkers, 2, options.turns - 2)
        tell(
            f"memory after {options.sessions} sessions of {options.turns} turns",
            held(scene).rss_mb / before.rss_mb,
            FLAT,
        )

        parkers = people[: options.parked]
        await talk(scene, parkers, 90_000, 1)
        await park(scene, parkers[: options.parked // 5], "parked1x")
        before, size = held(scene), rows(home, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        await park(scene, parkers[options.parked // 5 :], "parked2x")
        after, more = held(scene), rows(home, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        tell(
            f"memory of {len(parkers)} parked turns, of the size of their rows",
            max(0.0, after.rss_mb - before.rss_mb) * 1e6 / (more - size),
            1.0,
        )
        more_held = after.threads + after.files - before.threads - before.files
        tell(f"threads and open files more with {len(parkers)} of them", more_held, KEPT_OPEN)
    finally:
        await end(scene)
    return good


def main() -> int:
    """Measure and print; 1 if a promise is broken."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--messages", type=int, default=1000)
    parser.add_argument("--chats", type=int, default=100)
    parser.add_argument("--strangers", type=int, default=10_000)
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--turns", type=int, default=50, help="turns of each session")
    parser.add_argument("--parked", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mtclaw-bench-") as home:
        return 0 if asyncio.run(measure(options, Path(home))) else 1


if __name__ == "__main__":
    sys.exit(main())
