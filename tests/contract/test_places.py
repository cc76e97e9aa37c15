"""Chats that move, close and open: a group that becomes a supergroup goes on, a chat that is out of reach is left alone."""

from pathlib import Path

from mtbot.domain.ids import BotName, ChatId, SessionId
from mtbot.domain.record import OutboxItem, OutKind
from mtbot.domain.turn import Address, SurfaceName
from mtbot.simulator.script import call, say
from tests.contract.stage import CHIEF, DEPLOY, GROUP, REVIEW, STRANGER, Setting, Stage, open_stage

OLD = -4001
NEW = -1004004004004
ASKS = (call("exec", {"command": "echo ran >> sentinel"}), say("Logged."))


def basic_group(stage: Stage, *groups: int) -> None:
    """A group that is no supergroup yet, and a configuration that serves these."""
    text = stage.config.read_text()
    entries = ", ".join(f"{group}: {{require_mention: false}}" for group in groups)
    stage.config.write_text(text.replace(f"groups: {{{GROUP}: {{require_mention: true}}}}", f"groups: {{{entries}}}"))


async def opened(stage: Stage, *groups: int) -> None:
    """The stage, started, with the old group and both people in it."""
    stage.telegram.group(OLD, "ops", members=(CHIEF, DEPLOY, REVIEW))
    stage.telegram.set_member(OLD, stage.telegram.bot().id, "administrator")
    basic_group(stage, *groups)
    await stage.start()


async def heard(stage: Stage) -> None:
    """Everything that was said before this has been dealt with."""
    await stage.telegram.say(CHIEF, None, "/whoami")
    await stage.telegram.wait_for(lambda sim: sim.chat(CHIEF.id)[-1].text.startswith("You are Chief"), 10)


def told(stage: Stage, words: str) -> list[str]:
    """What the owner was told of that kind."""
    return [text for text in stage.bot_texts() if words in text]


async def test_a_supergroup_goes_on_with_the_conversation_and_the_rules_of_its_group(tmp_path: Path) -> None:
    """Under the new id the same people are heard and the model remembers; the owner reads the id to write down, once."""
    async with open_stage(tmp_path, [say("First."), say("Second.")], start=False) as stage:
        await opened(stage, OLD)
        await stage.telegram.say(CHIEF, OLD, "one")
        await stage.telegram.shown(OLD, "First.")
        stage.telegram.migrate(OLD, NEW, DEPLOY)
        await stage.telegram.say(CHIEF, NEW, "two")
        await stage.telegram.shown(NEW, "Second.")
        said = [m["content"] for m in stage.model.requests[-1].messages if m["role"] == "user"]
        assert said == ["one", "two"]
        await stage.telegram.shown(CHIEF.id, f"please write {NEW} in place of {OLD}")
        await heard(stage)
        assert len(told(stage, "became a supergroup")) == 1
        assert told(stage, f"do not serve (id {NEW})") == []
        assert all(call.error is None for call in stage.telegram.calls("sendMessage"))


async def test_a_question_moves_with_its_group(tmp_path: Path) -> None:
    """It is asked again where people are now, and a yes there runs it."""
    async with open_stage(tmp_path, ASKS, start=False) as stage:
        await opened(stage, OLD)
        await stage.telegram.say(CHIEF, OLD, "log it")
        asked = await stage.telegram.shown(OLD, "Run this on")
        stage.telegram.migrate(OLD, NEW)
        again = await stage.telegram.shown(NEW, "Run this on")
        assert (again.text, again.labels) == (asked.text, asked.labels)
        assert await stage.telegram.press(DEPLOY, "✅ Approve once", NEW) == "Approved."
        await stage.telegram.shown(NEW, "Logged.")
        ended = await stage.telegram.shown(NEW, "✅ Approved once by Deploy")
        assert ended.id == again.id
        assert (stage.workspace / "sentinel").read_text() == "ran\n"
        assert {(event.draft.chat, event.draft.session) for event in await stage.events()} == {
            (OLD, f"telegram:main:{OLD}:0")
        }


async def test_a_move_that_only_a_refused_send_tells_of_is_followed(tmp_path: Path) -> None:
    """The service messages were lost; what was to be said arrives all the same, in the new chat."""
    async with open_stage(tmp_path, start=False) as stage:
        await opened(stage, OLD)
        stage.telegram.migrate(OLD, NEW)
        stage.telegram.bot().queue.drop_pending()
        place = Address(SurfaceName.GROUP, BotName("main"), ChatId(OLD))
        item = OutboxItem(OutKind.NOTICE, place, text=stage.engine.loaded.redactor.mask("Said to the group."))
        await stage.engine.office.stores.outbox.put(item, now_ms=stage.clock.now_ms())
        stage.engine.wake()
        await stage.telegram.shown(NEW, "Said to the group.")
        await stage.telegram.shown(CHIEF.id, f"please write {NEW} in place of {OLD}")


