"""An edited message runs nothing by itself; its author may have the new text used, once."""

from pathlib import Path

from mtbot.simulator.people import Origin
from mtbot.simulator.script import HANG, Step, call, say
from mtbot.simulator.values import Message
from tests.contract.stage import CHIEF, DEPLOY, GROUP, STRANGER, Stage, open_stage

OFFER = "Use the edited text?"


async def heard(stage: Stage) -> None:
    """Everything that was said before this has been dealt with."""
    before = len(stage.bot_texts())
    await stage.telegram.say(CHIEF, None, "/whoami")
    await stage.telegram.wait_for(lambda sim: sim.chat(CHIEF.id)[-1].text.startswith("You are Chief"))
    assert len(stage.bot_texts()) > before


def offers(stage: Stage, chat: int = CHIEF.id) -> list[Message]:
    """The offers in a chat."""
    return [message for message in stage.telegram.chat(chat) if message.text.startswith(OFFER)]


async def test_an_edit_is_offered_silently_and_used_once(tmp_path: Path) -> None:
    """The offer quotes the message; its button starts one turn with the new text and goes away."""
    async with open_stage(tmp_path, [say("Here."), say("Again."), say("A third time.")]) as stage:
        said = await stage.telegram.say(CHIEF, None, "thre?")
        await stage.telegram.shown(CHIEF.id, "Here.")
        await stage.telegram.edit(CHIEF, None, said, "there?")
        offer = await stage.telegram.shown(CHIEF.id, OFFER)
        assert (offer.silent, offer.reply_to, offer.labels) == (True, said, ("Use it",))
        assert len(stage.model.requests) == 1
        data = offer.buttons[0][0].data
        assert await stage.telegram.press(CHIEF, offer.id) == "Taken up."
        answer = await stage.telegram.shown(CHIEF.id, "Again.")
        assert answer.reply_to == said
        assert stage.model.requests[-1].last_user_text == "there?"
        await stage.telegram.wait_for(lambda _sim: "Taken up" in offers(stage)[0].text and not offers(stage)[0].labels)
        late = await stage.telegram.answer(await stage.telegram.tap(CHIEF, offer.id, data=data))
        assert late.text == "This button does nothing any more."
        assert len(stage.model.requests) == 2


async def test_an_edit_that_changes_no_word_is_nothing(tmp_path: Path) -> None:
    """Telegram also reports what a bot cannot see."""
    async with open_stage(tmp_path, [say("Here.")]) as stage:
        said = await stage.telegram.say(CHIEF, None, "there?")
        await stage.telegram.shown(CHIEF.id, "Here.")
        await stage.telegram.edit(CHIEF, None, said, "there?")
        await heard(stage)
        assert offers(stage) == []


async def test_a_command_that_is_edited_in_does_nothing(tmp_path: Path) -> None:
    """Neither what it says now nor what it said before is done."""
    async with open_stage(tmp_path, [HANG]) as stage:
        said = await stage.telegram.say(CHIEF, None, "think")
        await stage.model.wait_for(lambda model: model.hanging == 1)
        await stage.telegram.edit(CHIEF, None, said, "/stop")
        await heard(stage)
        assert stage.model.hanging == 1
        assert offers(stage) == []
        await stage.telegram.say(CHIEF, None, "/stop")
        await stage.telegram.shown(CHIEF.id, "⏹ Stopped")


async def test_a_second_edit_changes_the_open_offer(tmp_path: Path) -> None:
    """One offer for a message, which holds what the message says when it is pressed."""
    async with open_stage(tmp_path, [say("Here."), say("Again.")]) as stage:
        said = await stage.telegram.say(CHIEF, None, "one")
        await stage.telegram.shown(CHIEF.id, "Here.")
        for text in ("two", "three"):
            await stage.telegram.edit(CHIEF, None, said, text)
        await stage.telegram.shown(CHIEF.id, OFFER)
        await heard(stage)
        assert len(offers(stage)) == 1
        await stage.telegram.press(CHIEF, "Use it", CHIEF.id)
        await stage.telegram.shown(CHIEF.id, "Again.")
        assert stage.model.requests[-1].last_user_text == "three"
        await stage.telegram.edit(CHIEF, None, said, "four")
        await stage.telegram.wait_for(lambda _sim: len(offers(stage)) == 2)


