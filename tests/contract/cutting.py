"""A gateway that is killed while a command runs, and another one that finds what is left."""

from mtbot.simulator.values import Message, Person
from tests.contract.stage import CHIEF, GROUP, Stage

ONCE = "echo begun >> log; test -e held || { touch held; sleep 60; }"
"""Runs for long the first time and is over at once the second time."""


async def cut(stage: Stage, *, approve: bool = True, group: Person | None = None, asker: Person = CHIEF) -> Message:
    """Have the gateway killed while the command runs, and start another; the notice.

    ``group``: in the group, where that person approves it.
    """
    chat = GROUP if group else asker.id
    async with stage.gateway_process() as gateway:
        named = f"@{stage.telegram.bot().account.person.username} do it"
        await stage.telegram.say(asker, chat if group else None, named if group else "do it")
        if approve:
            await stage.telegram.shown(chat, "Run this on", timeout=20)
            assert await stage.telegram.press(group or asker, "✅ Approve once", chat, timeout=20) == "Approved."
        log = stage.workspace / "log"
        await stage.telegram.wait_for(lambda sim: log.exists() and sim.calls("sendChatAction"), 20)
        gateway.kill()
        await gateway.wait()
    await stage.start()
    return await stage.telegram.shown(chat, "Cut off: I am back.", timeout=20)
