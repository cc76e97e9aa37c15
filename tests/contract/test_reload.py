"""``mtclaw reload``: a configuration counts from the next call on, whole, or not at all."""

from pathlib import Path

import pytest

from mtbot.bootstrap.reload import Reloader
from mtbot.domain.errors import StorageError
from mtbot.simulator.script import call, say
from mtbot.storage.chats import ChatStore
from tests.contract.stage import CHIEF, DEPLOY, GROUP, Said, Setting, Stage, open_stage
from tests.contract.test_places import NEW, OLD, basic_group, opened

TOUCH = "touch made"


def rewrite(stage: Stage, *changes: tuple[str, str]) -> None:
    """Change texts of the configuration file."""
    text = stage.config.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    stage.config.write_text(text)


async def test_rules_count_from_the_next_call_on(tmp_path: Path) -> None:
    """What asked runs by rule; taken away again, it asks again."""
    steps = [
        *(call("exec", {"command": TOUCH}), say("First.")),
        *(call("exec", {"command": TOUCH}), say("Second.")),
        *(call("exec", {"command": TOUCH}), say("Third.")),
    ]
    async with open_stage(tmp_path, steps, start=False) as stage, stage.gateway_process():
        await stage.telegram.say(CHIEF, None, "one")
        await stage.telegram.shown(CHIEF.id, "Run this on", timeout=20)
        # the question that is open is not answered by a rule that came later
        rewrite(stage, ("allow: []", "allow: [{argv: [touch, '*'], why: a test}]"))
        assert await stage.cli("reload") == Said(0, "reloaded: tools.exec\n", "")
        assert not (stage.workspace / "made").exists()
        await stage.telegram.press(CHIEF, "🚫 Deny", CHIEF.id, timeout=20)
        await stage.telegram.shown(CHIEF.id, "First.", timeout=20)
        assert not (stage.workspace / "made").exists()
        await stage.telegram.say(CHIEF, None, "two")
        await stage.telegram.shown(CHIEF.id, "Second.", timeout=20)
        assert (stage.workspace / "made").exists()
        (stage.workspace / "made").unlink()
        rewrite(stage, ("allow: [{argv: [touch, '*'], why: a test}]", "allow: []\n    deny: ['touch']"))
        assert (await stage.cli("reload")).status == 0
        await stage.telegram.say(CHIEF, None, "three")
        await stage.telegram.shown(CHIEF.id, "Not run: touch made", timeout=20)
        assert not (stage.workspace / "made").exists()


async def test_a_yes_to_what_is_refused_by_now_is_void(tmp_path: Path) -> None:
    """The question is judged again by the rules of the moment in which it is answered."""
    steps = [call("exec", {"command": TOUCH}), say("Over.")]
    async with open_stage(tmp_path, steps, start=False) as stage, stage.gateway_process():
        await stage.telegram.say(CHIEF, None, "one")
        await stage.telegram.shown(CHIEF.id, "Run this on", timeout=20)
        rewrite(stage, ("allow: []", "allow: []\n    deny: ['touch']"))
        assert (await stage.cli("reload")).status == 0
        await stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id, timeout=20)
        await stage.telegram.shown(CHIEF.id, "Over.", timeout=20)
        assert not (stage.workspace / "made").exists()
        assert "refused" in stage.model.requests[-1].last_tool_result.lower()


async def test_people_count_from_the_next_message_on(tmp_path: Path) -> None:
    """Who was taken off the list is not heard any more."""
    async with open_stage(tmp_path, [say("Hello."), say("Hello again.")], start=False) as stage:
        stage.telegram.open(DEPLOY)
        async with stage.gateway_process():
            await stage.telegram.say(DEPLOY, None, "hi")
            await stage.telegram.shown(DEPLOY.id, "Hello.", timeout=20)
            rewrite(stage, ("allow_from: [chief, deploy, review]", "allow_from: [chief]"))
            assert await stage.cli("reload") == Said(0, "reloaded: channels.telegram\n", "")
            await stage.telegram.say(DEPLOY, None, "hi again")
            await stage.telegram.say(CHIEF, None, "and me?")
            await stage.telegram.shown(CHIEF.id, "Hello again.", timeout=20)
            assert stage.bot_texts(DEPLOY.id) == ["Hello."]


async def test_a_turn_that_is_under_way_does_nothing_more_for_who_was_removed(tmp_path: Path) -> None:
    """Not even what a rule allows to everybody."""
    steps = [call("exec", {"command": TOUCH}), call("exec", {"command": "pwd"}), say("End.")]
    setting = Setting(allow='["pwd"]')
    async with open_stage(tmp_path, steps, setting, start=False) as stage, stage.gateway_process():
        await stage.telegram.say(DEPLOY, GROUP, f"@{stage.telegram.bot().account.person.username} go")
        await stage.telegram.shown(GROUP, "Run this on", timeout=20)
        rewrite(stage, ("allow_from: [chief, deploy, review]", "allow_from: [chief, review]"))
        assert await stage.cli("reload") == Said(0, "reloaded: channels.telegram\n", "")
        await stage.telegram.press(CHIEF, "🚫 Deny", GROUP, timeout=20)
        await stage.telegram.shown(GROUP, "End.", timeout=20)
        assert stage.model.requests[-1].last_tool_result.startswith("Not run: the person who asked for this is not on")
        assert "pwd" not in (await stage.cli("approvals", "list")).out


