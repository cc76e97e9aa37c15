"""After a crash the chat is told what was cut, and its buttons show it, ask for it again, or put it away."""

from pathlib import Path

from mtbot.simulator.script import Step, call, say
from tests.contract.cutting import cut
from tests.contract.stage import CHIEF, DEPLOY, GROUP, Setting, open_stage

RUNNING = "echo begun >> log; sleep 60"
STEPS: tuple[Step, ...] = (call("exec", {"command": RUNNING}),)


async def test_the_notice_says_what_was_cut_and_who_had_allowed_it(tmp_path: Path) -> None:
    """Command, approval by name, start, and three buttons; it is no silent message."""
    async with open_stage(tmp_path, STEPS, start=False) as stage:
        notice = await cut(stage)
        title, body, how = notice.text.splitlines()
        assert title.endswith("how it ended is unknown, and I have not run it again:")
        assert body == RUNNING
        assert how.startswith("#")
        assert " · approved by Chief · started " in how
        assert notice.labels == ("Show", "Ask to run it again", "Dismiss")
        sent = [one for one in stage.telegram.calls("sendMessage") if "Cut off" in str(one.params["text"])]
        assert [one.params.get("disable_notification") for one in sent] == [None]
        assert (stage.workspace / "log").read_text() == "begun\n"


async def test_show_tells_what_is_on_record(tmp_path: Path) -> None:
    """From the proposal to the interruption; the buttons stay."""
    async with open_stage(tmp_path, STEPS, start=False) as stage:
        await cut(stage)
        assert await stage.telegram.press(CHIEF, "Show", CHIEF.id) == "On record."
        shown = await stage.telegram.shown(CHIEF.id, "On record about it:")
        story = [line.split(" · ")[0].split(maxsplit=2)[2] for line in shown.text.splitlines() if " · " in line]
        assert story == ["decided", "approval requested", "approval resolved", "started", "interrupted"]


async def test_asking_again_counts_as_a_message(tmp_path: Path) -> None:
    """Whoever has no turn left in this hour, of which one was before the restart, begins none by a button either."""
    setting = Setting(extra="limits: {turns_per_hour: 2}")
    async with open_stage(tmp_path, (*STEPS, say("Hello.")), setting, start=False) as stage:
        stage.config.write_text(stage.config.read_text().replace("owner: chief", "owner: review"))
        await cut(stage)
        await stage.telegram.say(CHIEF, None, "hello")
        await stage.telegram.shown(CHIEF.id, "Hello.", timeout=20)
        said = await stage.telegram.press(CHIEF, "Ask to run it again", CHIEF.id)
        assert said.startswith("You have asked 2 things within an hour")


async def test_dismiss_takes_the_buttons_away(tmp_path: Path) -> None:
    """The command stays in the chat."""
    async with open_stage(tmp_path, STEPS, start=False) as stage:
        await cut(stage)
        assert await stage.telegram.press(CHIEF, "Dismiss", CHIEF.id) == "Dismissed."
        closed = await stage.telegram.shown(CHIEF.id, "Dismissed by Chief")
        assert RUNNING in closed.text
        assert closed.labels == ()


async def test_a_notice_cannot_be_pressed_from_another_chat(tmp_path: Path) -> None:
    """The number of an event is no secret, so its chat decides."""
    async with open_stage(tmp_path, STEPS, start=False) as stage:
        await cut(stage)
        await stage.telegram.say(DEPLOY, GROUP, "/status")
        message = await stage.telegram.shown(GROUP, "Running:")
        for data in ("show.#5", "again.#5", "dismiss.#5", "show.#1", "show.#x", "show.#99999999999999999999"):
            query = await stage.telegram.tap(DEPLOY, message.id, GROUP, data=data)
            assert (await stage.telegram.answer(query)).text == "This button does nothing any more."


async def test_the_next_turn_knows_what_was_cut(tmp_path: Path) -> None:
    """The model reads it as its own words, with the order not to repeat it by itself."""
    by_rule = "touch log; sleep 60"
    steps = (call("exec", {"command": by_rule}), say("It was cut, I know."))
    async with open_stage(tmp_path, steps, Setting(allow='["touch .*", "sleep .*"]'), start=False) as stage:
        notice = await cut(stage, approve=False)
        assert "ran by rule allow[0], allow[1] · started" in notice.text
        await stage.telegram.say(CHIEF, None, "what happened?")
        await stage.telegram.shown(CHIEF.id, "It was cut, I know.")
        said = str(stage.model.requests[-1].body)
        assert "do not run it again unless the person asks for it" in said
        assert by_rule in said
