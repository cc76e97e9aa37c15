"""One step of a turn: whatever happens in it, the session stays well formed and the person hears of it."""

import asyncio
from dataclasses import replace

import pytest

from mtbot.domain.call import Status
from mtbot.domain.errors import ProviderError, ProviderKind, StorageError
from mtbot.domain.ids import ApprovalId, BotName, CallId
from mtbot.domain.turn import Role, ToolCall
from mtbot.gateway import leases as module
from mtbot.gateway.lanes import Rest, Resume
from mtbot.gateway.leaving import ran_line
from mtbot.gateway.turns import SHUT_DOWN, STOPPED
from tests.unit.agent.scenes import ASK, ScriptedGate, done, says, turned_down, wants
from tests.unit.approvals.office import Office
from tests.unit.approvals.samples import BOT
from tests.unit.gateway.rooms import (
    CRON,
    SESSION,
    Hanging,
    Room,
    cut,
    inbound,
    nothing_left,
    room,
    stored,
)


async def test_a_turn_is_written_down_and_told(office: Office) -> None:
    """History, usage, answer and the closed row in one go; no sign of life is left."""
    await stored(office)
    here = room(office, says("Here."))
    assert await here.turns.step(SESSION, inbound()) is None
    assert await here.said() == ["Here."]
    assert await here.history() == [(Role.USER, "hello"), (Role.ASSISTANT, "Here.")]
    summary = await office.stores.history.summary(SESSION)
    assert summary is not None
    assert (summary.prompt_tokens, summary.completion_tokens) == (10, 2)
    assert (here.signs.at, here.signs.seen) == ([], 1)
    assert [(end.text, end.code) for end in here.ends] == [("Here.", "")]
    await nothing_left(office)


async def test_a_secret_is_masked_in_history_and_answer(office: Office) -> None:
    """What a person typed by accident is not kept either."""
    here = room(office, says("It is swordfish9."))
    await here.turns.step(SESSION, inbound("my key is swordfish9"))
    assert "swordfish9" not in str(await here.history()) + str(await here.said())


async def test_no_reply_says_nothing(office: Office) -> None:
    """But it is in the history."""
    here = room(office, says(" NO_REPLY\n"))
    await here.turns.step(SESSION, inbound())
    assert await here.said() == []
    assert (await here.history())[-1] == (Role.ASSISTANT, "NO_REPLY")


async def test_what_ran_and_what_did_not_is_told_with_the_answer(office: Office) -> None:
    """Silent lines before the answer."""
    not_asked = done("Not run: nobody", ASK, status=Status.REFUSED, shown="certbot renew")
    gate = (done(shown="docker ps"), not_asked, *(turned_down() for _ in range(5)))
    here = room(office, wants("a", "b", "c", "d", "e", "f", "g"), gate=gate)
    await here.turns.step(SESSION, inbound())
    assert await here.said() == [
        "⛔ Not run, refused by policy: rm -rf x (files.rm), rm -rf x (files.rm)",
        "⛔ Not run, nobody could be asked: certbot renew (no rule)",
        "Ran by rule: docker ps",
        "I stopped: nothing of what I tried could be run, again and again.",
    ]


def test_many_runs_in_one_line() -> None:
    """A dozen are named, the rest is counted."""
    assert ran_line(("a", "b")) == "Ran by rule, 2 calls: a, b"
    assert ran_line(tuple("abcdefghijklmn")).endswith("k, l and 2 more")


async def test_a_job_says_nothing_in_its_own_place(office: Office) -> None:
    """Its words are put together by who knows where they go."""
    here = room(office, says("Healthy."))
    here.turns.watch(CRON.session, here.ends.append)
    await here.turns.step(CRON.session, inbound(update=None, address=CRON))
    assert await here.said() == []
    assert [end.text for end in here.ends] == ["Healthy."]


async def test_a_model_that_cannot_answer_is_told_in_words(office: Office) -> None:
    """With a code for who waits for the end."""
    await stored(office)
    here = room(office, ProviderError(ProviderKind.NETWORK, "refused"))
    await here.turns.step(SESSION, inbound())
    assert await here.said() == ["The model can't be reached from here. Please try again later."]
    assert [end.code for end in here.ends] == ["model.network"]
    await nothing_left(office)