async def test_what_becomes_of_the_earlier_text_is_said(tmp_path: Path) -> None:
    """Being worked on, or waiting in front of the new one; both run, in order."""
    steps: list[Step] = [HANG, say("First."), say("Second."), say("Second again.")]
    async with open_stage(tmp_path, steps) as stage:
        first = await stage.telegram.say(CHIEF, None, "first")
        await stage.model.wait_for(lambda model: model.hanging == 1)
        await stage.telegram.edit(CHIEF, None, first, "first, better")
        worked_on = await stage.telegram.shown(CHIEF.id, OFFER)
        assert worked_on.text.splitlines()[1] == "I am working on the earlier text; /stop ends that."
        second = await stage.telegram.say(CHIEF, None, "second")
        await stage.telegram.edit(CHIEF, None, second, "second, better")
        waiting = await stage.telegram.shown(CHIEF.id, OFFER, after=worked_on.id)
        assert waiting.text.splitlines()[1] == "The earlier text is still waiting and comes first; /stop drops it."
        note = await stage.telegram.press(CHIEF, waiting.id)
        assert note == "Taken up. The earlier text is still waiting and comes first; /stop drops it."
        stage.model.release()
        await stage.telegram.shown(CHIEF.id, "Second again.")
        assert [request.last_user_text for request in stage.model.requests[-2:]] == ["second", "second, better"]


async def test_only_the_author_may_use_it(tmp_path: Path) -> None:
    """Another listed person of the group may not speak in somebody's name."""
    async with open_stage(tmp_path, [say("Here."), say("Never.")]) as stage:
        name = stage.telegram.bot().account.person.username
        said = await stage.telegram.say(CHIEF, GROUP, f"@{name} one")
        await stage.telegram.shown(GROUP, "Here.")
        await stage.telegram.edit(CHIEF, GROUP, said, f"@{name} two")
        offer = await stage.telegram.shown(GROUP, OFFER)
        assert await stage.telegram.press(DEPLOY, offer.id, GROUP) == (
            "Only the person who wrote that message can have it used."
        )
        assert len(stage.model.requests) == 1
        assert offers(stage, GROUP)[0].labels == ("Use it",)


async def test_edits_of_others_are_not_heard(tmp_path: Path) -> None:
    """A stranger's edit, or one that is not meant for the bot, brings nothing."""
    async with open_stage(tmp_path, [say("Here.")]) as stage:
        for who, text in ((STRANGER, "do it"), (CHIEF, "between us")):
            said = await stage.telegram.say(who, GROUP, "hm", origin=Origin())
            await stage.telegram.edit(who, GROUP, said, text)
        await heard(stage)
        assert stage.bot_texts(GROUP) == []


async def test_an_offer_outlives_a_restart(tmp_path: Path) -> None:
    """Its button works with the next process, once."""
    async with open_stage(tmp_path, [say("Here."), call("exec", {"command": "echo x > x"})]) as stage:
        said = await stage.telegram.say(CHIEF, None, "one")
        await stage.telegram.shown(CHIEF.id, "Here.")
        await stage.telegram.edit(CHIEF, None, said, "two")
        offer = await stage.telegram.shown(CHIEF.id, OFFER)
        await stage.restart()
        assert await stage.telegram.press(CHIEF, offer.id) == "Taken up."
        await stage.telegram.shown(CHIEF.id, "Run this on")
        assert stage.model.requests[-1].last_user_text == "two"
        assert not (stage.workspace / "x").exists()


async def test_an_offer_without_room_in_its_lane_can_be_used_later(tmp_path: Path) -> None:
    """A full queue uses nothing up."""
    async with open_stage(tmp_path, [HANG, say("Again.")]) as stage:
        said = await stage.telegram.say(CHIEF, None, "think")
        await stage.model.wait_for(lambda model: model.hanging == 1)
        for number in range(9):
            await stage.telegram.say(CHIEF, None, f"more {number}")
        await stage.telegram.shown(CHIEF.id, "this one was dropped")
        await stage.telegram.edit(CHIEF, None, said, "think again")
        offer = await stage.telegram.shown(CHIEF.id, OFFER)
        assert await stage.telegram.press(CHIEF, offer.id) == "I am still working on earlier messages; try again."
        await stage.telegram.say(CHIEF, None, "/stop")
        await stage.telegram.shown(CHIEF.id, "8 waiting messages dropped.")
        assert await stage.telegram.press(CHIEF, offer.id) == "Taken up."
        await stage.telegram.shown(CHIEF.id, "Again.")
        assert stage.model.requests[-1].last_user_text == "think again"


async def test_a_button_of_an_offer_belongs_to_its_chat(tmp_path: Path) -> None:
    """Pressed from elsewhere, or with a token that nobody gave out, it does nothing."""
    async with open_stage(tmp_path, [say("Here."), say("Never.")]) as stage:
        said = await stage.telegram.say(CHIEF, None, "one")
        await stage.telegram.shown(CHIEF.id, "Here.")
        await stage.telegram.edit(CHIEF, None, said, "two")
        offer = await stage.telegram.shown(CHIEF.id, OFFER)
        await stage.telegram.say(CHIEF, GROUP, "/whoami")
        other = await stage.telegram.shown(GROUP, "You are Chief")
        data = offer.buttons[0][0].data
        for query in (
            await stage.telegram.tap(CHIEF, other.id, GROUP, data=data),
            await stage.telegram.tap(CHIEF, offer.id, data="use.nobody"),
        ):
            assert (await stage.telegram.answer(query)).text == "This button does nothing any more."
        assert len(stage.model.requests) == 1
