"""What a person reads: the promises about words, order, sound and symbols, held over the simulator's log."""

import re
from pathlib import Path

from mtbot.simulator.script import call, say, together
from mtbot.simulator.values import CallRecord, Message
from tests.contract.stage import CHIEF, DEPLOY, GROUP, REVIEW, Setting, Stage, open_stage

FIRST_WORDS = (
    "Run this",
    "✅ Approved",
    "🚫 Denied",
    "⛔ Not run",
    "Expired",
    "⏹ Stopped",
    "Cut off",
    "Needs root",
    "Ran by rule",
)
SYMBOLS = frozenset("⏳✅🚫⛔⏹↩")
SETTING = Setting(allow="[{argv: [touch, '*']}]")
QUESTION = re.compile(
    r"Run this on [\w.-]+\?  #(?P<id>\w+)\n"
    r"(?P<command>.+)\n"
    r"in (?P<cwd>/\S+) · as \w+ · not contained, network open\n"
    r"Why I ask: .+\.\n"
    r"Asked by Chief( · .+ decides?)? · open until \d\d:\d\d \(30 min\) · reply to this message to deny with a reason"
)


def said(stage: Stage) -> list[CallRecord]:
    """Every text that left, new or as an edit."""
    return [record for record in stage.telegram.log if record.method in ("sendMessage", "editMessageText")]


async def play(stage: Stage) -> None:
    """One of each: by rule, refused, approved, denied by button, denied by reply, expired, by night, commands."""
    telegram = stage.telegram
    await telegram.say(CHIEF, None, "/start")
    await telegram.shown(CHIEF.id, "Hello Chief.")
    await telegram.say(CHIEF, None, "one")
    await telegram.shown(CHIEF.id, "One is done.", timeout=20)
    await telegram.say(CHIEF, None, "two")
    asked = await telegram.shown(CHIEF.id, "echo two", timeout=20)
    await telegram.press(CHIEF, asked.id)
    await telegram.shown(CHIEF.id, "Two is done.", timeout=20)
    await telegram.say(CHIEF, None, "three")
    asked = await telegram.shown(CHIEF.id, "echo three", timeout=20)
    await telegram.say(CHIEF, None, "keep it until Friday", reply_to=asked.id)
    await telegram.shown(CHIEF.id, "Three is left.", timeout=20)
    await telegram.say(CHIEF, None, "four")
    await telegram.shown(CHIEF.id, "echo four", timeout=20)
    stage.clock.skipped_ms += 31 * 60_000
    await stage.engine.recovery.look()
    await telegram.shown(CHIEF.id, "expired, nothing ran.", timeout=20)
    await stage.run_job()
    await telegram.shown(CHIEF.id, "By night.", timeout=20)
    for command in ("/status", "/help", "/pending", "/whoami", "/stop"):
        await telegram.say(CHIEF, None, command)
    await telegram.shown(CHIEF.id, "Nothing is running here.", timeout=30)


STEPS = (
    together(call("exec", {"command": "touch a"}), call("exec", {"command": "rm -rf b"})),
    say("One is done."),
    call("exec", {"command": "echo two > two"}),
    say("Two is done."),
    call("exec", {"command": "echo three > three"}),
    say("Three is left."),
    call("exec", {"command": "echo four > four"}),
    call("exec", {"command": "certbot renew"}),
    say("By night."),
)


async def test_a_whole_session_keeps_every_promise(tmp_path: Path) -> None:
    """One session, looked at from every side."""
    async with open_stage(tmp_path, STEPS, SETTING) as stage:
        await play(stage)
        messages = [message for message in stage.telegram.chat(CHIEF.id) if message.sender.is_bot]
        commands_stay(messages)
        question_in_order(messages)
        what_ran_is_named(messages)
        refusals_name_the_rule(stage, messages)
        denial_reaches_the_model(stage)
        expiry_offers_to_ask_again(messages)
        sound(stage)
        plain_words(stage)


