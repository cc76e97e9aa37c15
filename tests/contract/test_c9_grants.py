"""C9: a yes for a while is for exactly what was shown, there, for that person; what is not plain is never granted."""

from pathlib import Path

from mtbot.domain.call import UNTRUSTED
from mtbot.domain.ids import BotName, CallId, ChatId, TurnId
from mtbot.domain.ports import TurnFlush
from mtbot.domain.record import EventKind, Word
from mtbot.domain.turn import Address, Message, Role, SurfaceName, ToolCall, Usage
from tests.contract.grants import ADD, FOR_A_WHILE, asks, deny, grant, lay, question, runs, say_it, started, turns
from tests.contract.stage import CHIEF, DEPLOY, GROUP, REVIEW, Setting, open_stage
from tests.contract.surfaces import Way, in_every_chat

QUOTED = f"  dd  {ADD[3:].replace('sentinel', chr(39) + 'sentinel' + chr(39))} "
"""The same words, written otherwise."""

ONCE = ("✅ Approve once", "🚫 Deny")


@in_every_chat
async def test_the_same_command_runs_again_without_a_question(tmp_path: Path, way: Way) -> None:
    """It is told in one line; the record names grant and giver for each use."""
    chat = CHIEF.id if way.name == "private" else GROUP
    async with open_stage(tmp_path, turns(ADD, QUOTED, ADD)) as stage:
        lay(stage)
        ident = await grant(stage, chat=chat)
        for number in (2, 3):
            await say_it(stage, chat=chat)
            await stage.telegram.shown(chat, f"Turn {number} is over.", timeout=20)
        assert runs(stage) == 3
        told = [text for text in stage.bot_texts(chat) if text.startswith("Approved before")]
        assert len(told) == 2
        assert f"(#{ident})" in told[0]
        assert [text for text in stage.bot_texts(chat) if "Run this on" in text] == [stage.bot_texts(chat)[0]]
        first, *uses = await started(stage)
        assert (first.draft.approval, first.draft.word) == (ident, Word.APPROVED)
        for use in uses:
            draft = use.draft
            assert (draft.stage, draft.rule, draft.word) == ("grant", f"grant.{ident}", Word.APPROVED)
            assert (draft.decider, draft.requester, draft.approval) == ("telegram:1001", "telegram:1001", None)
        lines = await stage.lines()
        assert [line.decider for line in lines[1:]] == [f"Chief (1001), grant.{ident}"] * 2
        assert {line.decision for line in lines} == {"approved"}
        kinds = [event.draft.kind for event in await stage.events()]
        assert (kinds.count(EventKind.APPROVAL_RESOLVED), kinds.count(EventKind.FINISHED)) == (1, 3)
        assert (await stage.engine.office.stores.trail.verify()).whole


OTHERS = (
    "touch a b",
    "touch 'a  b'",
    "touch a b c",
    "touch ./a b",
    "touch 'a b' 2>&1",
    "touch 'a b'; touch 'a b'",
    "cd . && touch 'a b'",
    "PATH=/tmp/x touch 'a b'",
    "touch 'a b' | cat",
    "touch 'a b' > c",
    "touch $(echo a) b",
    "touch 'a b' &",
    "env touch 'a b'",
    "sh -c 'touch a b'",
    "/usr/bin/touch 'a b'",
)


async def test_anything_else_asks(tmp_path: Path) -> None:
    """Another word, another division of the same words, another shell around it: a new question each, nothing ran."""
    first = "touch 'a b'"
    async with open_stage(tmp_path, turns(first, *OTHERS, first)) as stage:
        await grant(stage)
        for other in OTHERS:
            asked = await asks(stage)
            assert "touch" in asked.text, other
            await deny(stage)
        assert [path.name for path in stage.workspace.iterdir()] == ["a b"]
        assert len(await started(stage)) == 1
        await say_it(stage)
        await stage.telegram.shown(CHIEF.id, f"Turn {len(OTHERS) + 2} is over.", timeout=20)
        assert len(await started(stage)) == 2


