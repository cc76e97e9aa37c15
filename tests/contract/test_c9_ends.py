"""C9: a grant ends: by its clock, by whoever takes it back, with the right of who gave it, with /stop and /new."""

import asyncio
import json
from pathlib import Path

from mtbot.domain.ids import ApprovalId
from mtbot.domain.record import EventKind, Word
from tests.contract.grants import ADD, FOR_A_WHILE, asks, grant, lay, question, runs, say_it, started, turns
from tests.contract.stage import CHIEF, DEPLOY, GROUP, REVIEW, STRANGER, Setting, Stage, open_stage

MINUTES_MS = 15 * 60_000


async def again(stage: Stage, over: str, chat: int = CHIEF.id) -> None:
    """Another turn there, which does not ask."""
    await say_it(stage, chat=chat)
    await stage.telegram.shown(chat, over, timeout=20)


async def revoked(stage: Stage, ident: str) -> list[tuple[str, str, str]]:
    """Who took it back on record: decider, road, rule."""
    found = []
    for event in await stage.events():
        draft = event.draft
        if draft.kind is EventKind.APPROVAL_RESOLVED and draft.stage == "grant":
            assert (draft.word, draft.approval, draft.reason) == (Word.DENIED_USER, ident, "grant revoked")
            found.append((draft.decider, draft.via.value, draft.rule))
    return found


async def test_it_lapses(tmp_path: Path) -> None:
    """Also while the machine sleeps; the last moment is not its own any more."""
    async with open_stage(tmp_path, turns(ADD, ADD)) as stage:
        lay(stage)
        await grant(stage)
        (given,) = await stage.engine.office.desk.grants.all()
        assert given.until_ms - given.given_ms == MINUTES_MS
        stage.clock.skipped_ms += MINUTES_MS
        await asks(stage)
        assert runs(stage) == 1
        assert await stage.engine.office.desk.grants.all() == ()


async def test_a_restart_keeps_it_with_its_end(tmp_path: Path) -> None:
    """It is stored with its expiry; shorter minutes in the configuration shorten it, none end it."""
    async with open_stage(tmp_path, turns(ADD, ADD, ADD)) as stage:
        lay(stage)
        await grant(stage)
        await stage.restart()
        await again(stage, "Turn 2 is over.")
        assert runs(stage) == 2
        await stage.stop()
        stage.config.write_text(
            stage.config.read_text().replace("timeout: 20s\n", "timeout: 20s\n    grant_minutes: 0\n")
        )
        await stage.start()
        assert (await asks(stage)).labels == ("✅ Approve once", "🚫 Deny")
        assert runs(stage) == 2


async def test_the_minutes_are_those_of_the_configuration_at_the_press(tmp_path: Path) -> None:
    """Switched off between question and press, the button grants nothing, and Approve once still works."""
    async with open_stage(tmp_path, turns(ADD)) as stage:
        lay(stage)
        await say_it(stage)
        await question(stage)
        await stage.stop()
        stage.config.write_text(
            stage.config.read_text().replace("timeout: 20s\n", "timeout: 20s\n    grant_minutes: 0\n")
        )
        await stage.start()
        told = await stage.telegram.press(CHIEF, FOR_A_WHILE, CHIEF.id, timeout=20)
        assert told.startswith("Approving for a while is switched off by now")
        assert runs(stage) == 0
        # what the question bound did not change with the setting
        assert await stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id, timeout=20) == "Approved."
        await stage.telegram.shown(CHIEF.id, "Turn 1 is over.", timeout=20)
        assert runs(stage) == 1


async def test_a_button_in_the_list_takes_it_back(tmp_path: Path) -> None:
    """/grants shows it with its use; the press is on record, told in the chat, and a second one is answered."""
    async with open_stage(tmp_path, turns(ADD, ADD, ADD)) as stage:
        lay(stage)
        ident = await grant(stage)
        await again(stage, "Turn 2 is over.")
        await stage.telegram.say(CHIEF, None, "/grants")
        listed = await stage.telegram.shown(CHIEF.id, "Approved for a while, so this runs here without a question:")
        assert listed.text.splitlines()[-1].startswith(f"#{ident} until ")
        assert "for Chief, by Chief, 1 run since: dd if=line" in listed.text
        assert listed.labels == (f"🚫 Revoke #{ident}",)
        assert await stage.telegram.press(CHIEF, listed.labels[0], CHIEF.id) == f"#{ident} asks again from now on."
        await stage.telegram.shown(CHIEF.id, f"🚫 Denied from now on: {ADD}")
        assert (await stage.telegram.press(CHIEF, listed.id)).startswith(f"#{ident} was revoked by Chief")
        assert await revoked(stage, ident) == [("telegram:1001", "button", f"grant.{ident}")]
        await asks(stage)
        assert runs(stage) == 2
        assert [line.decision for line in await stage.lines()][:2] == ["approved", "approved"]


