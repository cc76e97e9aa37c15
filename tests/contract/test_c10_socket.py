"""C10.2: the control socket of the installed gateway is its owner's alone, and what the bot runs can never decide."""

import asyncio
import json
import os
import stat
import sys
from pathlib import Path

import pytest

from mtbot.simulator.script import call, say
from tests.contract.stage import CHIEF, DEPLOY, GROUP, Said, Setting, Stage, open_stage
from tests.contract.surfaces import CHATS
from tests.contract.test_c7_waiting import COMMAND, ask


def mode(path: Path) -> int:
    """Its permission bits."""
    return stat.S_IMODE(path.lstat().st_mode)


async def raw(stage: Stage, data: bytes) -> bytes:
    """What the gateway says to ``data``, until it closes."""
    reader, writer = await asyncio.open_unix_connection(stage.control)
    writer.write(data)
    try:
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def test_it_is_private_whatever_the_umask(tmp_path: Path) -> None:
    """0600 in a directory of 0700, and gone after a stop."""
    async with open_stage(tmp_path, start=False) as stage:
        async with stage.gateway_process(umask=0) as gateway:
            found = stage.control
            assert (mode(found), mode(found.parent), mode(found.parent.parent)) == (0o600, 0o700, 0o700)
            assert found.lstat().st_uid == os.geteuid()
            gateway.terminate()
            await gateway.wait()
        assert not stage.control.exists()


async def test_what_is_no_message_is_closed_and_nobody_is_held_up(tmp_path: Path) -> None:
    """More than 64 KiB, half a frame, an HTTP request: an error, and the next one is served."""
    async with open_stage(tmp_path, start=False) as stage, stage.gateway_process():
        waiting = [await asyncio.open_unix_connection(stage.control) for _ in range(3)]
        for _, writer in waiting:
            writer.write(b'{"v": 1, "do"')
        for data in (b"a" * 70_000 + b"\n", b"POST /approve HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\0\n", b"[]\n"):
            answer = await raw(stage, data)
            assert not answer or json.loads(answer)["ok"] is False
        assert (await stage.cli("status")).status == 0
        for reader, writer in waiting:
            assert json.loads(await reader.read())["message"] == "no whole message came in time"
            writer.close()


async def test_a_start_takes_over_from_the_dead_only(tmp_path: Path) -> None:
    """The name of a killed gateway is no hindrance; that of somebody who lives is kept, and the gateway serves without."""
    async with open_stage(tmp_path, [say("Here.")], start=False) as stage:
        async with stage.gateway_process() as gateway:
            gateway.kill()
            await gateway.wait()
        assert stage.control.is_socket()
        async with stage.gateway_process() as gateway:
            assert (await stage.cli("status")).status == 0
            gateway.kill()
            await gateway.wait()
        stage.control.unlink()
        other = await asyncio.start_unix_server(lambda _r, w: w.close(), stage.control)
        async with stage.gateway_process():
            await stage.telegram.say(CHIEF, None, "there?")
            await stage.telegram.shown(CHIEF.id, "Here.", timeout=20)
            said = await stage.cli("status")
            assert (said.status, said.out, said.err.startswith("mtclaw: the gateway ")) == (1, "", True)
            assert "another process answers at" in (stage.directory / "state" / "log.txt").read_text()
        other.close()
        await other.wait_closed()


