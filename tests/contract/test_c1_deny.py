"""C1: what nothing may lift. Hardline commands run nowhere, look-alikes are not refused, file tools stay inside."""

import asyncio
import os
from pathlib import Path

import pytest

from mtbot.domain.record import EventKind
from mtbot.simulator.script import call, say, together
from tests.contract.stage import CHIEF, GROUP, Setting, Stage, open_stage
from tests.contract.surfaces import Way, on_every_surface

PLAIN = (
    "rm -rf /",
    "rm -rf /*",
    "rm -rf ~",
    "rm -r -f /",
    "rm --recursive --force /home",
    "rm -Rf /etc",
    "dd of=/dev/sda if=/dev/zero",
    "kill -KILL -1",
    "find / -delete",
    "wipefs -a /dev/sda",
    "cat x > /dev/sda",
    "boom() { boom | boom & }; boom",
)
HIDDEN = (
    "sudo {}",
    "env {}",
    "env -i A=b {}",
    "xargs {} < /dev/null",
    "nohup {}",
    "sh -c '{}'",
    "bash -lc '{}'",
    "sudo sh -c '{}'",
    "busybox {}",
    "true; {}",
    "true && {}",
    "true\n{}",
    "({})",
    "$({})",
    "if true; then {}; fi",
    "timeout 5 {}",
    "nice -n 5 {}",
    "eval '{}'",
    "bash <<'EOF'\n{}\nEOF",
    "echo x | {}",
)
SPELLED = (
    "'rm' -rf /",
    "r''m -rf /",
    "\\rm -rf /",
    "rm${IFS}-rf${IFS}/",
    "rm \\\n-rf /",
    "rm -rf /\r",
    "/bin/rm -rf /",
    "rm -rf //",
    "rm -rf /./",
    "rm -rf -- /",
    "rm -fr --no-preserve-root /",
    '"rm" "-rf" "/"',
)
ARGV = tuple(text for text in PLAIN if not text.startswith(("boom", "cat x")))
HARDLINE = (*PLAIN, *SPELLED, *(shape.format(text) for text in ARGV for shape in HIDDEN))

LOOK_ALIKES = (
    "docker rm -f c",
    "npm rm -f p",
    "echo reboot",
    "git commit -m 'fix shutdown bug'",
    "fdisk -l",
    "grep 'rm -rf' install.sh",
    'grep -n "rm -r" notes.md',
    "echo 'rm -rf /'",
    "printf '%s\\n' 'git push --force'",
    "cat 'my rm -rf notes.txt'",
    "git log --grep 'mkfs'",
)


def plant(directory: Path, *names: str) -> tuple[Path, Path]:
    """Programs of these names that only leave a sign, and where the sign would be."""
    programs, sign = directory / "programs", directory / "sign"
    programs.mkdir()
    for name in names:
        program = programs / name
        program.write_text(f"#!/bin/sh\necho {name} >> {sign}\n")
        program.chmod(0o755)
    return programs, sign


async def decisions(stage: Stage) -> dict[str, str]:
    """The decision word of every command on record."""
    return {line.command: line.decision for line in await stage.lines()}


@on_every_surface
@pytest.mark.parametrize("mode", ["approval", "auto"])
async def test_hardline_commands_are_refused_and_nothing_is_spawned(tmp_path: Path, way: Way, mode: str) -> None:
    """Whatever the mode, with every allow rule there can be, behind every wrapper: no prompt, no start, no process."""
    programs, sign = plant(
        tmp_path, "rm", "dd", "kill", "find", "wipefs", "sudo", "env", "xargs", "nohup", "busybox", "timeout", "nice"
    )
    setting = Setting(mode=mode, allow="['.*']", exec_extra=f"path: [{programs}, /usr/bin, /bin]")
    calls = together(*(call("exec", {"command": text}) for text in HARDLINE))
    async with open_stage(tmp_path, [calls], setting) as stage:
        heard = await way.turn(stage, "I stopped")
        found = await decisions(stage)
        assert {text: found.get(text) for text in HARDLINE} == dict.fromkeys(HARDLINE, "denied_rule")
        kinds = {event.draft.kind for event in await stage.events()}
        assert kinds == {EventKind.PROPOSED, EventKind.DECIDED}
        assert not sign.exists()
        assert "Run this on" not in heard
        assert len(stage.model.requests) == 1