async def test_a_command_takes_it_back_where_it_belongs_and_by_whom_it_may(tmp_path: Path) -> None:
    """Not from another chat, not by a stranger; nothing there is said as plainly."""
    async with open_stage(tmp_path, turns(ADD, ADD), Setting(approvers="[review]")) as stage:
        lay(stage)
        ident = await grant(stage, DEPLOY, GROUP, giver=REVIEW)
        await stage.telegram.say(CHIEF, None, "/grants")
        await stage.telegram.shown(CHIEF.id, "Nothing here runs for a while without a question.")
        await stage.telegram.say(CHIEF, None, f"/grants revoke {ident}")
        await stage.telegram.shown(CHIEF.id, f"There is no grant #{ident} here.")
        await stage.telegram.say(STRANGER, GROUP, f"/grants revoke {ident}")
        await stage.telegram.say(CHIEF, GROUP, f"/grants revoke {ident}")
        await stage.telegram.shown(GROUP, "This one is not yours to take back.")
        await stage.telegram.say(CHIEF, GROUP, "/grants forget")
        await stage.telegram.shown(GROUP, "Say /grants to see")
        assert len(await stage.engine.office.desk.grants.all()) == 1
        await stage.telegram.say(DEPLOY, GROUP, f"/grants revoke #{ident.lower()}")
        await stage.telegram.shown(GROUP, f"#{ident} asks again from now on.")
        assert await revoked(stage, ident) == [("telegram:1002", "command", f"grant.{ident}")]
        await asks(stage, DEPLOY, GROUP)
        assert runs(stage) == 1


async def test_the_host_lists_and_takes_back_with_and_without_a_gateway(tmp_path: Path) -> None:
    """The command line is another process; the row decides."""
    async with open_stage(tmp_path, turns(ADD, ADD, ADD)) as stage:
        lay(stage)
        ident = await grant(stage)
        listed = await stage.cli("grants", "list")
        assert listed.out.splitlines()[0].split() == ["ID", "UNTIL", "SESSION", "FOR", "BY", "RUNS", "COMMAND"]
        assert listed.out.splitlines()[1].startswith(ident)
        (told,) = json.loads((await stage.cli("grants", "list", "--json")).out)
        assert (told["id"], told["requester"], told["giver"], told["uses"]) == (
            ident,
            "telegram:1001",
            "telegram:1001",
            0,
        )
        assert (await stage.cli("grants", "revoke", "#ZZZZ")).err == "mtclaw: there is no grant #ZZZZ\n"
        said = await stage.cli("grants", "revoke", ident)
        assert (said.status, said.err) == (0, "")
        assert said.out == f"revoked #{ident}; the same command asks again from now on\n"
        assert f"#{ident} was revoked by" in (await stage.cli("grants", "revoke", ident)).err
        await asks(stage)
        await stage.telegram.press(CHIEF, FOR_A_WHILE, CHIEF.id)
        await stage.telegram.shown(CHIEF.id, "Turn 2 is over.", timeout=20)
        (second,) = await stage.engine.office.desk.grants.all()
        await stage.stop()
        assert (await stage.cli("grants", "revoke", second.id)).status == 0
        assert (await stage.cli("grants", "list", "--json")).out == "[]\n"
        shown = (await stage.cli("approvals", "show", ident)).out
        assert f"grant.{ident} until " in shown
        assert "grant revoked" in shown
        await stage.start()
        await asks(stage)
        assert runs(stage) == 2


async def test_it_does_not_outlive_the_listing_of_who_gave_it_or_who_asked(tmp_path: Path) -> None:
    """Checked at each use, against the people of that moment."""
    async with open_stage(tmp_path, turns(ADD, ADD)) as stage:
        lay(stage)
        await grant(stage, DEPLOY, GROUP, giver=REVIEW)
        await stage.stop()
        text = stage.config.read_text()
        stage.config.write_text(text.replace("allow_from: [chief, deploy, review]", "allow_from: [chief, deploy]"))
        await stage.start()
        await asks(stage, DEPLOY, GROUP)
        assert runs(stage) == 1
        assert (await stage.cli("grants", "list", "--json")).out == "[]\n"


async def test_a_deny_rule_wins_over_it(tmp_path: Path) -> None:
    """An owner who forbids something is obeyed at once."""
    async with open_stage(tmp_path, turns(ADD, ADD)) as stage:
        lay(stage)
        await grant(stage)
        await stage.stop()
        text = stage.config.read_text()
        stage.config.write_text(text.replace("timeout: 20s\n", "timeout: 20s\n    deny: ['^dd ']\n"))
        await stage.start()
        await again(stage, "Turn 2 is over.")
        assert "⛔ Not run: dd if=line" in "\n".join(stage.bot_texts())
        assert runs(stage) == 1


