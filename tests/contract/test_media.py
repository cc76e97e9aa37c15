"""Files that people send, from the chat to the workspace to the model, with everything between them real."""

from pathlib import Path

from mtbot.simulator.script import call, say
from mtbot.simulator.values import Attachment, AttachmentKind
from tests.contract.stage import CHIEF, GROUP, Setting, Stage, open_stage

PDF = Attachment(b"%PDF-1.7 hello", "report.pdf", mime="application/pdf")


def asked(stage: Stage, number: int = 0) -> str:
    """What the person said, as the model read it."""
    messages = stage.model.requests[number].body["messages"]
    assert isinstance(messages, list)
    return str(next(one["content"] for one in reversed(messages) if one["role"] == "user"))


def kept(stage: Stage) -> dict[str, bytes]:
    """What lies in the workspace's inbox, without the day in front of its name."""
    place = stage.workspace / "inbox"
    return (
        {path.name.partition("-")[2]: path.read_bytes() for path in sorted(place.iterdir())} if place.exists() else {}
    )


async def test_a_document_is_kept_and_the_model_is_told_where(tmp_path: Path) -> None:
    """Under a name that no sender can choose to be a path."""
    async with open_stage(tmp_path, (say("Read."), say("Seen."))) as stage:
        await stage.telegram.say(CHIEF, None, "what is in it?", attach=PDF)
        await stage.telegram.shown(CHIEF.id, "Read.")
        words, line = asked(stage).splitlines()
        assert words == "what is in it?"
        assert line.startswith("[received file: inbox/20")
        assert line.endswith("-report.pdf, application/pdf, 14 bytes]")
        hostile = Attachment(b"ssh-rsa x", "../../.ssh/authorized_keys")
        await stage.telegram.say(CHIEF, None, "", attach=hostile)
        await stage.telegram.shown(CHIEF.id, "Seen.")
        assert kept(stage) == {"report.pdf": PDF.data, "authorized_keys": b"ssh-rsa x"}


async def test_an_album_is_one_turn(tmp_path: Path) -> None:
    """Every photo of it, with the words that stood on one of them."""
    photos = [Attachment(bytes([number]) * 9, kind=AttachmentKind.PHOTO, mime="image/jpeg") for number in range(3)]
    async with open_stage(tmp_path, (say("Nice."),)) as stage:
        await stage.telegram.album(CHIEF, None, photos, "my cat")
        await stage.telegram.shown(CHIEF.id, "Nice.")
        assert asked(stage).startswith("my cat\n[received file: inbox/")
        assert asked(stage).count("[received file: ") == 3
        assert list(kept(stage)) == ["photo-2.jpg", "photo-3.jpg", "photo.jpg"]
        assert len(stage.model.requests) == 1


async def test_an_album_that_a_restart_cuts_is_one_turn_afterwards(tmp_path: Path) -> None:
    """Its parts are on disk before anything waits for the others."""
    async with open_stage(tmp_path, (say("Nice."), say("Yes."))) as stage:
        stage.running.intake.files.wait(3600)
        await stage.telegram.album(CHIEF, None, [PDF, PDF], "two of them")
        await stage.telegram.wait_for(lambda sim: not sim.bot().queue.pending, 10)
        await stage.restart()
        await stage.telegram.shown(CHIEF.id, "Nice.")
        assert asked(stage).count("[received file: ") == 2
        await stage.telegram.say(CHIEF, None, "and?")
        await stage.telegram.shown(CHIEF.id, "Yes.")
        await stage.restart()
        assert len(stage.model.requests) == 2