ATTACK = """\
import json, os, socket, subprocess, sys, time

PATH, IDENT, PYTHON, CONFIG = open("target").read().splitlines()

def knock():
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(10)
            s.connect(PATH)
            s.sendall(json.dumps({"v": 1, "do": "approve", "id": IDENT}).encode() + b"\\n")
            return s.recv(65536).decode().strip() or "closed"
    except OSError as error:
        return f"error {error}"

def there(how):
    inside, outside = os.pipe()
    how(lambda: os.write(outside, knock().encode()))
    print(how.__name__, os.read(inside, 65536).decode())

def plain(act):
    act()

def double_fork(act):
    me = os.getpid()
    if os.fork() == 0:
        middle = os.getpid()
        if os.fork() == 0:
            os.setsid()
            while os.getppid() == middle:
                time.sleep(0.001)
            act()
        os._exit(0)

def terminal(act):
    import pty
    if pty.fork()[0] == 0:
        act()
        os._exit(0)

for way in (plain, double_fork, terminal):
    try:
        there(way)
    except OSError as error:
        print(way.__name__, f"error {error}")
try:
    ran = subprocess.run(
        [PYTHON, "-m", "mtbot.cli.main", "--config", CONFIG, "approvals", "approve", IDENT],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ).stdout.decode().strip()
except OSError as error:
    ran = f"error {error}"
print("cli", ran)
"""

WAYS = ("plain", "double_fork", "terminal", "cli")


@pytest.mark.parametrize("where", ["host", "contained"])
async def test_what_the_bot_runs_never_decides(tmp_path: Path, where: str) -> None:
    """Approved on the host or contained by a rule: each road to the open question of another chat is closed."""
    command = "/usr/bin/python3 attack.py" if where == "host" else "make attack"
    steps = [
        call("exec", {"command": COMMAND}),
        call("exec", {"command": command}),
        say("Tried."),
    ]
    setting = Setting(allow="[{argv: [make, '*'], why: a build}]")
    async with open_stage(tmp_path, steps, setting, start=False) as stage, stage.gateway_process():
        ident = await ask(stage, CHATS[1])
        (stage.workspace / "attack.py").write_text(ATTACK)
        (stage.workspace / "Makefile").write_text("attack:\n\t/usr/bin/python3 attack.py\n")
        (stage.workspace / "target").write_text(f"{stage.control}\n{ident}\n{sys.executable}\n{stage.config}\n")
        await stage.telegram.say(CHIEF, None, "try it")
        if where == "host":
            await stage.telegram.shown(CHIEF.id, "Run this on", timeout=20)
            await stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id, timeout=20)
        await stage.telegram.shown(CHIEF.id, "Tried.", timeout=40)
        said = stage.model.requests[-1].last_tool_result
        lines = {line.split(" ")[0]: line for line in said.splitlines() if line.startswith(WAYS)}
        assert tuple(lines) == WAYS, said
        if where == "host":
            refusal = "a command that the bot runs may not speak here"
            # whoever writes while the door is shut may hear a broken pipe instead
            assert all(refusal in line or "Broken pipe" in line for line in lines.values()), said
        else:
            assert all("error" in lines[way] for way in WAYS[:3]), said
        assert f"#{ident} until" in (await stage.cli("status")).out
        assert not (stage.workspace / "sentinel").exists()
        assert await stage.telegram.press(DEPLOY, "🚫 Deny", GROUP, timeout=20) == "Denied."


async def test_deciding_needs_a_terminal_and_looking_does_not(tmp_path: Path) -> None:
    """Somebody of the account without one is told so, and the question stays open; nothing else is tried."""
    async with (
        open_stage(tmp_path, [call("exec", {"command": COMMAND})], start=False) as stage,
        stage.gateway_process(),
    ):
        ident = await ask(stage, CHATS[0])
        needs = "mtclaw: deciding needs a terminal that a person sits at (run it in a terminal; with ssh use ssh -t)\n"
        for verb in ("approve", "deny", "revoke"):
            assert await stage.cli("approvals", verb, ident) == Said(1, "", needs)
        stage.control.unlink()
        # a command of the bot could take the name away: the database is no way around the door
        assert await stage.cli("approvals", "approve", ident) == Said(1, "", needs)
        looked = await stage.cli("status")
        assert looked.out.startswith("Gateway: running (pid ")
        said = await stage.typed("approvals", "approve", ident)
        assert said == Said(0, f"approved #{ident}; the gateway runs it within 5 s\n", "")