async def test_what_it_would_do_by_now_counts(tmp_path: Path) -> None:
    """A name that leads elsewhere since is another command."""
    async with open_stage(tmp_path, turns("touch made", "touch made")) as stage:
        await grant(stage)
        (stage.workspace / "made").rename(stage.workspace / "moved")
        (stage.workspace / "made").symlink_to(tmp_path / "outside")
        asked = await asks(stage)
        assert asked.labels == ("✅ Approve once", "🚫 Deny")
        assert not (tmp_path / "outside").exists()


async def test_stop_ends_the_grants_of_its_conversation(tmp_path: Path) -> None:
    """Whoever presses the emergency button wants nothing to run by itself."""
    async with open_stage(tmp_path, turns(ADD, ADD, ADD)) as stage:
        lay(stage)
        ident = await grant(stage)
        await grant(stage, CHIEF, GROUP, over="Turn 2 is over.")
        await stage.telegram.say(CHIEF, None, "/stop")
        await stage.telegram.shown(CHIEF.id, f"#{ident} asks again from now on.")
        assert await revoked(stage, ident) == [("telegram:1001", "stop", f"grant.{ident}")]
        assert [grant.address.chat for grant in await stage.engine.office.desk.grants.all()] == [GROUP]
        await asks(stage)
        assert runs(stage) == 2


async def test_new_ends_what_was_given_in_the_conversation(tmp_path: Path) -> None:
    """It is forgotten with the rest; the record keeps who ended it."""
    async with open_stage(tmp_path, turns(ADD, ADD)) as stage:
        lay(stage)
        ident = await grant(stage)
        await stage.telegram.say(CHIEF, None, "/new")
        await stage.telegram.shown(CHIEF.id, "A fresh start")
        assert await revoked(stage, ident) == [("telegram:1001", "stop", f"grant.{ident}")]
        await asks(stage)
        assert runs(stage) == 1


async def test_two_presses_and_a_repeated_one_give_one_grant(tmp_path: Path) -> None:
    """The first counts, for as long as it said."""
    async with open_stage(tmp_path, turns(ADD)) as stage:
        lay(stage)
        await say_it(stage, CHIEF, GROUP)
        asked = await question(stage, GROUP)
        data = {label: button.data for row in asked.buttons for button in row for label in [button.label]}
        queries = [
            await stage.telegram.tap(CHIEF, asked.id, GROUP, data=data["✅ Approve once"]),
            await stage.telegram.tap(DEPLOY, asked.id, GROUP, data=data[FOR_A_WHILE]),
        ]
        first = stage.telegram.bot().queue.ids[-1]
        notes = [(await stage.telegram.answer(query, 20)).text for query in queries]
        stage.telegram.redeliver(first)
        await stage.telegram.shown(GROUP, "Turn 1 is over.", timeout=20)
        assert sorted(note.partition(" by ")[0].partition(" until")[0] for note in notes) == [
            "Already approved",
            "Approved.",
        ]
        assert runs(stage) == 1
        assert await stage.engine.office.desk.grants.all() == ()
        assert len(await started(stage)) == 1


async def test_a_redelivered_press_gives_it_once(tmp_path: Path) -> None:
    """Also after a restart: its time runs from the first one."""
    async with open_stage(tmp_path, turns(ADD, ADD)) as stage:
        lay(stage)
        ident = await grant(stage)
        (given,) = await stage.engine.office.desk.grants.all()
        update = stage.telegram.bot().queue.ids[-1]
        await stage.restart()
        stage.clock.skipped_ms += 60_000
        stage.telegram.redeliver(update)
        await again(stage, "Turn 2 is over.")
        (still,) = await stage.engine.office.desk.grants.all()
        assert (still.id, still.until_ms, still.uses) == (ApprovalId(ident), given.until_ms, 1)
        assert runs(stage) == 2


async def test_a_use_that_loses_against_a_revocation_asks(tmp_path: Path) -> None:
    """Between the look and the start somebody took it back: a question, not a run and not a refusal."""
    async with open_stage(tmp_path, turns(ADD, ADD)) as stage:
        lay(stage)
        ident = await grant(stage)
        trail = stage.engine.office.stores.trail
        start, reached, go = trail.start, asyncio.Event(), asyncio.Event()

        async def late(*arguments: object) -> object:
            reached.set()
            await go.wait()
            return await start(*arguments)  # type: ignore[arg-type] # as they came

        trail.start = late  # type: ignore[method-assign,assignment] # a pause at the last moment
        await say_it(stage)
        await asyncio.wait_for(reached.wait(), 20)
        assert (await stage.cli("grants", "revoke", ident)).status == 0
        go.set()
        await question(stage)
        assert runs(stage) == 1
        assert len(await started(stage)) == 1