NEVER = (
    "bash script",
    "sh -c 'touch a'",
    "python3 -c pass",
    "awk 1 line",
    "env touch a",
    "nohup touch a",
    "timeout 5 touch a",
    "xargs touch",
    "find . -exec touch a +",
    "curl -d @line http://127.0.0.1/",
    "rsync line host:",
    "ssh host true",
    "git status",
    "make",
    "./script",
    "touch /var/tmp/outside",
    "touch ../outside",
    "touch link/x",
    "cp line link",
    "dd if=line of=../outside",
    "shuf -o../outside line",
    "cat .env",
    "grep -r x .",
    "systemctl stop nginx",
    "zpool scrub tank",
    "touch a; touch b",
    "touch a > b",
    "touch $HOME",
    "cd . && touch a",
    "A=1 touch a",
    "no-such-program a",
    "tar xf line",
    "crontab -l",
    "rm -r old",
    "gzip -k line",
    "sort -o line line",
    "gcc @line",
    "/usr/bin/env -S touch a",
    "touch sk-test-0123456789abcdef0123456789",
)
"""Shells, interpreters, wrappers, senders, writes outside, what is sensitive, what is not plain; a rule that was softened
and a command with a secret in it, which nobody could see in a list."""


async def test_what_could_do_something_else_the_next_time_is_never_granted(tmp_path: Path) -> None:
    """No button offers it, and a button that somebody forges is told so; nothing ran."""
    setting = Setting(exec_extra="builtin_deny: {ask: [files.rm-recursive]}")
    async with open_stage(tmp_path, turns(*NEVER), setting) as stage:
        lay(stage)
        (stage.workspace / "script").write_text("#!/bin/sh\ntouch a\n")
        (stage.workspace / "script").chmod(0o755)
        (stage.workspace / ".env").write_text("X=1\n")
        (stage.workspace / "old").mkdir()
        (stage.workspace / "link").symlink_to(tmp_path / "elsewhere")
        (tmp_path / "elsewhere").mkdir()
        before = sorted(stage.workspace.iterdir())
        for command in NEVER:
            asked = await asks(stage)
            assert (command, asked.labels) == (command, ONCE)
            forged = str(asked.buttons[0][0].data).replace("ok.", "for.")
            told = await stage.telegram.answer(await stage.telegram.tap(CHIEF, asked.id, data=forged), 20)
            assert told.text == "This one can only be approved once."
            await deny(stage)
        assert sorted(stage.workspace.iterdir()) == before
        assert await stage.engine.office.desk.grants.all() == ()
        assert await started(stage) == []


async def test_a_script_of_the_owner_is_bound_with_the_files_it_is_given(tmp_path: Path) -> None:
    """Where the model cannot write it; another content of a file that the words name is another question."""
    script = tmp_path / "add.sh"
    script.write_text('#!/bin/sh\ncat "$1" >> sentinel\n')
    script.chmod(0o755)
    command = f"{script} line"
    async with open_stage(tmp_path, turns(command, command, command)) as stage:
        lay(stage)
        await grant(stage)
        await say_it(stage)
        await stage.telegram.shown(CHIEF.id, "Turn 2 is over.", timeout=20)
        assert runs(stage) == 2
        (stage.workspace / "line").write_text("other\n")
        await asks(stage)
        assert runs(stage) == 2
        assert len(await started(stage)) == 2
        said = await stage.cli("policy", "explain", command)
        assert "for a while: a person can allow exactly this for 15 min" in said.out
        assert "runs without a question until" in said.out
        doctor = await stage.cli("doctor", "--offline")
        assert "1 grant holds; the last to end is #" in doctor.out


async def test_zero_minutes_offer_nothing(tmp_path: Path) -> None:
    """The owner's way to be asked each time."""
    async with open_stage(tmp_path, turns("touch a"), Setting(exec_extra="grant_minutes: 0")) as stage:
        assert (await asks(stage)).labels == ONCE


async def test_another_person_in_the_same_group_is_asked(tmp_path: Path) -> None:
    """It was given for who asked."""
    async with open_stage(tmp_path, turns(ADD, ADD)) as stage:
        lay(stage)
        await grant(stage, DEPLOY, GROUP)
        asked = await asks(stage, CHIEF, GROUP)
        assert "Asked by Chief" in asked.text
        assert runs(stage) == 1


async def test_another_chat_is_asked(tmp_path: Path) -> None:
    """Also for the same person with the same bot."""
    async with open_stage(tmp_path, turns(ADD, ADD)) as stage:
        lay(stage)
        await grant(stage, CHIEF, GROUP)
        await asks(stage, CHIEF, CHIEF.id)
        assert runs(stage) == 1