async def test_what_is_wrong_changes_nothing(tmp_path: Path) -> None:
    """Every fault is named, the exit status is 1, and the old configuration goes on."""
    steps = [call("exec", {"command": TOUCH}), say("Done.")]
    setting = Setting(allow="[{argv: [touch, '*'], why: a test}]")
    async with open_stage(tmp_path, steps, setting, start=False) as stage, stage.gateway_process():
        good = stage.config.read_text()
        rewrite(stage, ("mode: approval", "mode: sometimes"), ("owner: chief", "owner: nobody"))
        said = await stage.cli("reload")
        assert (said.status, said.out) == (1, "")
        assert ("tools.exec.mode" in said.err, "owner" in said.err) == (True, True)
        assert said.err.endswith("nothing was changed; a gateway that runs keeps what it has\n")
        # right by itself, and not together with what only a start reads
        stage.config.write_text(
            good.replace("openai: {", "providers: {other: {")
            .replace("max_retries: 1}", "max_retries: 1}}")
            .replace("model: test-model", "model: other/new-model")
        )
        said = await stage.cli("reload")
        assert said.err == (
            "mtclaw: agent: the model other/new-model needs the changed providers, which only a start reads\n"
            "        nothing was changed; restart the gateway to use it\n"
        )
        stage.config.write_text(
            good.replace("allow_from: [chief, ", "allow_from: [").replace("chat_id: chief", "chat_id: review")
        )
        said = await stage.cli("reload")
        assert "cron.jobs: nightly would go on sending to a chat that is no longer allowed" in said.err
        stage.config.write_text(good)
        await stage.telegram.say(CHIEF, None, "one")
        await stage.telegram.shown(CHIEF.id, "Done.", timeout=20)
        assert (stage.workspace / "made").exists()


async def test_what_waits_for_a_restart_is_named(tmp_path: Path) -> None:
    """Beside what counts at once."""
    async with open_stage(tmp_path, start=False) as stage, stage.gateway_process():
        rewrite(
            stage,
            ("max_retries: 1", "max_retries: 2"),
            ('schedule: "0 7 * * *"', 'schedule: "0 8 * * *"'),
            ("log: {level: error,", "log: {level: info,"),
            ("mode: approval", "mode: off"),
            ("timezone: UTC", "timezone: Europe/Berlin"),
        )
        (stage.directory / "secrets" / "telegram").write_text("1:" + "b" * 35)
        said = await stage.cli("reload")
        assert said.out.splitlines() == [
            "reloaded: tools.exec",
            "needs a restart of the gateway: providers, log, cron, cron.timezone, channels.telegram.bots.main.token",
        ]
        assert "b" * 35 not in said.out + said.err
        again = await stage.cli("reload")
        assert again.out.splitlines()[0] == "reloaded: nothing changed"


async def test_without_a_gateway_it_is_only_checked(tmp_path: Path) -> None:
    """It counts at the next start."""
    async with open_stage(tmp_path, start=False) as stage:
        said = await stage.cli("reload")
        assert said == Said(0, "no gateway runs; the configuration can be used, and counts at the next start\n", "")


async def test_a_group_that_moved_is_followed(tmp_path: Path) -> None:
    """The owner writes its new id down, as they were asked to: the same conversation goes on."""
    async with open_stage(tmp_path, [say("First."), say("Second.")], start=False) as stage:
        await opened(stage, OLD)
        await stage.telegram.say(CHIEF, OLD, "one")
        await stage.telegram.shown(OLD, "First.")
        stage.telegram.migrate(OLD, NEW)
        await stage.telegram.shown(CHIEF.id, f"please write {NEW} in place of {OLD}")
        stage.write_config()
        basic_group(stage, NEW)
        assert (await Reloader(stage.engine).reload())["changed"] == ["channels.telegram"]
        await stage.telegram.say(CHIEF, NEW, "two")
        await stage.telegram.shown(NEW, "Second.")
        said = [m["content"] for m in stage.model.requests[-1].messages if m["role"] == "user"]
        assert said == ["one", "two"]


async def test_a_secret_that_waits_for_a_restart_is_masked_at_once(tmp_path: Path) -> None:
    """It lies in its file already, and whatever prints it must not show it."""
    fresh = "correct-horse-battery"
    async with open_stage(tmp_path, [say(f"It is {fresh}.")]) as stage:
        (stage.directory / "secrets" / "model").write_text(fresh)
        told = await Reloader(stage.engine).reload()
        assert "providers" in str(told["needs_restart"])
        await stage.telegram.say(CHIEF, None, "what is the key?")
        shown = await stage.telegram.shown(CHIEF.id, "It is ")
        assert fresh not in shown.text


async def test_a_database_that_cannot_be_read_leaves_the_gateway_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is swapped, and what the gateway works on stays open."""

    async def refuse(_store: ChatStore) -> dict[object, object]:
        raise StorageError("the database is busy")

    async with open_stage(tmp_path, [say("Still here.")]) as stage:
        before = stage.engine.loaded
        with monkeypatch.context() as patched:
            patched.setattr(ChatStore, "moves", refuse)
            with pytest.raises(StorageError):
                await Reloader(stage.engine).reload()
        assert stage.engine.loaded is before
        await stage.telegram.say(CHIEF, None, "are you there?")
        await stage.telegram.shown(CHIEF.id, "Still here.", timeout=20)
