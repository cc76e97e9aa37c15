"""SIGKILL around what is kept of a conversation: it is as it was or as it was to be, never half, and it goes on."""

import signal
from pathlib import Path

import pytest

from mtbot.bootstrap.offline import Office, load_all, work
from mtbot.domain.ids import BotName, ChatId, TurnId
from mtbot.domain.ports import TurnFlush
from mtbot.domain.turn import Address, Message, Role, SurfaceName, Usage
from mtbot.gateway.memory import TOLD
from tests.contract.stage import CHIEF
from tests.crash.points import MEMORY_POINTS
from tests.crash.scene import Scene, open_scene

PLACE = Address(SurfaceName.PRIVATE, BotName("main"), ChatId(CHIEF.id))


async def office_of(scene: Scene) -> Office:
    """The database while no gateway runs."""
    return await work(load_all(str(scene.stage.config), environ={"HOME": str(scene.stage.directory)}))


async def grown(scene: Scene) -> None:
    """Five turns where four are shown."""
    config = scene.stage.config
    config.write_text(config.read_text().replace("agent: {model:", "agent: {max_history_turns: 4, model:"))
    office = await office_of(scene)
    for number in range(5):
        said = (Message(Role.USER, f"question {number} {'w' * 99}"), Message(Role.ASSISTANT, "answer"))
        await office.stores.history.flush(TurnFlush(TurnId(f"t{number}"), PLACE, said, Usage(), ()), 1)
    await office.close()


@pytest.mark.parametrize("point", [point.name for point in MEMORY_POINTS if "summary" in point.name])
async def test_a_kill_at_a_summary_leaves_it_whole_and_told_or_not_at_all(point: str, tmp_path: Path) -> None:
    """With the next message it is there, once."""
    async with open_scene(tmp_path) as scene:
        await grown(scene)
        await scene.start(point)
        await scene.telegram.say(CHIEF, None, "still there?")
        assert await scene.gone() == -signal.SIGKILL, "it ended otherwise"
        office = await office_of(scene)
        summary = (await office.stores.memories.look(PLACE.session)).summary
        queued = [
            str(row.item.card.title) for row in await office.stores.outbox.next(["private"], 1 << 60) if row.item.card
        ]
        await office.close()
        told = TOLD in scene.texts() or TOLD in queued
        assert (summary is not None, told) == ((True, True) if point.startswith("after") else (False, False))
        await scene.start()
        await scene.telegram.say(CHIEF, None, "still there now?")
        assert await scene.until(lambda: "I am here." in scene.texts()), scene.end()
        assert await scene.until(lambda: scene.texts().count(TOLD) == 1), scene.end()
        assert await scene.stop() == 143
        office = await office_of(scene)
        assert (await office.stores.memories.look(PLACE.session)).summary is not None
        await office.close()
        assert scene.stage.model.problems == ()


@pytest.mark.parametrize("point", [point.name for point in MEMORY_POINTS if "summary" not in point.name])
async def test_a_kill_while_a_conversation_moves_loses_no_message(point: str, tmp_path: Path) -> None:
    """It lies in one place or the other."""
    async with open_scene(tmp_path) as scene:
        await grown(scene)
        await scene.start(point)
        await scene.telegram.say(CHIEF, None, "/new")
        if "back" in point:
            assert await scene.until(lambda: any("put away" in text for text in scene.texts())), scene.end()
            await scene.telegram.say(CHIEF, None, "/resume 1")
        assert await scene.gone() == -signal.SIGKILL, "it ended otherwise"
        office = await office_of(scene)
        here = await office.stores.history.messages(PLACE.session)
        away = await office.stores.archives.put_aways(PLACE.session)
        await office.close()
        assert (len(here), [one.messages for one in away]) in ((10, []), (0, [10]))
        await scene.start()
        await scene.telegram.say(CHIEF, None, "still there?")
        assert await scene.until(lambda: "I am here." in scene.texts()), scene.end()
        assert await scene.stop() == 143
