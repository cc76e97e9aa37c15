"""What the suites of C9 share: giving a grant in a chat, and finding out whether a later turn ran or asked."""

from mtbot.domain.record import AuditEvent, EventKind
from mtbot.simulator.script import Step, call, say
from mtbot.simulator.telegram import TelegramSimulator
from mtbot.simulator.values import Message, Person
from tests.contract.stage import CHIEF, Stage

FOR_A_WHILE = "✅ Approve for 15 min"
ADD = "dd if=line of=sentinel oflag=append conv=notrunc status=none"
"""Adds a line to the sentinel each time it runs, and touches nothing else."""


def turns(*commands: str) -> list[Step]:
    """A model that proposes these commands, a turn each, and says so when it is done."""
    return [
        step
        for number, command in enumerate(commands, 1)
        for step in (call("exec", {"command": command}), say(f"Turn {number} is over."))
    ]


def lay(stage: Stage) -> None:
    """The line that ADD adds."""
    (stage.workspace / "line").write_text("ran\n")


def runs(stage: Stage) -> int:
    """How often ADD ran."""
    sentinel = stage.workspace / "sentinel"
    return sentinel.read_text().count("ran\n") if sentinel.exists() else 0


async def say_it(stage: Stage, who: Person = CHIEF, chat: int = CHIEF.id, *, thread: int | None = None) -> None:
    """Begin a turn there."""
    mention = "" if chat > 0 else f"@{stage.telegram.bot().account.person.username} "
    await stage.telegram.say(who, chat, f"{mention}do it", thread=thread)


async def question(stage: Stage, chat: int = CHIEF.id) -> Message:
    """The question that is open there, once it is shown."""

    def look(sim: TelegramSimulator) -> list[Message]:
        return [message for message in sim.chat(chat) if "🚫 Deny" in message.labels]

    return (await stage.telegram.wait_for(look, 20))[-1]


async def grant(
    stage: Stage,
    who: Person = CHIEF,
    chat: int = CHIEF.id,
    *,
    giver: Person | None = None,
    thread: int | None = None,
    over: str = "Turn 1 is over.",
) -> str:
    """Have the first turn asked about and approved for a while; the grant's name."""
    await say_it(stage, who, chat, thread=thread)
    asked = await question(stage, chat)
    assert FOR_A_WHILE in asked.labels, asked.labels
    said = await stage.telegram.press(giver or who, FOR_A_WHILE, chat, timeout=20)
    assert said.startswith("Approved until "), said
    await stage.telegram.shown(chat, over, timeout=20)
    return asked.text.splitlines()[0].partition("#")[2]


async def asks(stage: Stage, who: Person = CHIEF, chat: int = CHIEF.id, *, thread: int | None = None) -> Message:
    """Have another turn begin there and see that it asks."""
    await say_it(stage, who, chat, thread=thread)
    return await question(stage, chat)


async def started(stage: Stage) -> list[AuditEvent]:
    """What ran, oldest first."""
    return [event for event in await stage.events() if event.draft.kind is EventKind.STARTED]


async def deny(stage: Stage, chat: int = CHIEF.id) -> None:
    """Turn the open question down and wait until its turn is over."""
    over = sum(" is over." in text for text in stage.bot_texts(chat))
    await stage.telegram.press(CHIEF, "🚫 Deny", chat, timeout=20)
    await stage.telegram.wait_for(lambda _: sum(" is over." in text for text in stage.bot_texts(chat)) > over, 20)
