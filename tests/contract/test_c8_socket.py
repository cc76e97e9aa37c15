"""C8.1 and C7 on the control socket: one yes is one run, at once, whoever else says it at the same moment."""

import asyncio
import json
from pathlib import Path

from mtbot.domain.record import ApprovalState
from mtbot.simulator.script import call, say
from tests.contract.stage import CHIEF, GROUP, Said, Stage, open_stage
from tests.contract.surfaces import CHATS
from tests.contract.test_c7_waiting import COMMAND, ask

STEPS = (call("exec", {"command": COMMAND}), say("Logged."))


async def ran_once(stage: Stage, chat: int = CHIEF.id) -> None:
    """The sentinel holds one line, and the record one start and one ruling."""
    await stage.telegram.shown(chat, "Logged.", timeout=20)
    assert (stage.workspace / "sentinel").read_text() == "ran\n"
    trail = await stage.cli("approvals", "show", (await story(stage)))
    assert (trail.out.count("started"), trail.out.count("approval_resolved")) == (1, 1)


async def story(stage: Stage) -> str:
    """The id of the one call."""
    return str(json.loads((await stage.cli("approvals", "list", "--json")).out)[0]["call"])


async def test_a_yes_from_the_host_runs_at_once(tmp_path: Path) -> None:
    """The gateway decides and goes on; a second yes reads who was first, a no comes too late."""
    async with open_stage(tmp_path, STEPS, start=False) as stage, stage.gateway_process():
        ident = await ask(stage, CHATS[0])
        said = await stage.typed("approvals", "approve", f"#{ident.lower()}")
        assert said == Said(0, f"approved #{ident}; it runs now\n", "")
        await ran_once(stage)
        for verb in ("approve", "deny"):
            late = await stage.typed("approvals", verb, ident)
            assert (late.status, late.out) == (1, "")
            assert f"#{ident} was approved by " in late.err
            assert late.err.endswith(" already; nothing changed\n")
        await ran_once(stage)


async def test_a_no_from_the_host_ends_it_with_its_reason(tmp_path: Path) -> None:
    """The model reads it, and nothing runs."""
    async with open_stage(tmp_path, STEPS, start=False) as stage, stage.gateway_process():
        ident = await ask(stage, CHATS[0])
        said = await stage.typed("approvals", "deny", ident, "--reason", "not on a Friday")
        assert said == Said(0, f"{ApprovalState.DENIED} #{ident}\n", "")
        await stage.telegram.shown(CHIEF.id, "Logged.", timeout=20)
        assert "not on a Friday" in stage.model.requests[-1].last_tool_result
        assert not (stage.workspace / "sentinel").exists()


async def test_a_press_and_the_host_at_once(tmp_path: Path) -> None:
    """It runs once, and the loser is told who won."""
    async with open_stage(tmp_path, STEPS, start=False) as stage, stage.gateway_process():
        ident = await ask(stage, CHATS[1])
        said, note = await asyncio.gather(
            stage.typed("approvals", "approve", ident),
            stage.telegram.press(CHIEF, "✅ Approve once", GROUP, timeout=20),
        )
        assert (said.status == 0, note == "Approved.") in ((True, False), (False, True)), (said, note)
        await ran_once(stage, GROUP)


async def test_fifty_at_once(tmp_path: Path) -> None:
    """Fifty requests over the socket, and one run."""
    many = (
        "import asyncio, json, sys\n"
        "async def one(path, line):\n"
        "    while True:\n"
        "        try:\n"
        "            reader, writer = await asyncio.open_unix_connection(path)\n"
        "            writer.write(line)\n"
        "            answer = await reader.read()\n"
        "            writer.close()\n"
        "        except OSError:\n"
        "            continue\n"
        "        if answer:\n"
        "            return json.loads(answer)['ok']\n"
        "async def main():\n"
        "    line = json.dumps({'v': 1, 'do': 'approve', 'id': sys.argv[2]}).encode() + b'\\n'\n"
        "    print(sum(await asyncio.gather(*(one(sys.argv[1], line) for _ in range(50)))))\n"
        "asyncio.run(main())\n"
    )
    async with open_stage(tmp_path, STEPS, start=False) as stage, stage.gateway_process():
        ident = await ask(stage, CHATS[0])
        said = await stage.at_terminal("-c", many, str(stage.control), ident)
        assert said == Said(0, "1\n", "")
        await ran_once(stage)


async def test_a_yes_while_it_is_down_is_used_by_the_next_start(tmp_path: Path) -> None:
    """What is left of the socket of a killed gateway is nobody's; the ruling waits in the database."""
    async with open_stage(tmp_path, STEPS, start=False) as stage:
        async with stage.gateway_process() as gateway:
            ident = await ask(stage, CHATS[0])
            await stage.telegram.say(CHIEF, None, "/status")
            await stage.telegram.shown(CHIEF.id, f"waiting: #{ident}", timeout=20)
            gateway.kill()
            await gateway.wait()
            assert stage.control.is_socket()
            down = await stage.cli("status")
            assert (down.status, down.out.splitlines()[0]) == (1, "Gateway: not running")
            assert f"  #{ident} until " in down.out
            said = await stage.cli("approvals", "approve", ident)
            assert (said.status, said.err) == (0, "")
            assert said.out.startswith(f"approved #{ident}; it runs when the gateway starts, and lapses at ")
        async with stage.gateway_process():
            await ran_once(stage)
            assert (await stage.cli("status")).status == 0
