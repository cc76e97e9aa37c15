"""The simulator as a program of its own."""

import asyncio
import signal
import sys
from contextlib import suppress

import aiohttp

_PROGRAM = "from mtbot.simulator.telegram import run_telegram; run_telegram(0, ['55:first', '66:second'])"


async def test_the_program_says_where_it_listens_serves_and_ends_at_a_signal() -> None:
    """Exit status 0, no traceback, within the usual time."""
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _PROGRAM, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        assert program.stdout is not None
        line = (await asyncio.wait_for(program.stdout.readline(), 20)).decode()
        address = line.split()[3].rstrip(",")
        async with aiohttp.ClientSession() as session:
            async with session.post(
                f"{address}/control/say", json={"user": 1, "bot": "sim66_bot", "text": "hi"}
            ) as said:
                assert await said.json() == {"message_id": 1}
            async with session.get(f"{address}/bot66:second/getUpdates") as updates:
                found = await updates.json()
        program.send_signal(signal.SIGTERM)
        _, errors = await asyncio.wait_for(program.communicate(), 10)
    finally:
        with suppress(ProcessLookupError):
            program.kill()

    assert line == f"Telegram simulator on {address}, bots: 55:first, 66:second\n"
    assert [update["message"]["text"] for update in found["result"]] == ["hi"]
    assert (program.returncode, errors) == (0, b"")