async def test_a_move_outlives_a_restart_and_the_owners_change_of_the_configuration(tmp_path: Path) -> None:
    """With the old id written down, and with the new one: the conversation is the same."""
    steps = [say("First."), say("Second."), say("Third.")]
    async with open_stage(tmp_path, steps, start=False) as stage:
        await opened(stage, OLD)
        await stage.telegram.say(CHIEF, OLD, "one")
        await stage.telegram.shown(OLD, "First.")
        stage.telegram.migrate(OLD, NEW)
        await stage.telegram.shown(CHIEF.id, "became a supergroup")
        await stage.restart()
        await stage.telegram.say(CHIEF, NEW, "two")
        await stage.telegram.shown(NEW, "Second.")
        await stage.stop()
        stage.write_config()
        basic_group(stage, NEW)
        await stage.start()
        await stage.telegram.say(CHIEF, NEW, "three")
        await stage.telegram.shown(NEW, "Third.")
        said = [m["content"] for m in stage.model.requests[-1].messages if m["role"] == "user"]
        assert said == ["one", "two", "three"]
        await stage.telegram.say(CHIEF, NEW, "/whoami")
        await stage.telegram.shown(NEW, f"Chat {NEW}")
        assert len(told(stage, "became a supergroup")) == 1


async def test_a_group_that_is_not_served_moves_without_being_followed(tmp_path: Path) -> None:
    """A stranger's group gains nothing by it."""
    async with open_stage(tmp_path, [say("Never.")], start=False) as stage:
        await opened(stage, GROUP)
        stage.telegram.migrate(OLD, NEW, STRANGER)
        await stage.telegram.say(CHIEF, NEW, "hello")
        await heard(stage)
        assert stage.model.requests == ()
        assert await stage.engine.office.stores.chats.moves() == {}


async def test_a_bot_that_was_taken_out_says_nothing_there_until_it_is_put_back(tmp_path: Path) -> None:
    """The owner hears of it once; nothing is tried in vain."""
    async with open_stage(tmp_path, [say("First."), say("Second.")], start=False) as stage:
        await opened(stage, OLD)
        robot = stage.telegram.bot().id
        stage.telegram.set_member(OLD, robot, "kicked")
        await stage.telegram.shown(CHIEF.id, f"I can no longer write to the group ops ({OLD})")
        place = Address(SurfaceName.GROUP, BotName("main"), ChatId(OLD))
        for _ in range(2):
            item = OutboxItem(OutKind.NOTICE, place, text=stage.engine.loaded.redactor.mask("Said in vain."))
            await stage.engine.office.stores.outbox.put(item, now_ms=stage.clock.now_ms())
        stage.engine.wake()
        await heard(stage)
        assert [c for c in stage.telegram.calls("sendMessage") if c.params["chat_id"] == OLD] == []
        stage.telegram.set_member(OLD, robot, "administrator")
        await stage.telegram.say(CHIEF, OLD, "there?")
        await stage.telegram.shown(OLD, "First.")
        stage.telegram.set_member(OLD, robot, "left")
        await stage.telegram.wait_for(lambda _sim: len(told(stage, "I can no longer write")) == 2)


async def test_a_person_who_blocked_the_bot_is_left_alone_until_they_write(tmp_path: Path) -> None:
    """Found out by a refused send: one try, one line to the owner, and no second one after a restart."""
    async with open_stage(tmp_path, [say("Here.")]) as stage:
        stage.telegram.open(DEPLOY)
        place = Address(SurfaceName.PRIVATE, BotName("main"), ChatId(DEPLOY.id))
        stage.telegram.bot().queue._allowed = frozenset({"message"})  # the report of the block is lost
        stage.telegram.block(DEPLOY)
        for round_ in range(2):
            for _ in range(2):
                item = OutboxItem(OutKind.NOTICE, place, text=stage.engine.loaded.redactor.mask("Said in vain."))
                await stage.engine.office.stores.outbox.put(item, now_ms=stage.clock.now_ms())
            stage.engine.wake()
            await stage.telegram.wait_for(
                lambda sim, tries=round_ + 1: len([c for c in sim.calls("sendMessage") if c.error]) == tries  # type: ignore[misc]  # a default binds the loop
            )
            await heard(stage)
            await stage.restart()
        assert told(stage, "I can't write to Deploy:") == [
            "I can't write to Deploy: they blocked me, or never wrote to me. Nothing is sent there until they write to me."
        ]
        stage.telegram.block(DEPLOY, blocked=False)
        await stage.telegram.say(DEPLOY, None, "there?")
        await stage.telegram.shown(DEPLOY.id, "Here.")


async def test_a_question_that_its_group_will_never_see_ends_its_turn(tmp_path: Path) -> None:
    """Nobody waits for an answer from a chat that is gone."""
    async with open_stage(tmp_path, ASKS, Setting(), start=False) as stage:
        await opened(stage, OLD)
        await stage.telegram.say(CHIEF, OLD, "log it")
        stage.telegram.set_member(OLD, stage.telegram.bot().id, "kicked")
        await stage.telegram.shown(CHIEF.id, "I can no longer write to the group")
        assert await stage.engine.lanes.settle(place_session(), 10)
        assert not (stage.workspace / "sentinel").exists()


def place_session() -> SessionId:
    """The session of the old group."""
    return Address(SurfaceName.GROUP, BotName("main"), ChatId(OLD)).session


async def test_being_put_into_an_unknown_group_tells_its_id(tmp_path: Path) -> None:
    """Before anybody says a word there."""
    async with open_stage(tmp_path) as stage:
        stage.telegram.group(-1005550001112, "elsewhere", members=(STRANGER,), bots=())
        stage.telegram.set_member(-1005550001112, stage.telegram.bot().id, "member")
        await stage.telegram.shown(CHIEF.id, "I was put into a group that I do not serve (id -1005550001112).")
