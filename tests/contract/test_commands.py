"""The commands in the menus of a chat, and those about conversations."""

import asyncio
import sys
from pathlib import Path

import pytest

from mtbot.agent.loop import Mind
from mtbot.bootstrap.profiles import Profiles
from mtbot.domain.errors import ConfigError
from mtbot.domain.ids import BotName
from mtbot.domain.turn import Address
from mtbot.simulator.script import HANG, say
from mtbot.simulator.values import Attachment, AttachmentKind
from tests.contract.stage import CHIEF, DEPLOY, GROUP, open_stage


async def test_each_menu_offers_what_can_be_used_there(tmp_path: Path) -> None:
    """Private chats, groups and the owner's own chat; /help says the same as the menu."""
    async with open_stage(tmp_path) as stage:
        # the bot polls before it has told Telegram all of its menus
        await stage.telegram.wait_for(lambda sim: len(sim.bot().menus) == 3)
        menus = {scope: dict(menu) for scope, menu in stage.telegram.bot().menus.items()}
        assert set(menus) == {"all_private_chats", "all_group_chats", f"chat:{CHIEF.id}"}
        owner, private, groups = menus[f"chat:{CHIEF.id}"], menus["all_private_chats"], menus["all_group_chats"]
        assert set(owner) - set(private) == {"sessions"}
        assert set(private) - set(groups) == {"start"}
        assert {"stop", "new", "status", "pending", "cancel", "model", "whoami", "help"} <= set(groups)
        for who, menu in ((CHIEF, owner), (DEPLOY, private)):
            await stage.telegram.say(who, None, "/help")
            shown = await stage.telegram.shown(who.id, "/whoami")
            listed = [line.removeprefix("/").partition(" ")[0] for line in shown.text.splitlines() if line[:1] == "/"]
            assert listed == list(menu)


async def test_which_model_answers(tmp_path: Path) -> None:
    """And where on the host that is written."""
    async with open_stage(tmp_path) as stage:
        await stage.telegram.say(CHIEF, GROUP, "/model")
        shown = await stage.telegram.shown(GROUP, "Model: test-model")
        assert "agent.model in the configuration" in shown.text


async def test_the_owner_alone_sees_the_conversations(tmp_path: Path) -> None:
    """Names and numbers, the latest first."""
    async with open_stage(tmp_path, [say("One."), say("Two.")]) as stage:
        await stage.telegram.say(DEPLOY, None, "one")
        await stage.telegram.shown(DEPLOY.id, "One.")
        await stage.telegram.say(CHIEF, GROUP, f"@{stage.telegram.bot().account.person.username} two")
        await stage.telegram.shown(GROUP, "Two.")
        await stage.telegram.say(DEPLOY, None, "/sessions")
        await stage.telegram.shown(DEPLOY.id, "Only the owner of this bot can see its conversations.")
        await stage.telegram.say(CHIEF, None, "/sessions")
        shown = await stage.telegram.shown(CHIEF.id, "messages")
        lines = shown.text.splitlines()
        assert [line.partition(":")[0] for line in lines] == [f"group {GROUP}", "Deploy"]
        assert lines[1].startswith("Deploy: 2 messages, ")


async def test_cancel_drops_what_waits_and_leaves_what_runs(tmp_path: Path) -> None:
    """Also after a restart: what was dropped does not come back."""
    async with open_stage(tmp_path, [HANG, say("First.")]) as stage:
        await stage.telegram.say(CHIEF, None, "/cancel")
        await stage.telegram.shown(CHIEF.id, "No message is waiting here; /stop ends what runs.")
        await stage.telegram.say(CHIEF, None, "first")
        await stage.model.wait_for(lambda model: model.hanging == 1)
        photos = [Attachment(bytes([number]) * 9, kind=AttachmentKind.PHOTO, mime="image/jpeg") for number in range(2)]
        await stage.telegram.album(CHIEF, None, photos, "second")
        await stage.telegram.say(CHIEF, None, "third")
        await stage.telegram.say(CHIEF, None, "/cancel")
        await stage.telegram.shown(CHIEF.id, "2 waiting messages dropped. What runs goes on; /stop ends it.")
        stage.model.release()
        await stage.telegram.shown(CHIEF.id, "First.")
        assert await stage.engine.office.stores.inbox.waiting(BotName("main")) == ()
        await stage.restart()
        await stage.telegram.say(CHIEF, None, "/whoami")
        await stage.telegram.shown(CHIEF.id, "You are Chief")
        assert {request.last_user_text for request in stage.model.requests} == {"first"}


async def test_an_unknown_command_is_for_the_model(tmp_path: Path) -> None:
    """It is said as it was written; one for another bot is for nobody here."""
    async with open_stage(tmp_path, [say("I know no dance.")]) as stage:
        await stage.telegram.say(CHIEF, None, "/dance@another_bot wildly")
        await stage.telegram.say(CHIEF, None, "/dance wildly")
        await stage.telegram.shown(CHIEF.id, "I know no dance.")
        assert [request.last_user_text for request in stage.model.requests] == ["/dance wildly"]


async def test_what_the_first_turn_needs_is_ready_before_anybody_speaks(tmp_path: Path) -> None:
    """The client of the model, the parser of Markdown, the validators of a message; none of it holds up a poll.

    What only a command needs waits for the first one.
    """
    script = (
        "import sys, asyncio; from pathlib import Path; from tests.contract.stage import open_stage\n"
        "async def go():\n"
        f"    async with open_stage(Path({str(tmp_path)!r})) as stage:\n"
        "        from aiogram.methods import SendMessage\n"
        "        clients = stage.engine.machinery.providers._open\n"
        "        while not (clients and SendMessage.__pydantic_complete__):\n"
        "            await asyncio.sleep(0)\n"
        "        print(*(name for name, _ in clients), 'markdown_it' in sys.modules, len(stage.model.requests), stage.bot_texts())\n"
        "        print({'bashlex', 'mtbot.policy.readonly', 'sqlalchemy.dialects.postgresql'} & set(sys.modules))\n"
        "asyncio.run(go())\n"
    )
    ran = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE)
    output, _ = await asyncio.wait_for(ran.communicate(), 60)
    assert output.decode().splitlines()[-2:] == ["openai True 0 []", "set()"]


async def test_a_bot_that_cannot_be_made_ready_serves_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is tried again with the first turn, which says what is wrong."""
    with monkeypatch.context() as patch:
        patch.setattr(Profiles, "mind", _no_key)
        async with open_stage(tmp_path) as stage:
            await stage.telegram.wait_for(lambda sim: len(sim.bot().menus) == 3)
            await stage.telegram.say(CHIEF, None, "/whoami")
            await stage.telegram.shown(CHIEF.id, str(CHIEF.id))


def _no_key(profiles: Profiles, address: Address) -> Mind:
    raise ConfigError(("openai.api_key_env: it is not set",))