async def test_a_fault_of_ours_is_told_and_logged(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lane lives, the row is closed, and nothing of the fault's text is shown."""
    await stored(office)
    here = room(office, says("never"))

    async def broken(*_args: object) -> None:
        raise ValueError("swordfish9 at /srv")

    monkeypatch.setattr(office.stores.history, "load", broken)
    assert await here.turns.step(SESSION, inbound()) is None
    assert await here.said() == ["Something went wrong inside me. The owner finds it in the log."]
    await nothing_left(office)


async def test_a_database_that_cannot_be_written_ends_the_turn_all_the_same(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits for its end is told; the row stays for the next start."""
    await stored(office)
    here = room(office, says("Here."))

    async def full(*_args: object) -> None:
        raise StorageError("disk full")

    monkeypatch.setattr(office.stores.history, "flush", full)
    assert await here.turns.step(SESSION, inbound()) is None
    assert [(end.text, end.code) for end in here.ends] == [("That did not work: disk full", "internal")]
    assert len(await office.stores.inbox.waiting(BotName(BOT))) == 1


@pytest.mark.parametrize("times", [1, 3])
async def test_a_stopped_turn_is_written_down_and_says_nothing(office: Office, times: int) -> None:
    """Whoever stopped it was answered; however often it is cut, it is whole."""
    await stored(office)
    here = Room(office, Hanging(), ScriptedGate())
    assert await cut(here, inbound(), closing=False, times=times) is None
    assert await here.said() == []
    assert await here.history() == [(Role.USER, "hello"), (Role.ASSISTANT, STOPPED)]
    assert [end.code for end in here.ends] == ["stopped"]
    await nothing_left(office)


@pytest.mark.parametrize("closing", [False, True])
async def test_a_turn_that_is_cut_while_it_is_written_down_is_written_once(
    office: Office, monkeypatch: pytest.MonkeyPatch, closing: bool
) -> None:
    """The answer is on its way already, so it is the end of the turn: not a second one that says it was stopped."""
    await stored(office)
    here = room(office, says("Here."))
    reached, whole = asyncio.Event(), office.stores.history.flush

    async def under_way(*args: object) -> None:
        writing = asyncio.ensure_future(whole(*args))  # type: ignore[arg-type]  # passed on as they came
        reached.set()
        await asyncio.shield(writing)

    monkeypatch.setattr(office.stores.history, "flush", under_way)
    task = asyncio.create_task(here.turns.step(SESSION, inbound()))
    await reached.wait()
    here.turns.closing = closing
    task.cancel()
    assert await task is None
    assert await here.said() == ["Here."]
    assert await here.history() == [(Role.USER, "hello"), (Role.ASSISTANT, "Here.")]
    assert [(end.text, end.code) for end in here.ends] == [("Here.", "")]
    await nothing_left(office)


async def test_a_turn_that_a_shutdown_cuts_is_told(office: Office) -> None:
    """And written down."""
    await stored(office)
    here = Room(office, Hanging(), ScriptedGate())
    await cut(here, inbound(), closing=True)
    assert await here.said() == [SHUT_DOWN]
    assert [end.code for end in here.ends] == ["shutdown"]
    await nothing_left(office)


@pytest.mark.parametrize("closing", [False, True])
async def test_a_step_that_is_cut_before_it_began(
    office: Office, monkeypatch: pytest.MonkeyPatch, closing: bool
) -> None:
    """Stopped: it is over for good. Shut down: its row is open, so the next start takes it up."""
    await stored(office)
    here = room(office, says("never"))
    reached = asyncio.Event()

    async def waits(*_args: object) -> bool:
        reached.set()
        await asyncio.Event().wait()
        return True

    monkeypatch.setattr(office.stores.leases, "acquire", waits)
    task = asyncio.create_task(here.turns.step(SESSION, inbound()))
    await reached.wait()
    here.turns.closing = closing
    task.cancel()
    assert await task is None
    assert len(await office.stores.inbox.waiting(BotName(BOT))) == (1 if closing else 0)
    assert [end.code for end in here.ends] == (["dropped"] if closing else ["stopped"])


async def test_a_session_in_use_elsewhere(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is waited for, and in the end the person is told; a ruling rests until the next look."""
    monkeypatch.setattr(module, "LEASE_PAUSE", 0.0)
    await stored(office)
    await office.stores.leases.acquire(SESSION, "other", office.clock.now, office.clock.now + 10**9)
    here = room(office)
    assert await here.turns.step(SESSION, inbound()) is None
    assert await here.said() == ["This conversation is in use by another process. Please try again."]
    assert await office.stores.inbox.waiting(BotName(BOT)) == ()
    ident = ApprovalId("A001")
    assert await here.turns.step(SESSION, Resume(ident)) == Rest(ident)


async def test_a_held_session_keeps_its_lease_between_steps(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else gets in while its question is open; afterwards they do."""
    monkeypatch.setattr(module, "LEASE_PAUSE", 0.0)
    here = room(office, says("Here."))
    other = room(office)
    other.turns.leasing._holder = "another"
    async with here.turns.leasing.holding(SESSION) as mine:
        assert mine
        await here.turns.step(SESSION, inbound(update=None))
        async with other.turns.leasing.holding(SESSION) as theirs:
            assert not theirs
    async with other.turns.leasing.holding(SESSION) as theirs:
        assert theirs


async def test_what_a_turn_is_at_is_one_masked_line(office: Office) -> None:
    """The command, or the tool's name where there is none."""
    here = room(office)
    assert here.turns.doing(SESSION) == ""
    state = here.turns._fresh(inbound())
    here.turns._working[SESSION] = [state]
    assert here.turns.doing(SESSION) == ""
    for arguments, line in (
        ('{"command": "echo swordfish9\\nid"}', None),
        ('{"path": "x"}', "exec"),
        ('{"command": "' + "x" * 300 + '"}', "x" * 199 + "…"),
    ):
        call = ToolCall(CallId("m"), "exec", arguments)
        here.turns._working[SESSION] = [replace(state, open_calls=(call,))]
        said = here.turns.doing(SESSION)
        assert said == line if line is not None else "swordfish9" not in said
        assert "\n" not in said


def test_a_message_that_was_dropped_ends_whoever_waits_for_it(office: Office) -> None:
    """A job must not wait for a turn that never begins."""
    here = room(office)
    here.turns.forget(inbound())
    assert [end.code for end in here.ends] == ["dropped"]
    here.turns.forget(inbound())
    assert len(here.ends) == 1
