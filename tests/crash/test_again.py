"""SIGKILL while a call that a first SIGKILL had cut off is asked for again."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from mtbot.domain.record import EventKind
from mtbot.gateway.outbox import TWICE
from mtbot.simulator.values import Message
from tests.contract.stage import CHIEF
from tests.crash.points import AGAIN
from tests.crash.scene import Scene, open_scene

ASK = "Ask to run it again"


def notices(scene: Scene) -> list[Message]:
    """What the chat was told about calls that were cut off, each once: one that may not have arrived is said again."""
    shown = [one for one in scene.telegram.chat(CHIEF.id) if "Cut off: I am back" in one.text]
    return [one for one in shown if TWICE not in one.text]


def question(scene: Scene) -> Message | None:
    """The live question of the second request."""
    shown = notices(scene)
    found = scene.question()
    return found if found is not None and shown and found.id > shown[0].id else None


def over(scene: Scene) -> bool:
    """Whether the second run is over: the model, who has no words of its own for it, goes on, or it was cut off, too."""
    return "Hm." in scene.texts() or len(notices(scene)) > 1


async def ask(scene: Scene) -> None:
    """Press the button of the notice, if it shows it."""
    notice = notices(scene)[0]
    if ASK in notice.labels:
        await scene.telegram.tap(CHIEF, ASK, CHIEF.id)


async def play(scene: Scene) -> None:
    """Ask again, approve, wait for the end; ends early when the gateway dies."""
    if await scene.until(lambda: bool(notices(scene))):
        await ask(scene)
        if await scene.until(lambda: question(scene) is not None):
            await scene.answer()
            await scene.until(lambda: over(scene))


# before and after each step at length, else before each
TRIED = AGAIN if "MTCLAW_TEST_RANDOM_KILLS" in os.environ else AGAIN[::2]


@pytest.mark.parametrize("point", [point.name for point in TRIED])
async def test_a_kill_at_this_point_loses_no_request_and_makes_no_second_one(point: str, tmp_path: Path) -> None:
    """As long as no question is there the button asks; from there on there is one question and one run at most."""
    async with open_scene(tmp_path) as scene:
        await scene.start("after the start is recorded")
        playing = asyncio.create_task(scene.play())
        assert await scene.gone() == -signal.SIGKILL
        await playing
        await scene.start(point)
        playing = asyncio.create_task(play(scene))
        try:
            assert await scene.gone() == -signal.SIGKILL, "it ended otherwise"
        finally:
            await playing
        await scene.start()
        await scene.telegram.say(CHIEF, None, "still there?")
        assert await scene.until(lambda: bool(notices(scene))), scene.end()
        await ask(scene)
        assert await scene.until(lambda: over(scene) or question(scene) is not None or told(scene)), scene.end()
        if question(scene) is not None:
            await scene.answer()
            assert await scene.until(lambda: over(scene) or told(scene)), scene.end()
        assert await scene.until(lambda: "I am here." in scene.texts()), scene.end()
        assert await scene.stop() == 143
        await check(scene)


def told(scene: Scene) -> bool:
    """Whether the chat heard that the turn of the second request was cut off, or that its answer may be missing."""
    ends = ("I was cut off", "I can't tell whether my last answer")
    return any(end in text for text in scene.texts() for end in ends)


async def check(scene: Scene) -> None:
    """The first start ran nothing, because its gateway died before; the second ran once at most."""
    log = scene.stage.workspace / "ran.log"
    runs = len(log.read_text().splitlines()) if log.exists() else 0
    events = [event.draft for event in await scene.events()]
    started = [one for one in events if one.kind is EventKind.STARTED]
    asked = [one for one in events if one.kind is EventKind.APPROVAL_REQUESTED]
    ends = (EventKind.FINISHED, EventKind.FAILED, EventKind.INTERRUPTED)
    ended = {one.call for one in events if one.kind in ends}
    assert len(asked) == 2, "there was one question for the first run and one for the second"
    assert len(started) == 2, "the second request was lost or made twice"
    assert runs <= 1, f"it ran {runs} times"
    assert {one.call for one in started} <= ended, "a start has no end on record"
    assert len({one.digest for one in started}) == 1, "something else ran"
