"""While the database cannot be written, whoever wants something stopped is obeyed, and nobody can approve anything."""

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine

from mtbot.domain.record import EventKind
from mtbot.gateway import recovery
from mtbot.simulator.script import Step, call, say
from mtbot.storage import connections
from tests.contract.stage import CHIEF, Setting, Stage, open_stage

RUN = f"echo ran > ran; : {'x' * 3000}"
"""So long that every event of it needs room of its own in the database."""

TROUBLES = ("locked", "read-only", "full")
ASKS: tuple[Step, ...] = (call("exec", {"command": RUN}), say("So be it."))
LATER = "Denied, and nothing of it will run. It is written down as soon as the database can be written."


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock is waited for only a moment, and what was left is looked for again soon, so that the tests are short."""
    monkeypatch.setattr(connections, "BUSY_S", 0.2)
    monkeypatch.setattr(recovery, "LOOK_SECONDS", 0.2)


@contextmanager
def locked(stage: Stage) -> Iterator[None]:
    """Another process holds the lock of the database."""
    holder = sqlite3.connect(stage.directory / "state" / "mtclaw.db", isolation_level=None)
    try:
        holder.execute("BEGIN IMMEDIATE")
        yield
    finally:
        holder.close()


async def _tell(stage: Stage, pragma: str) -> None:
    """Say something to the connections themselves; it needs no transaction."""
    db = stage.engine.office.db

    def tell(engine: Engine) -> None:
        pooled = engine.raw_connection()
        pooled.cursor().execute(pragma)
        pooled.close()

    for engine in (db._pair.durable, db._pair.swift):
        await db._writer.run(lambda engine=engine: tell(engine))  # type: ignore[misc]  # the default binds it


@asynccontextmanager
async def unwritable(stage: Stage, trouble: str) -> AsyncIterator[None]:
    """The database takes nothing: SQLite itself says so, in the words of a lock, of a read-only file or of a full disk."""
    if trouble == "locked":
        with locked(stage):
            yield
        return
    refuse, allow = {
        "read-only": ("PRAGMA query_only = ON", "PRAGMA query_only = OFF"),
        "full": ("PRAGMA max_page_count = 1", "PRAGMA max_page_count = 1000000"),
    }[trouble]
    await _tell(stage, refuse)
    try:
        yield
    finally:
        await _tell(stage, allow)


async def asked(stage: Stage) -> str:
    """A question, of which the store knows that it arrived; its id."""
    await stage.telegram.say(CHIEF, None, "do it")
    shown = await stage.telegram.shown(CHIEF.id, "Run this on")
    ident = shown.text.splitlines()[0].partition("#")[2]
    await stage.telegram.say(CHIEF, None, "/pending")
    await stage.telegram.shown(CHIEF.id, f"#{ident} until")
    return ident


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("road", ["button", "command", "stop"])
async def test_a_no_counts_at_once_and_is_written_down_later(tmp_path: Path, road: str, trouble: str) -> None:
    """Meanwhile the same question cannot be approved, and the model hears of it when the record has it."""
    async with open_stage(tmp_path, ASKS) as stage:
        ident = await asked(stage)
        async with unwritable(stage, trouble):
            if road == "button":
                assert await stage.telegram.press(CHIEF, "🚫 Deny", CHIEF.id) == LATER
            elif road == "command":
                await stage.telegram.say(CHIEF, None, f"/deny {ident} not now")
                await stage.telegram.shown(CHIEF.id, LATER)
            else:
                await stage.telegram.say(CHIEF, None, "/stop")
                await stage.telegram.shown(CHIEF.id, f"#{ident} denied.")
            query = await stage.telegram.tap(CHIEF, "✅ Approve once", CHIEF.id)
        answer = await stage.telegram.answer(query, 20)
        assert answer.text.startswith("Already denied by Chief")
        await stage.telegram.shown(CHIEF.id, "⏹ Stopped by Chief" if road == "stop" else "So be it.", timeout=20)
        assert not (stage.workspace / "ran").exists()
        assert [line.decision for line in await stage.lines()] == ["denied_user"]


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_a_yes_does_not_count_before_it_is_written_down(tmp_path: Path, trouble: str) -> None:
    """The button goes on waiting, and runs it once when the record can be written."""
    async with open_stage(tmp_path, ASKS) as stage:
        await asked(stage)
        async with unwritable(stage, trouble):
            polls = len(stage.telegram.calls("getUpdates"))
            query = await stage.telegram.tap(CHIEF, "✅ Approve once", CHIEF.id)
            # the same update is fetched again, because it could not be stored; or it was, and the yes was not
            await stage.telegram.wait_for(
                lambda sim: len(sim.calls("getUpdates")) > polls + 1 or bool(sim.calls("answerCallbackQuery")), 20
            )
            assert not (stage.workspace / "ran").exists()
            kinds = [event.draft.kind for event in await stage.events()]
            assert EventKind.APPROVAL_RESOLVED not in kinds
        answer = await stage.telegram.answer(query, 20)
        if answer.text != "Approved.":
            assert answer.text.startswith("That could not be written down, so it does not count:")
            assert await stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id) == "Approved."
        await stage.telegram.shown(CHIEF.id, "So be it.", timeout=20)
        assert (stage.workspace / "ran").read_text() == "ran\n"


async def test_stop_ends_what_runs(tmp_path: Path) -> None:
    """The command dies although its end cannot be recorded, and the person reads so."""
    running = "touch begun; sleep 60; touch after"
    setting = Setting(allow='["touch .*", "sleep .*"]')
    async with open_stage(tmp_path, [call("exec", {"command": running})], setting) as stage:
        await stage.telegram.say(CHIEF, None, "do it")
        await stage.telegram.wait_for(lambda sim: (stage.workspace / "begun").exists() and bool(sim.log), 20)
        with locked(stage):
            await stage.telegram.say(CHIEF, None, "/stop")
            stopped = await stage.telegram.shown(CHIEF.id, "⏹ Stopp", timeout=20)
            assert stopped.text.startswith(f"⏹ Stopped: {running}.")
        assert not (stage.workspace / "after").exists()


async def test_what_would_run_is_refused_with_the_reason(tmp_path: Path) -> None:
    """No record, no run: also by a rule that would allow it."""
    steps = [call("exec", {"command": "touch made"}), say("I could not.")]
    async with open_stage(tmp_path, steps, Setting(allow='["touch .*"]')) as stage:
        trail = stage.engine.office.stores.trail
        append = trail.append
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(trail), "append", lambda _self, *drafts: _locked_append(stage, append, *drafts))
            await stage.telegram.say(CHIEF, None, "do it")
            await stage.telegram.shown(CHIEF.id, "I could not.", timeout=20)
        assert "the record cannot be written" in str(stage.model.requests[-1].body)
        assert not (stage.workspace / "made").exists()


async def _locked_append(stage: Stage, append: object, *drafts: object) -> object:
    """The append itself, while somebody else holds the lock."""
    assert callable(append)
    with locked(stage):
        return await append(*drafts)
