"""Pairing: a code from the host, sent by a person in their own chat, makes them known; nothing else does."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mtbot.domain import pairing as domain_pairing
from mtbot.domain.ids import BotName
from mtbot.domain.pairing import MAX_TRIES, Standing
from mtbot.gateway import pairing as gateway_pairing
from mtbot.simulator.script import say
from mtbot.simulator.values import Person
from mtbot.storage.tables import MarkRow
from tests.contract.stage import CHIEF, GROUP, STRANGER, Stage, open_stage

CODE = re.compile(r"[A-Z0-9]{4}-[A-Z0-9]{4}-[A-Z0-9]{4}")
MAIN = BotName("main")
ELSEWHERE = -1005550001112


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gateway looks for the host's word more often."""
    monkeypatch.setattr(gateway_pairing, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(gateway_pairing, "HOST_SECONDS", 20.0)


@asynccontextmanager
async def pairing(stage: Stage, name: str = "newcomer") -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """``mtclaw pair`` in a process of its own, which waits, and the code that it shows."""
    process = await stage.spawn("pair", name)
    assert process.stdout is not None
    try:
        first = (await asyncio.wait_for(process.stdout.readline(), 30)).decode()
        found = CODE.search(first)
        assert found, first
        for _ in range(2):
            await process.stdout.readline()
        yield process, found[0]
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def words_of(text: str) -> list[str]:
    """A file without the ways in which it can be broken into lines."""
    return text.split()


async def heard(stage: Stage) -> None:
    """Everything that was said before this has been dealt with."""
    await stage.telegram.say(CHIEF, None, "/whoami")
    await stage.telegram.wait_for(lambda sim: sim.chat(CHIEF.id)[-1].text.startswith("You are Chief"), 10)


async def test_a_code_from_the_host_makes_a_person_known_at_once(tmp_path: Path) -> None:
    """Written into the configuration, told to the owner, in force without a restart, good once."""
    async with open_stage(tmp_path, [say("Welcome.")]) as stage:
        before = stage.config.read_text()
        async with pairing(stage) as (process, code):
            await stage.telegram.say(STRANGER, None, f"/pair {code.lower().replace('-', ' ')}")
            await stage.telegram.shown(STRANGER.id, "That is the code.")
            out = (await asyncio.wait_for(process.communicate(), 30))[0].decode()
        assert process.returncode == 0
        assert f"Stranger (id {STRANGER.id}) sent it and is newcomer from now on." in out
        await stage.telegram.shown(STRANGER.id, "Hello Newcomer. I know you now.", timeout=20)
        told = await stage.telegram.shown(CHIEF.id, "Newcomer (id 6666, called Stranger on Telegram) was paired")
        assert told.silent
        wanted = before.replace("review: 1003}", "review: 1003, newcomer: 6666}").replace(
            "allow_from: [chief, deploy, review]", "allow_from: [chief, deploy, review, newcomer]"
        )
        assert words_of(stage.config.read_text()) == words_of(wanted)
        await stage.telegram.say(STRANGER, None, "hello")
        await stage.telegram.shown(STRANGER.id, "Welcome.")
        await stage.telegram.say(STRANGER, None, f"/pair {code}")
        await stage.telegram.shown(STRANGER.id, "You are on the list already")
        kept = await stage.engine.office.db.read(lambda session: session.get_one(MarkRow, "pair:main").value)
        assert code not in kept
        assert json.loads(kept)["standing"] == Standing.WRITTEN.value


async def test_a_stranger_who_guesses_spends_only_their_own_tries(tmp_path: Path) -> None:
    """After five they are not answered, right code or not; the owner hears of it once, and the code is good for its own."""
    other, newcomer = Person(6667, "Other"), Person(6668, "Newcomer")
    async with open_stage(tmp_path, [say("Never.")]) as stage:
        async with pairing(stage) as (process, code):
            for person in (STRANGER, other):
                for number in range(MAX_TRIES + 1):
                    await stage.telegram.say(person, None, f"/pair AAAA-AAAA-AAA{number}")
                await stage.telegram.say(person, None, f"/pair {code}")
            await heard(stage)
            for person in (STRANGER, other):
                await stage.telegram.shown(person.id, "I take no more", timeout=20)
                assert stage.bot_texts(person.id) == [
                    *["That is not the code."] * (MAX_TRIES - 1),
                    "That is not the code, and I take no more from you. Ask for a new one.",
                ]
            told = [text for text in stage.bot_texts() if "wrong codes" in text]
            assert [text.partition(" and ")[0] for text in told] == [
                f"Somebody (id {STRANGER.id}) sent 5 wrong codes to pair as newcomer"
            ]
            await stage.telegram.say(newcomer, None, f"/pair {code}")
            await stage.telegram.shown(newcomer.id, "That is the code.")
            await asyncio.wait_for(process.communicate(), 30)
        assert process.returncode == 0
        await stage.telegram.shown(newcomer.id, "Hello Newcomer.", timeout=20)
        assert f"newcomer: {newcomer.id}" in stage.config.read_text()


async def test_a_flood_of_guesses_makes_it_void_and_the_owner_hears_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The right one after that is too late."""
    monkeypatch.setattr(domain_pairing, "MAX_WRONG", 3)
    async with open_stage(tmp_path, [say("Never.")]) as stage:
        async with pairing(stage) as (process, code):
            for user in range(7001, 7004):
                await stage.telegram.say(user, None, "/pair AAAA-AAAA-AAAA")
            await stage.telegram.shown(CHIEF.id, "3 senders guessed at the code to pair as newcomer: it is void.")
            await stage.telegram.say(STRANGER, None, f"/pair {code}")
            err = (await asyncio.wait_for(process.communicate(), 30))[1].decode()
        assert process.returncode == 1
        assert "the code is void" in err
        await heard(stage)
        assert "That is the code." not in " ".join(stage.bot_texts(STRANGER.id))
        await stage.telegram.say(STRANGER, None, "hello")
        await heard(stage)
        assert stage.model.requests == ()


async def test_without_an_open_code_nothing_is_answered(tmp_path: Path) -> None:
    """Nobody learns whether there is one; after its five minutes there is none."""
    async with open_stage(tmp_path) as stage:
        stage.telegram.open(STRANGER)
        await stage.telegram.say(STRANGER, None, "/pair AAAA-AAAA-AAAA")
        await heard(stage)
        assert stage.bot_texts(STRANGER.id) == []
        async with pairing(stage) as (_, code):
            stage.clock.skipped_ms += 301_000
            await stage.telegram.say(STRANGER, None, f"/pair {code}")
            await heard(stage)
            assert stage.bot_texts(STRANGER.id) == []


async def test_a_code_in_a_group_is_void(tmp_path: Path) -> None:
    """Everybody there has seen it; it pairs nobody, neither who sent it nor who read it."""
    async with open_stage(tmp_path, [say("Never.")]) as stage:
        async with pairing(stage) as (process, code):
            await stage.telegram.say(STRANGER, GROUP, f"/pair {code}")
            await stage.telegram.say(CHIEF, GROUP, f"/pair {code}")
            await stage.telegram.shown(GROUP, "A code is never sent in a group")
            await stage.telegram.say(STRANGER, None, f"/pair {code}")
            err = (await asyncio.wait_for(process.communicate(), 30))[1].decode()
        assert (process.returncode, "it was sent in a group" in err) == (1, True)
        await heard(stage)
        found = await stage.engine.office.stores.pairings.find(MAIN)
        assert found is None
        assert stage.model.requests == ()


@pytest.mark.parametrize("group", [GROUP, ELSEWHERE])
async def test_a_code_that_a_stranger_shows_in_a_group_is_void(tmp_path: Path, group: int) -> None:
    """Who is to be paired is on no list yet, so it is they who send it to the wrong place; a wrong code voids nothing."""
    async with open_stage(tmp_path, [say("Never.")]) as stage:
        stage.telegram.group(ELSEWHERE, "elsewhere", members=(STRANGER,))
        async with pairing(stage) as (process, code):
            await stage.telegram.say(STRANGER, group, "/pair AAAA-AAAA-AAAA")
            await heard(stage)
            found = await stage.engine.office.stores.pairings.find(MAIN)
            assert found is not None
            assert (found.standing, found.wrong) == (Standing.OPEN, {})
            await stage.telegram.say(STRANGER, group, f"/pair {code}")
            await stage.telegram.shown(group, "A code is never sent in a group")
            await stage.telegram.say(STRANGER, None, f"/pair {code}")
            err = (await asyncio.wait_for(process.communicate(), 30))[1].decode()
        assert (process.returncode, "it was sent in a group" in err) == (1, True)
        assert "That is the code." not in " ".join(stage.bot_texts(STRANGER.id))


async def test_a_host_that_went_away_writes_nobody_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The chat alone grants nothing."""
    monkeypatch.setattr(gateway_pairing, "HOST_SECONDS", 0.2)
    async with open_stage(tmp_path) as stage:
        before = stage.config.read_text()
        async with pairing(stage) as (process, code):
            process.kill()
            await process.wait()
            await stage.telegram.say(STRANGER, None, f"/pair {code}")
            await stage.telegram.shown(STRANGER.id, "The host did not write you down. Ask for a new code.")
        assert stage.config.read_text() == before


async def test_what_cannot_be_paired_is_said_before_a_code_is_shown(tmp_path: Path) -> None:
    """A name that is taken or none, a bot that is not there."""
    async with open_stage(tmp_path, start=False) as stage:
        for arguments, words in (
            (("pair", "chief"), "people: there is a chief already"),
            (("pair", "no good"), "a name has letters, digits"),
            (("pair", "newcomer", "--bot", "nobody"), "there is no bot nobody"),
        ):
            said = await stage.cli(*arguments)
            assert (said.status, said.out) == (1, "")
            assert words in said.err