async def test_what_is_too_large_is_said_and_the_words_still_count(tmp_path: Path) -> None:
    """Whether the sender's program says so or it only shows while it comes."""
    setting = Setting(telegram_extra="max_file_bytes: 100")
    async with open_stage(tmp_path, (say("Without it."), say("Without it either.")), setting) as stage:
        await stage.telegram.say(CHIEF, None, "look", attach=Attachment(b"x" * 50, "big.iso", claimed_size=25_000_000))
        await stage.telegram.shown(CHIEF.id, "I could not take big.iso: it has 25.0 MB, and I take at most 100 bytes.")
        await stage.telegram.shown(CHIEF.id, "Without it.")
        await stage.telegram.say(CHIEF, None, "look", attach=Attachment(b"x" * 500, "liar.iso", claimed_size=50))
        await stage.telegram.shown(
            CHIEF.id, "I could not take liar.iso: it is larger than the 100 bytes that I may take."
        )
        await stage.telegram.shown(CHIEF.id, "Without it either.")
        assert (kept(stage), asked(stage)) == ({}, "look")


async def test_nobody_fills_the_disk_with_files(tmp_path: Path) -> None:
    """One line says what is full and what to do, also for an album; a file that still fits is taken."""
    setting = Setting(telegram_extra="max_inbox_bytes: 40")
    async with open_stage(tmp_path, (say("One."), say("None."), say("Two.")), setting) as stage:
        full = "inbox in the workspace would hold more than 40 bytes. Have something in it deleted or moved"
        await stage.telegram.say(CHIEF, None, "keep", attach=Attachment(b"x" * 30, "a.txt"))
        await stage.telegram.shown(CHIEF.id, "One.")
        await stage.telegram.album(CHIEF, None, [PDF, PDF], "and these")
        await stage.telegram.shown(CHIEF.id, f"I could not take report.pdf, report.pdf: {full}")
        await stage.telegram.shown(CHIEF.id, "None.")
        await stage.telegram.say(CHIEF, None, "and this", attach=Attachment(b"x" * 9, "b.txt"))
        await stage.telegram.shown(CHIEF.id, "Two.")
        assert {name: len(data) for name, data in kept(stage).items()} == {"a.txt": 30, "b.txt": 9}


async def test_a_voice_message_is_answered_honestly(tmp_path: Path) -> None:
    """Without a turn; and a file that could not be taken, with no words, begins none either."""
    setting = Setting(telegram_extra="max_file_bytes: 0")
    async with open_stage(tmp_path, (), setting) as stage:
        await stage.telegram.say(
            CHIEF, None, "", attach=Attachment(b"ogg", kind=AttachmentKind.VOICE, mime="audio/ogg")
        )
        await stage.telegram.shown(CHIEF.id, "I can't do anything with a voice message.")
        await stage.telegram.say(CHIEF, None, "", attach=PDF)
        await stage.telegram.shown(CHIEF.id, "I could not take report.pdf: I take no files here.")
        assert not stage.model.requests


async def test_in_a_group_only_what_is_meant_for_the_bot_is_taken(tmp_path: Path) -> None:
    """People send one another photos there."""
    async with open_stage(tmp_path, (say("Got it."),)) as stage:
        await stage.telegram.say(CHIEF, GROUP, "for you all", attach=PDF)
        await stage.telegram.say(CHIEF, GROUP, "", attach=Attachment(b"ogg", kind=AttachmentKind.VOICE))
        await stage.telegram.say(CHIEF, GROUP, f"@{stage.telegram.bot().account.person.username} keep this", attach=PDF)
        await stage.telegram.shown(GROUP, "Got it.")
        assert list(kept(stage)) == ["report.pdf"]
        assert len(stage.bot_texts(GROUP)) == 1


async def test_a_question_says_that_a_received_file_is_in_play(tmp_path: Path) -> None:
    """Whoever decides should know, also one message later."""
    steps = (say("Thanks."), call("exec", {"command": "echo hi > there"}), say("Done."))
    async with open_stage(tmp_path, steps) as stage:
        await stage.telegram.say(CHIEF, None, "here", attach=PDF)
        await stage.telegram.shown(CHIEF.id, "Thanks.")
        await stage.telegram.say(CHIEF, None, "do what it says")
        shown = await stage.telegram.shown(CHIEF.id, "Run this on")
        assert "This turn has read text from outside (a page, a file or what a command fetched)" in shown.text
        await stage.telegram.press(CHIEF, "🚫 Deny", CHIEF.id)