def commands_stay(messages: list[Message]) -> None:
    """1: the command is there after the decision, and an edit changes only what stands below it."""
    for command in ("echo two > two", "echo three > three", "echo four > four"):
        message = next(m for m in messages if command in m.text)
        assert message.edits
        before = message.edits[0].text.splitlines()[:2]
        assert message.text.splitlines()[:2] == before
    endings = [m.text.splitlines()[2] for m in messages if m.text.startswith("Run this on")]
    assert re.fullmatch(r"✅ Approved once by Chief \d\d:\d\d · exit 0 · \d.* s", endings[0])
    assert re.fullmatch(r'🚫 Denied by Chief \d\d:\d\d: "keep it until Friday"', endings[1])
    assert re.fullmatch(r"Expired \d\d:\d\d, nothing ran\.", endings[2])
    for ending in endings:
        assert ending.startswith(FIRST_WORDS)


def question_in_order(messages: list[Message]) -> None:
    """2: what, where, why, who asked, who decides, until when; and only buttons that count."""
    first = next(m for m in messages if "echo two" in m.text).edits[0]
    found = QUESTION.fullmatch(first.text)
    assert found, first.text
    assert found["command"] == "echo two > two"
    assert [button.label for row in first.buttons for button in row] == ["✅ Approve once", "🚫 Deny"]


def what_ran_is_named(messages: list[Message]) -> None:
    """3: what ran without a question has its line."""
    assert "Ran by rule: touch a" in [m.text for m in messages]


def refusals_name_the_rule(stage: Stage, messages: list[Message]) -> None:
    """4: the person reads rule and remedy, the model the rule and the better tool only."""
    refusal = next(m.text for m in messages if m.text.startswith("⛔ Not run: rm -rf b"))
    assert "Rule files.rm-recursive:" in refusal
    assert "mtclaw policy soften files.rm-recursive" in refusal
    read = [str(m["content"]) for r in stage.model.requests for m in r.messages if m["role"] == "tool"]
    assert any("files.rm-recursive" in text for text in read)
    assert not any("mtclaw policy" in text for text in read)


def denial_reaches_the_model(stage: Stage) -> None:
    """5: the reason, word for word."""
    assert any('They said: "keep it until Friday"' in r.last_tool_result for r in stage.model.requests)


def expiry_offers_to_ask_again(messages: list[Message]) -> None:
    """6: one button, to ask anew."""
    assert next(m for m in messages if "echo four" in m.text).labels == ("Ask again",)


def sound(stage: Stage) -> None:
    """7: only questions, answers and scheduled results make one."""
    sent = [r for r in said(stage) if r.method == "sendMessage"]
    loud = [str(r.params["text"]).splitlines()[0] for r in sent if not r.params.get("disable_notification")]
    for line in loud:
        assert line.startswith(("Run this", "One is", "Two is", "Three is", "By night", "#")), line
    quiet = [str(r.params["text"]).splitlines()[0] for r in sent if r.params.get("disable_notification")]
    assert any(line.startswith("Ran by rule") for line in quiet)
    assert any(line.startswith("⛔ Not run") for line in quiet)
    assert any(line.startswith("Hello") for line in quiet)


def plain_words(stage: Stage) -> None:
    """8 and 9: names and not numbers, no shouting, six symbols, no entrails."""
    for record in said(stage):
        text = str(record.params["text"])
        if not text.startswith("You are Chief, id 1001."):
            assert str(CHIEF.id) not in text, text
        assert "!" not in text
        assert "Traceback" not in text
        assert "error 4" not in text
        symbols = {char for char in text if ord(char) > 0x2190 and char not in "–—…‹›·→␤␀"}
        assert symbols - {"\N{VARIATION SELECTOR-16}"} <= SYMBOLS, text
        assert record.params.get("link_preview_options") == {"is_disabled": True}