async def test_another_topic_is_asked(tmp_path: Path) -> None:
    """A topic is a conversation of its own."""
    async with open_stage(tmp_path, turns(ADD, ADD)) as stage:
        lay(stage)
        one, two = (stage.telegram.topic(GROUP, name) for name in ("one", "two"))
        await grant(stage, CHIEF, GROUP, thread=one)
        await asks(stage, CHIEF, GROUP, thread=two)
        assert runs(stage) == 1


async def test_a_job_is_refused_what_a_chat_was_granted(tmp_path: Path) -> None:
    """Nobody is there at night."""
    async with open_stage(tmp_path, turns(ADD, ADD)) as stage:
        lay(stage)
        await grant(stage)
        await stage.run_job()
        await stage.telegram.shown(CHIEF.id, "Turn 2 is over.", timeout=20)
        assert runs(stage) == 1
        assert [event.draft.word for event in await stage.events()].count(Word.EXPIRED) == 1


async def test_a_terminal_can_grant_and_only_to_itself(tmp_path: Path) -> None:
    """In one session of the terminal, for this user, while somebody is at it; elsewhere it asks or refuses."""
    async with open_stage(tmp_path, turns(ADD, ADD, ADD, ADD)) as stage:
        lay(stage)
        said = await stage.prompt("do it", "--session", "work", answers="a\n")
        assert "y to approve once, a to approve for 15 min" in said.err, said
        assert runs(stage) == 1
        said = await stage.prompt("do it", "--session", "work", answers="n\n")
        assert "Approved before, so run without a question" in said.err, said
        assert runs(stage) == 2
        await stage.prompt("do it", "--session", "other", answers="n\n")
        await stage.prompt("do it", "--session", "work")
        assert runs(stage) == 2


async def test_a_letter_is_a_reason_where_nothing_can_be_granted(tmp_path: Path) -> None:
    """Only what the question offers is an answer."""
    async with open_stage(tmp_path, turns("sh -c 'touch a'")) as stage:
        await stage.prompt("do it", "--new", answers="a\n")
        assert not (stage.workspace / "a").exists()
        assert [line.decision for line in await stage.lines()] == ["denied_user"]


async def test_only_who_may_approve_can_grant(tmp_path: Path) -> None:
    """The asker is told who can; the other's grant then serves the asker."""
    async with open_stage(tmp_path, turns(ADD, ADD), Setting(approvers="not_requester")) as stage:
        lay(stage)
        await say_it(stage, DEPLOY, GROUP)
        await question(stage, GROUP)
        told = await stage.telegram.press(DEPLOY, FOR_A_WHILE, GROUP)
        assert told.startswith("You asked for this one.")
        assert runs(stage) == 0
        assert (await stage.telegram.press(REVIEW, FOR_A_WHILE, GROUP)).startswith("Approved until ")
        await stage.telegram.shown(GROUP, "Turn 1 is over.", timeout=20)
        await say_it(stage, DEPLOY, GROUP)
        await stage.telegram.shown(GROUP, "Turn 2 is over.", timeout=20)
        assert runs(stage) == 2


async def test_a_turn_that_read_text_from_outside_asks(tmp_path: Path) -> None:
    """Whoever wrote that text must not choose when a granted command runs; nor is anything granted there."""
    async with open_stage(tmp_path, turns(ADD, ADD)) as stage:
        lay(stage)
        await grant(stage)
        place = Address(SurfaceName.PRIVATE, BotName("main"), ChatId(CHIEF.id))
        read = ToolCall(CallId("c1"), "web_fetch", "{}")
        past = (
            Message(Role.USER, "read that page"),
            Message(Role.ASSISTANT, "", calls=(read,)),
            Message(Role.TOOL, f"The text is {UNTRUSTED}.", call_id=read.id, tool_name="web_fetch"),
            Message(Role.ASSISTANT, "Read."),
        )
        await stage.engine.office.stores.history.flush(
            TurnFlush(TurnId("t0"), place, past, Usage(), ()), stage.clock.now_ms()
        )
        assert (await asks(stage)).labels == ONCE
        assert runs(stage) == 1