@on_every_surface
async def test_the_model_reads_the_same_refusal_on_every_surface(tmp_path: Path, way: Way) -> None:
    """The rule and the end of the attempt, never how the rule could be changed."""
    steps = [call("exec", {"command": "rm -rf /"}), say("Understood.")]
    async with open_stage(tmp_path, steps) as stage:
        await way.turn(stage, "Understood.")
        read = stage.model.requests[-1].last_tool_result
        assert read.startswith("Refused by policy (rule files.wipe-root)")
        assert "cannot be approved or rephrased" in read
        assert "mtclaw policy" not in read


@on_every_surface
async def test_look_alikes_are_not_refused(tmp_path: Path, way: Way) -> None:
    """Words about dangerous things are data: such a call is asked about (or has nobody to ask), never denied."""
    for text in LOOK_ALIKES:
        assert text not in HARDLINE
    if way.attended:
        await _asked_one_by_one(tmp_path, way)
        return
    calls = together(*(call("exec", {"command": text}) for text in LOOK_ALIKES))
    async with open_stage(tmp_path, [calls]) as stage:
        await way.turn(stage, "I stopped")
        assert await decisions(stage) == dict.fromkeys(LOOK_ALIKES, "expired")


async def _asked_one_by_one(directory: Path, way: Way) -> None:
    """In a chat each is one question; denying it brings the next."""
    steps = [call("exec", {"command": text}) for text in LOOK_ALIKES[:2]]
    async with open_stage(directory, [*steps, say("Through.")]) as stage:
        chat = CHIEF.id if way.name == "private" else GROUP
        task = asyncio.create_task(way.turn(stage, "Through."))
        for text in LOOK_ALIKES[:2]:
            asked = await stage.telegram.shown(chat, text, timeout=20)
            assert asked.labels[:2] == ("✅ Approve once", "🚫 Deny")
            await stage.telegram.press(CHIEF, "🚫 Deny", chat)
        await task
        assert await decisions(stage) == dict.fromkeys(LOOK_ALIKES[:2], "denied_user")


ESCAPES = (
    "../outside.txt",
    "{outside}",
    "~/outside.txt",
    "linked-dir/outside.txt",
    "dangling",
    "hard",
    "/proc/self/root{outside}",
    "/proc/self/environ",
    "sub/../../outside.txt",
    "nul\0.txt",
    "./../outside.txt",
)


@on_every_surface
@pytest.mark.parametrize("tool", ["read_file", "write_file"])
async def test_file_tools_do_not_leave_their_roots(tmp_path: Path, way: Way, tool: str) -> None:
    """Every way out is an error with no override on offer, and the file outside stays as it was."""
    outside = tmp_path / "outside.txt"
    outside.write_text("precious\n")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "sub").mkdir()
    (workspace / "linked-dir").symlink_to(tmp_path)
    (workspace / "dangling").symlink_to(tmp_path / "made-by-the-tool.txt")
    os.link(outside, workspace / "hard")
    paths = [path.format(outside=outside) for path in ESCAPES]
    more: dict[str, object] = {"content": "changed\n"} if tool == "write_file" else {}
    calls = together(*(call(tool, {"path": path, **more}) for path in paths))
    async with open_stage(tmp_path, [calls]) as stage:
        heard = await way.turn(stage, "I stopped")
        assert "Run this on" not in heard
        assert "precious" not in heard
        assert outside.read_text() == "precious\n"
        assert not (tmp_path / "made-by-the-tool.txt").exists()
        started = [event.draft.command for event in await stage.events() if event.draft.kind is EventKind.STARTED]
        assert [command for command in started if "path=hard" not in command] == []