async def test_another_message_while_a_question_is_open_is_answered_at_once_and_runs_afterwards(tmp_path: Path) -> None:
    """5: one line that names the question, with a button that denies it; the message is next."""
    steps = [call("exec", {"command": "echo x > x"}), say("Left."), say("Only security updates.")]
    async with open_stage(tmp_path, steps) as stage:
        await stage.telegram.say(CHIEF, None, "do it")
        asked = await stage.telegram.shown(CHIEF.id, "Run this on")
        ident = asked.text.splitlines()[0].partition("#")[2]
        await stage.telegram.say(CHIEF, None, "wait, which packages")
        waiting = await stage.telegram.shown(CHIEF.id, f"Waiting for #{ident} above; your message is next.")
        assert waiting.labels == (f"🚫 Deny #{ident} and go on",)
        assert waiting.silent
        assert len(stage.model.requests) == 1
        await stage.telegram.press(CHIEF, waiting.id)
        await stage.telegram.shown(CHIEF.id, "Only security updates.")
        assert stage.model.requests[-1].last_user_text == "wait, which packages"
        assert not (stage.workspace / "x").exists()


async def test_who_decides_is_named_and_others_are_told_so(tmp_path: Path) -> None:
    """2 and 8: the asker of a question that is not his to decide reads who can, and the card says it beforehand."""
    setting = Setting(approvers="not_requester")
    async with open_stage(tmp_path, [call("exec", {"command": "echo x > x"}), say("Done.")], setting) as stage:
        await stage.telegram.say(DEPLOY, GROUP, f"@{stage.telegram.bot().account.person.username} deploy it")
        asked = await stage.telegram.shown(GROUP, "Run this on")
        assert "Asked by Deploy · Chief or Review decide · open until" in asked.text
        note = await stage.telegram.press(DEPLOY, "✅ Approve once", GROUP)
        assert note == "You asked for this one. Chief or Review can decide."
        assert not (stage.workspace / "x").exists()
        assert await stage.telegram.press(REVIEW, "✅ Approve once", GROUP) == "Approved."
        await stage.telegram.shown(GROUP, "✅ Approved once by Review")
        decided = [e.draft.decider for e in await stage.events() if e.draft.decider]
        assert set(decided) == {f"telegram:{REVIEW.id}"}


async def test_root_is_for_the_host_alone(tmp_path: Path) -> None:
    """A chat gets no button for it, only the words that the host takes."""
    async with open_stage(tmp_path, [call("exec", {"command": "sudo apt-get -y full-upgrade"})]) as stage:
        await stage.telegram.say(CHIEF, None, "update")
        asked = await stage.telegram.shown(CHIEF.id, "Needs root and can't be approved here.")
        ident = asked.text.splitlines()[0].partition("#")[2]
        assert asked.labels == ("🚫 Deny",)
        assert f"mtclaw approvals run {ident}" in asked.text
        await stage.telegram.say(CHIEF, None, f"/approve {ident}")
        await stage.telegram.shown(
            CHIEF.id, f"This can only be run at the host itself, by mtclaw approvals run {ident}."
        )


async def test_the_host_shows_the_same_card(tmp_path: Path) -> None:
    """10: ``approvals pending`` prints the lines that the chat shows."""
    async with open_stage(tmp_path, [call("exec", {"command": "echo x > x"})]) as stage:
        await stage.telegram.say(CHIEF, None, "do it")
        asked = await stage.telegram.shown(CHIEF.id, "Run this on")
        printed = (await stage.cli("approvals", "pending")).out
        lines = [line.strip() for line in printed.splitlines()]
        for line in asked.text.splitlines():
            assert line.replace("`", "") in [one.replace("`", "") for one in lines]


async def test_no_reply_is_silence(tmp_path: Path) -> None:
    """The exact word of the model is never shown; the turn is in the history all the same."""
    async with open_stage(tmp_path, [say("NO_REPLY"), say("Here.")]) as stage:
        await stage.telegram.say(CHIEF, None, "nothing to say")
        await stage.telegram.say(CHIEF, None, "there?")
        await stage.telegram.shown(CHIEF.id, "Here.")
        assert "NO_REPLY" not in " ".join(stage.bot_texts())
        assert "NO_REPLY" in [m["content"] for m in stage.model.requests[-1].messages]
