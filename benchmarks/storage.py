"""What the record costs, as ratios against the bare database in the same run.

``python -m benchmarks.storage [--directory DIR] [--rounds N] [--events N]``. Only ratios are promises: three durable audit
events against three synced commits of plain sqlite3, and ``approvals list`` on a long record against a short one and
against an interpreter that only imports click and pydantic. The directory has to lie on a real disk; the default is the
one you are in.
"""

import argparse
import asyncio
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from sqlmodel import Session, insert, select, update

from mtbot.audit import Mark, link
from mtbot.bootstrap.stores import stores_of
from mtbot.domain.again import Keep, KeptCall
from mtbot.domain.ids import BotName, CallId, ChatId, Digest, SafeText, SessionId, TurnId
from mtbot.domain.record import EventDraft, EventKind, Via, Word
from mtbot.storage.engine import Database
from mtbot.storage.events import event_columns
from mtbot.storage.place import sqlite_place
from mtbot.storage.tables import EventRow, HeadRow
from mtbot.storage.trail import Trail

ROOT = Path(__file__).parents[1]
EVENTS_RATIO = 3.0
LIST_RATIO = 1.3
LIST_SECONDS = 0.6
BARE = "import click, pydantic, pydantic.fields, yaml"
BARE_RATIO = 4.0
CONFIG = """\
version: 1
people: {chief: 1001}
agent: {model: m, workspace: WORK}
openai: {base_url: "http://127.0.0.1:1", api_key_env: ""}
channels: {telegram: {enabled: false}}
storage: {dsn: mtclaw.db}
"""


def draft(kind: EventKind, call: int, at_ms: int = 1_700_000_000_000) -> EventDraft:
    """An event as the gate writes it."""
    return EventDraft(
        kind=kind,
        at_ms=at_ms + call,
        session=SessionId(f"telegram:main:{1001 + call % 100}:0"),
        call=CallId(f"c{call:024d}"),
        tool="exec",
        command=f"docker compose -f /srv/media/{call}.yml up -d",
        cwd="/srv/media",
        bot=BotName("main"),
        chat=ChatId(1001 + call % 100),
        requester="telegram:1001",
        via=Via.POLICY,
        digest=Digest("d" * 64),
        word=Word.ALLOWED_RULE if kind is not EventKind.PROPOSED else Word.NONE,
        exit_code=0 if kind is EventKind.FINISHED else None,
        duration_ms=41 if kind is EventKind.FINISHED else None,
    )


def keep(call: int) -> Keep:
    """What is kept of it while it runs."""
    started = draft(EventKind.STARTED, call)
    arguments = f'{{"command":"{started.command}"}}'
    kept = KeptCall("exec", arguments, started.cwd, started.digest, started.session, started.requester)
    return Keep(TurnId(f"t{call:024d}"), kept)


async def timed(work: Callable[[int], Awaitable[None]], numbers: range) -> list[float]:
    """Milliseconds of each run."""
    taken = []
    for number in numbers:
        began = time.perf_counter()
        await work(number)
        taken.append((time.perf_counter() - began) * 1000)
    return taken


async def events_ratio(directory: Path, rounds: int) -> float:
    """Three durable events against three synced commits, in alternating batches."""
    db = await Database.open_for_writing(sqlite_place(directory / "events" / "mtclaw.db"))
    trail = stores_of(db, SafeText).trail
    plain = sqlite3.connect(directory / "plain.db", isolation_level=None)
    plain.execute("PRAGMA journal_mode = WAL")
    plain.execute("PRAGMA synchronous = FULL")
    plain.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)")

    async def ours(number: int) -> None:
        await trail.append(draft(EventKind.PROPOSED, number))
        begun = await trail.start(draft(EventKind.STARTED, number), None, keep=keep(number))
        await trail.end(draft(EventKind.FINISHED, number), begun.seq)

    async def bare(number: int) -> None:
        for _ in range(3):
            plain.execute("BEGIN IMMEDIATE")
            plain.execute("INSERT INTO t (text) VALUES (?)", (f"{number} " + "x" * 500,))
            plain.execute("COMMIT")

    await timed(ours, range(10))
    await timed(bare, range(10))
    mine: list[float] = []
    theirs: list[float] = []
    for batch in range(rounds):
        numbers = range(10 + batch * 10, 20 + batch * 10)
        theirs += await timed(bare, numbers)
        mine += await timed(ours, numbers)
    await db.close()
    plain.close()
    ratio = statistics.median(mine) / statistics.median(theirs)
    print(f"three durable audit events: {statistics.median(mine):.2f} ms, three bare commits: ", end="")
    print(f"{statistics.median(theirs):.2f} ms, ratio {ratio:.2f} (at most {EVENTS_RATIO})")
    return ratio


