"""An answer is seen while it is written: in a private chat, as far as it stands, and never instead of the answer."""

import asyncio
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from mtbot.bootstrap.reload import Reloader
from mtbot.channels.telegram import draft, show
from mtbot.domain.ids import SafeText
from mtbot.gateway import drafts, status
from mtbot.redaction import growing
from mtbot.redaction.mask import Redactor
from mtbot.simulator import faults
from mtbot.simulator.script import Answer, Break, ModelRequest, Step, broken_off, call, paused, say
from mtbot.simulator.telegram import TelegramSimulator
from mtbot.simulator.values import CallRecord, Person
from tests.contract.stage import CHIEF, GROUP, Setting, Stage, open_stage

ANSWER = "It runs. It has been at its limit of 2 GB for an hour.\nI can restart it.\n\nShall I?"
PIECE = 7
SECRET = "sk-test-0123456789abcdef0123456789"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test does not wait for seconds to pass."""
    for module, name in ((drafts, "FIRST_SECONDS"), (drafts, "EVERY_SECONDS"), (draft, "EVERY_SECONDS")):
        monkeypatch.setattr(module, name, 0.01)


def after(text: str, words: str) -> int:
    """So many events of a stream until these words have come."""
    return -(-(text.index(words) + len(words)) // PIECE) + 1


def halting(text: str, *words: str) -> Answer:
    """An answer that stands still each time that these words have come."""
    return paused(say(text), *(after(text, one) for one in words))


def draft_text(sim: TelegramSimulator, chat: int = CHIEF.id, thread: int | None = None) -> str:
    """What is shown of a draft now."""
    shown = sim.draft(chat, thread)
    return "" if shown is None else shown.text


def sent(stage: Stage) -> list[CallRecord]:
    """Every draft that was sent."""
    return stage.telegram.calls("sendMessageDraft")


async def test_an_answer_is_seen_growing_and_then_stands(tmp_path: Path) -> None:
    """Whole sentences, in one draft, formatted; then the one message, and no draft behind it."""
    text = "It **runs**. It has been at its limit for an hour.\nI can restart it.\n\nShall I?"
    async with open_stage(tmp_path, [halting(text, "has been", "restart it.\n\nSh")]) as stage:
        await stage.telegram.say(CHIEF, None, "is jellyfin ok?")
        await stage.telegram.wait_for(lambda sim: draft_text(sim) == "It runs.")
        shown = stage.telegram.draft(CHIEF.id)
        assert shown is not None
        assert [(one.type, one.offset, one.length) for one in shown.entities] == [("bold", 3, 4)]
        stage.model.release()
        longer = "It runs. It has been at its limit for an hour.\nI can restart it."
        await stage.telegram.wait_for(lambda sim: draft_text(sim) == longer)
        stage.model.release()
        await stage.telegram.shown(CHIEF.id, "Shall I?")
        assert stage.telegram.draft(CHIEF.id) is None
        assert stage.bot_texts() == ["It runs. It has been at its limit for an hour.\nI can restart it.\n\nShall I?"]
        methods = [one.method for one in stage.telegram.log if one.method.startswith("sendMessage")]
        assert methods == ["sendMessageDraft"] * len(sent(stage)) + ["sendMessage"]
        assert len({one.params["draft_id"] for one in sent(stage)}) == 1
        assert len(stage.model.requests) == 1


OFF = {
    "group": Setting(),
    "drafts off": Setting(telegram_extra="drafts: false"),
    "quiet": Setting(telegram_extra="verbosity: quiet"),
    "not streamed": Setting(provider_extra=", stream: false"),
}


@pytest.mark.parametrize("why", OFF)
async def test_where_no_draft_is_to_be_shown_the_answer_comes_whole(tmp_path: Path, why: str) -> None:
    """In a group, which knows none; where the owner wants none; from a provider that is not to stream."""
    chat, text = (GROUP, "@sim_bot_1 hello") if why == "group" else (None, "hello")
    async with open_stage(tmp_path, [halting(ANSWER, "limit")], OFF[why]) as stage:
        if why == "group":
            text = f"@{stage.telegram.bot().account.person.username} hello"
        await stage.telegram.say(CHIEF, chat, text)
        await stage.model.stood_still(1)
        await stage.telegram.wait_for(lambda sim: sim.calls("sendChatAction"))
        stage.model.release()
        await stage.telegram.shown(chat or CHIEF.id, "Shall I?")
        assert "stream" not in stage.model.requests[0].body
        assert sent(stage) == []


async def test_a_reload_turns_them_off_and_on(tmp_path: Path) -> None:
    """From the next answer on."""
    async with open_stage(tmp_path, [halting(ANSWER, "an hour"), say("Second.")]) as stage:
        await stage.telegram.say(CHIEF, None, "first")
        await stage.telegram.wait_for(draft_text)
        stage.setting = replace(stage.setting, telegram_extra="drafts: false")
        stage.write_config()
        told = await Reloader(stage.engine).reload()
        assert (told["changed"], told["needs_restart"]) == (["channels.telegram"], [])
        stage.model.release()
        await stage.telegram.shown(CHIEF.id, "Shall I?")
        await stage.telegram.say(CHIEF, None, "second")
        await stage.telegram.shown(CHIEF.id, "Second.")
        assert ["stream" in request.body for request in stage.model.requests] == [True, False]


async def test_a_job_and_a_terminal_have_their_answers_whole(tmp_path: Path) -> None:
    """There is nobody who looks, or no way to show it."""
    async with open_stage(tmp_path, [say("Done by night."), say("Done here.")]) as stage:
        await stage.run_job()
        await stage.telegram.shown(CHIEF.id, "Done by night.")
        assert "Done here." in (await stage.prompt("hello")).out
        assert ["stream" in request.body for request in stage.model.requests] == [False, False]
        assert sent(stage) == []


UNKNOWN = {
    "404": None,
    "400": faults.status(400, "Bad Request: method not found"),
    "501": faults.status(400, "Bad Request: method sendMessageDraft is not supported"),
}


@pytest.mark.parametrize("answer", UNKNOWN)
async def test_a_server_without_drafts_is_asked_once(tmp_path: Path, answer: str) -> None:
    """The person reads nothing of it, and later answers are not even streamed, until the next start."""
    steps = [halting(ANSWER, "an hour"), say("Second."), halting(ANSWER, "an hour")]
    async with open_stage(tmp_path, steps) as stage:
        fault = UNKNOWN[answer]
        if fault is None:
            stage.telegram.set_drafts(False)
        else:
            stage.telegram.fault("sendMessageDraft", fault, times=faults.FOR_EVER)
        await stage.telegram.say(CHIEF, None, "first")
        await stage.telegram.wait_for(lambda _sim: sent(stage))
        stage.model.release()
        await stage.telegram.shown(CHIEF.id, "Shall I?")
        await stage.telegram.say(CHIEF, None, "second")
        await stage.telegram.shown(CHIEF.id, "Second.")
        assert ["stream" in request.body for request in stage.model.requests] == [True, False]
        assert len(sent(stage)) == 1
        assert stage.bot_texts() == [ANSWER, "Second."]
        await stage.restart()
        await stage.telegram.say(CHIEF, None, "third")
        await stage.telegram.wait_for(lambda _sim: len(sent(stage)) == 2)
        stage.model.release()


TROUBLE = {
    "429": faults.too_many(60),
    "peer": faults.status(400, "Bad Request: TEXTDRAFT_PEER_INVALID"),
    "blocked": faults.status(403, "Forbidden: bot was blocked by the user"),
    "token": faults.unauthorized(),
    "502": faults.bad_gateway(),
    "drop": faults.drop(),
    "cut": faults.cut(),
    "refuse": faults.refuse(),
}


@pytest.mark.parametrize("fault", TROUBLE)
async def test_a_draft_that_fails_is_nobodys_trouble(tmp_path: Path, fault: str) -> None:
    """The chat has no more of them for a while; the answer comes as always, and is the only thing that is said."""
    async with open_stage(tmp_path, [halting(ANSWER, "an hour", "restart it.\n\nSh")]) as stage:
        stage.telegram.fault("sendMessageDraft", TROUBLE[fault])
        await stage.telegram.say(CHIEF, None, "is jellyfin ok?")
        await stage.telegram.wait_for(lambda _sim: sent(stage))
        stage.model.release()
        await stage.model.stood_still(2)
        await stage.telegram.wait_for(lambda sim: sim.calls("sendChatAction"))
        stage.model.release()
        await stage.telegram.shown(CHIEF.id, "Shall I?")
        assert len(sent(stage)) == 1
        assert stage.bot_texts() == [ANSWER]


async def test_a_draft_on_its_way_holds_up_no_answer_and_never_comes_behind_it(tmp_path: Path) -> None:
    """It is given up where the answer is whole."""
    async with open_stage(tmp_path, [halting(ANSWER, "an hour")]) as stage:
        stage.telegram.fault("sendMessageDraft", faults.hang())
        await stage.telegram.say(CHIEF, None, "is jellyfin ok?")
        await stage.telegram.wait_for(lambda sim: sim.hanging("sendMessageDraft"))
        stage.model.release()
        await stage.telegram.shown(CHIEF.id, "Shall I?")
        await stage.telegram.wait_for(lambda sim: not sim.hanging("sendMessageDraft"))
        stage.telegram.release()
        assert stage.telegram.draft(CHIEF.id) is None


class Looks:
    """Is told whenever an answer that is being written is looked at."""

    def __init__(self) -> None:
        self._count = 0
        self._one = asyncio.Event()

    def tell(self) -> None:
        """It is."""
        self._count += 1
        self._one.set()

    async def two_more(self) -> None:
        """Wait for one that is under way, and for one that began since."""
        until = self._count + 2
        while self._count < until:
            self._one.clear()
            await self._one.wait()


async def test_no_part_of_a_secret_is_seen_in_a_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the stream stands still in it; what is behind it is seen again."""
    text = f"The key is {SECRET}. Take care. So\n-----BEGIN PRIVATE KEY-----\n{'aB3dE5gH' * 8}\n-----END PRIVATE KEY-----\nDone. Bye."
    every = paused(say(text), *range(2, len(text) // PIECE + 3))
    looks = Looks()

    def settled(redactor: Redactor, text: str) -> SafeText:
        looks.tell()
        return growing.settled(text, redactor)

    monkeypatch.setattr(Redactor, "settled", settled)
    async with open_stage(tmp_path, [every]) as stage:
        await stage.telegram.say(CHIEF, None, "which key?")
        for number in range(1, len(every.pauses) + 1):
            await stage.model.stood_still(number)
            await looks.two_more()
            stage.model.release()
        await stage.telegram.shown(CHIEF.id, "Bye.")
        shown = [str(one.params["text"]) for one in sent(stage)]
        assert len(set(shown)) >= 3
        for hidden in (SECRET, "aB3dE5gH" * 8):
            assert not [cut for cut in range(len(hidden) - 6) for one in shown if hidden[cut : cut + 6] in one]
        assert any("Take care." in one and "‹secret:" in one for one in shown)
        assert not any("BEGIN" in one for one in shown)


async def test_text_before_a_call_is_no_answer(tmp_path: Path) -> None:
    """It may be seen while it is written and not once a call follows; what runs is shown as always."""
    looking = "Let me look. Then I will tell you."
    steps = [
        paused(call("exec", {"command": "cat notes-of-all-that-runs"}, text=looking), 6, 9),
        halting(ANSWER, "an hour"),
    ]
    async with open_stage(tmp_path, steps, Setting(allow="[{argv: [cat, '*']}]")) as stage:
        (stage.workspace / "notes-of-all-that-runs").write_text("all is well")
        await stage.telegram.say(CHIEF, None, "is jellyfin ok?")
        await stage.telegram.wait_for(lambda sim: draft_text(sim) == "Let me look.")
        stage.model.release()
        await stage.model.stood_still(2)
        before = len(sent(stage))
        stage.model.release()
        await stage.telegram.wait_for(lambda sim: draft_text(sim).startswith("It runs."))
        assert {one.params["text"] for one in sent(stage)[:before]} == {"Let me look."}
        assert len({one.params["draft_id"] for one in sent(stage)}) == 2
        stage.model.release()
        await stage.telegram.shown(CHIEF.id, "Shall I?")
        assert stage.bot_texts() == ["Ran by rule: cat notes-of-all-that-runs", ANSWER]


async def test_a_stream_that_breaks_off_ends_in_the_whole_answer_once(tmp_path: Path) -> None:
    """What was seen of the broken one gives way, and no later answer of that model is streamed."""
    broken = paused(broken_off(say("Something else. It br"), 4, Break.CLOSE), 4)
    async with open_stage(tmp_path, [broken, say(ANSWER), say("Second.")]) as stage:
        await stage.telegram.say(CHIEF, None, "is jellyfin ok?")
        await stage.telegram.wait_for(lambda sim: draft_text(sim) == "Something else.")
        stage.model.release()
        await stage.telegram.shown(CHIEF.id, "Shall I?")
        await stage.telegram.say(CHIEF, None, "and now?")
        await stage.telegram.shown(CHIEF.id, "Second.")
        assert stage.bot_texts() == [ANSWER, "Second."]
        assert ["stream" in request.body for request in stage.model.requests] == [True, False, False]


async def test_a_call_in_a_stream_that_breaks_off_never_runs(tmp_path: Path) -> None:
    """Its arguments may be cut where they still say something."""
    cut = broken_off(call("exec", '{"command": "touch cut"}'), 4, Break.END)
    async with open_stage(tmp_path, [cut, say("Nothing ran.")], Setting(allow="[{argv: [touch, '*']}]")) as stage:
        await stage.telegram.say(CHIEF, None, "touch")
        await stage.telegram.shown(CHIEF.id, "Nothing ran.")
        assert (list(stage.workspace.iterdir()), await stage.lines()) == ([], [])


async def test_a_stopped_answer_leaves_no_draft(tmp_path: Path) -> None:
    """Nothing of it is written down, and nothing is sent behind the words that say so."""
    async with open_stage(tmp_path, [halting(ANSWER, "an hour"), say("Fresh.")]) as stage:
        await stage.telegram.say(CHIEF, None, "is jellyfin ok?")
        await stage.telegram.wait_for(draft_text)
        await stage.telegram.say(CHIEF, None, "/stop")
        await stage.telegram.shown(CHIEF.id, "Stopped")
        await stage.model.wait_for(lambda model: not model.hanging)
        assert stage.telegram.draft(CHIEF.id) is None
        before = len(sent(stage))
        await stage.telegram.say(CHIEF, None, "go on")
        await stage.telegram.shown(CHIEF.id, "Fresh.")
        assert len(sent(stage)) == before
        told = str(stage.model.requests[-1].messages)
        assert "It runs." not in told


async def test_nothing_of_a_draft_outlives_a_killed_gateway(tmp_path: Path) -> None:
    """The database has no word of it; the next start says that it was cut off, as without a draft."""
    async with open_stage(tmp_path, [halting(ANSWER, "an hour")], start=False) as stage:
        async with stage.gateway_process() as gateway:
            await stage.telegram.say(CHIEF, None, "is jellyfin ok?")
            await stage.telegram.wait_for(draft_text, 20)
            gateway.kill()
            await gateway.wait()
        kept = b"".join(path.read_bytes() for path in (tmp_path / "state").glob("mtclaw.db*") if path.is_file())
        assert b"It runs" not in kept
        before = len(sent(stage))
        await stage.start()
        await stage.telegram.wait_for(lambda _sim: stage.bot_texts(), 20)
        assert len(sent(stage)) == before


async def test_a_hundred_chats_have_their_answers_at_once(tmp_path: Path) -> None:
    """Each its own, once, and each after its drafts."""
    people = [Person(2000 + number, f"P{number}") for number in range(100)]

    def script(request: ModelRequest) -> Step:
        return paused(say(f"To {request.last_user_text}. It runs. So"), 4)

    def enough(seen: int, sim: TelegramSimulator) -> bool:
        return len(sim.calls("sendMessageDraft")) >= seen

    async with open_stage(tmp_path, script, start=False) as stage:
        text = stage.config.read_text()
        listed = ", ".join(str(person.id) for person in people)
        stage.config.write_text(text.replace("allow_from: [chief", f"allow_from: [{listed}, chief"))
        await stage.start()
        for person in people:
            stage.telegram.open(person)
        await asyncio.gather(*(stage.telegram.say(person, None, f"n{person.id}") for person in people))
        for number in range(1, len(people) + 1):
            await stage.model.stood_still(number)
            await stage.telegram.wait_for(partial(enough, number // 4), 20)
            stage.model.release()
        await stage.telegram.wait_for(lambda _sim: all(stage.bot_texts(one.id) for one in people), 60)
        assert [stage.bot_texts(person.id) for person in people] == [[f"To n{one.id}. It runs. So"] for one in people]
        assert [person for person in people if stage.telegram.draft(person.id) is not None] == []


async def test_thinking_is_not_said_while_an_answer_is_seen_growing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sign at a time, beside the typing; only where the machine stood still may it say so first."""
    monkeypatch.setattr(status, "THINKING_SECONDS", 0.5)
    monkeypatch.setattr(show, "TYPING_SECONDS", 0.1)
    verbose = Setting(telegram_extra="verbosity: verbose")
    async with open_stage(tmp_path, [halting(ANSWER, "an hour")], verbose) as stage:
        await stage.telegram.say(CHIEF, None, "is jellyfin ok?")
        await stage.telegram.wait_for(draft_text)
        typed = len(stage.telegram.calls("sendChatAction"))
        await stage.telegram.wait_for(lambda sim: len(sim.calls("sendChatAction")) > typed + 8)
        signs = [one.at for one in stage.telegram.log if one.method in ("sendChatAction", "sendMessageDraft")]
        stood_still = sent(stage)[0].at - signs[0] > 0.3 or max(b - a for a, b in pairwise(signs)) > 0.3
        thought = [one for one in stage.telegram.log if "⏳" in str(one.params)]
        assert thought == [] or stood_still
        stage.model.release()
        await stage.telegram.shown(CHIEF.id, "Shall I?")


async def test_an_answer_that_is_not_to_be_sent_is_not_seen_either(tmp_path: Path) -> None:
    """Whoever is not to be answered reads nothing."""
    async with open_stage(tmp_path, [paused(say("NO_REPLY\n\n"), 3), say("Second.")]) as stage:
        await stage.telegram.say(CHIEF, None, "fyi")
        await stage.model.stood_still(1)
        await stage.telegram.wait_for(lambda sim: sim.calls("sendChatAction"))
        stage.model.release()
        await stage.telegram.say(CHIEF, None, "and?")
        await stage.telegram.shown(CHIEF.id, "Second.")
        assert (sent(stage), stage.bot_texts()) == ([], ["Second."])