async def fill(directory: Path, events: int) -> None:
    """A record of that many events: four a call."""
    directory.mkdir()
    directory.chmod(0o700)
    (directory / "work").mkdir()
    (directory / "config.yaml").write_text(CONFIG.replace("WORK", str(directory / "work")))
    (directory / "config.yaml").chmod(0o600)
    db = await Database.open_for_writing(sqlite_place(directory / "mtclaw.db"))
    trail: Trail = stores_of(db, SafeText).trail
    await trail.append(draft(EventKind.PROPOSED, 10**9))
    mark = await trail.head()
    kinds = (EventKind.PROPOSED, EventKind.DECIDED, EventKind.STARTED, EventKind.FINISHED)
    number = 0
    while mark.seq < events:
        rows = []
        for _ in range(2500):
            for kind in kinds:
                event = link(replace(draft(kind, number), at_ms=1_700_000_000_000 + mark.seq), mark, str(db.instance))
                mark = Mark(event.seq, event.hash)
                rows.append(event_columns(event))
                if mark.seq >= events:
                    break
            number += 1
            if mark.seq >= events:
                break

        def work(session: Session, rows: list[dict[str, object]] = rows, mark: Mark = mark) -> None:
            session.execute(insert(EventRow), rows)
            session.execute(update(HeadRow).values(seq=mark.seq, hash=mark.hash))
            session.exec(select(HeadRow)).one()

        await db.write(work, durable=False)
    await db.close()


FILTERS = {
    "a chat": ("--chat", "1005", "--limit", "2"),
    "a chat without calls": ("--chat", "77"),
    "a person": ("--user", "chief"),
    "a decision": ("--decision", "allowed_rule"),
    "a command": ("--command", "compose"),
    "since": ("--since", "2023-11-14"),
    "until": ("--until", "2023-11-14T22:13:20.500+00:00"),
}
"""What a list is asked for; most of it is met by calls that are not rare, because each call is looked at from the newest; no more is asked for
than the short record holds."""


def listing(directory: Path, *options: str) -> float:
    """Seconds of ``mtclaw approvals list`` as a whole process."""
    command = ("-m", "mtbot.cli.main", "--config", str(directory / "config.yaml"), "approvals", "list")
    taken, out = interpreter(directory, *command, *options)
    assert options or out.count(b"\n") == 51, out[:200]
    return taken


def interpreter(home: Path, *arguments: str) -> tuple[float, bytes]:
    """Seconds of a whole Python process, and what it said."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments],
        env={"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    taken = time.perf_counter() - began
    assert done.returncode == 0, done.stderr.decode()
    return taken, done.stdout


async def list_ratio(directory: Path, events: int, rounds: int) -> bool:
    """A long record against a short one and against a bare interpreter, in turns; whether all is as promised."""
    for name, count in (("short", 1000), ("long", events)):
        began = time.perf_counter()
        await fill(directory / name, count)
        print(f"{count} events written in {time.perf_counter() - began:.0f} s")
    short: list[float] = []
    long: list[float] = []
    bare: list[float] = []
    for _ in range(rounds):
        bare.append(interpreter(directory, "-c", BARE)[0])
        short.append(listing(directory / "short"))
        long.append(listing(directory / "long"))
    ratio, seconds = statistics.median(long) / statistics.median(short), statistics.median(long)
    print(f"approvals list: {statistics.median(short):.3f} s on 1000 events, {seconds:.3f} s on {events}, ", end="")
    print(f"fastest {min(long):.3f} s, ratio {ratio:.2f} (at most {LIST_RATIO}, within {LIST_SECONDS} s)")
    against = seconds / statistics.median(bare)
    print(f"a bare interpreter: {statistics.median(bare):.3f} s, ratio {against:.2f} (at most {BARE_RATIO})")
    whole = ratio <= LIST_RATIO and seconds <= LIST_SECONDS and against <= BARE_RATIO
    return filter_ratios(directory, rounds) and whole


def filter_ratios(directory: Path, rounds: int) -> bool:
    """Every filter on the long record against the same one on the short record; whether all is as promised."""
    kept = True
    for name, options in FILTERS.items():
        short: list[float] = []
        long: list[float] = []
        for _ in range(rounds):
            short.append(listing(directory / "short", *options))
            long.append(listing(directory / "long", *options))
        ratio = statistics.median(long) / statistics.median(short)
        print(f"approvals list by {name}: {statistics.median(long):.3f} s, ratio {ratio:.2f} (at most {LIST_RATIO})")
        kept = kept and ratio <= LIST_RATIO
    return kept


async def main() -> int:
    """Measure; 1 if a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, default=Path())
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--events", type=int, default=1_000_000)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=wanted.directory.absolute(), prefix=".bench-") as name:
        events = await events_ratio(Path(name), wanted.rounds)
        listed = await list_ratio(Path(name), wanted.events, max(5, wanted.rounds // 2))
    return int(events > EVENTS_RATIO or not listed)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
