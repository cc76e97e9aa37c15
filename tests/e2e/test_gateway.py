"""The gateway as a service: it starts, refuses to start, and stops, each with the right line and status."""

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from mtbot.simulator import faults
from mtbot.simulator.script import HANG, Rule, Rulebook, call, say
from tests.contract.stage import CHIEF, Said, Setting, Stage, open_stage


async def gateway(stage: Stage) -> Said:
    """A gateway that is expected to end by itself."""
    async with asyncio.timeout(60):
        return await stage.cli("gateway")


def one_line(said: Said) -> str:
    """The single line of an error (a hint may stand below it), without a traceback; its status is 1."""
    assert said.status == 1, said
    lines = [line for line in said.err.splitlines() if not line.startswith("        ")]
    assert len(lines) == 1, said.err
    assert lines[0].startswith("mtclaw: ")
    return lines[0]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
async def test_an_idle_gateway_stops_at_once(tmp_path: Path, number: signal.Signals, status: int) -> None:
    """Within a second or so, with the status that service managers know."""
    took: list[float] = []
    async with open_stage(tmp_path, start=False) as stage:
        # what it waited for by itself it would wait for each time; a machine that does much else does not
        while len(took) < 3 and min(took, default=3.0) >= 3:
            async with stage.gateway_process() as process:
                began = time.monotonic()
                process.send_signal(number)
                assert await process.wait() == status
                took.append(time.monotonic() - began)
    assert min(took) < 3


async def test_a_second_signal_ends_it_without_more_ado(tmp_path: Path) -> None:
    """Also while it still waits for something."""
    async with open_stage(tmp_path, [say("Here.")], start=False) as stage, stage.gateway_process() as process:
        stage.telegram.fault("sendMessage", faults.hang(), times=faults.FOR_EVER)
        await stage.telegram.say(CHIEF, None, "there?")
        await stage.telegram.wait_for(lambda sim: sim.hanging("sendMessage") == 1, 20)
        process.send_signal(signal.SIGTERM)
        await stage.telegram.wait_for(lambda sim: not sim.bot().queue.is_polled, 10)
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(3):
            assert await process.wait() == -signal.SIGTERM
        stage.telegram.release()


async def test_a_stop_in_a_turn_leaves_nothing_half_written(tmp_path: Path) -> None:
    """The turn is written down, its command is gone, and the record is whole."""
    steps = [call("exec", {"command": "cat pipe"})]
    setting = Setting(allow="[{argv: [cat, '*']}]")
    async with open_stage(tmp_path, steps, setting, start=False) as stage:
        pipe = stage.workspace / "pipe"
        os.mkfifo(pipe)
        async with stage.gateway_process() as process:
            await stage.telegram.say(CHIEF, None, "go")
            writer = await asyncio.to_thread(os.open, pipe, os.O_WRONLY)
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 143
            with pytest.raises(BrokenPipeError):
                os.write(writer, b"anybody there\n")
            os.close(writer)
        await stage.telegram.shown(CHIEF.id, "I was shut down in the middle of this.")
        whole = await stage.cli("audit", "verify")
        assert (whole.status, whole.out.startswith("the record is whole: 4 events")) == (0, True)
        shown = await stage.cli("sessions", "show", "telegram:main:1001:0")
        assert "[4] assistant: I was shut down" in shown.out


async def test_a_second_gateway_is_refused_with_the_pid_of_the_first(tmp_path: Path) -> None:
    """Two pollers on one database would each hear half."""
    async with open_stage(tmp_path, start=False) as stage, stage.gateway_process() as process:
        line = one_line(await gateway(stage))
        assert re.search(rf"another mtclaw gateway \(pid {process.pid}\) holds", line)


async def test_a_second_gateway_on_the_same_token_is_refused_though_its_database_is_another(tmp_path: Path) -> None:
    """Two readers of one bot would each get half of what people write."""
    async with open_stage(tmp_path, start=False) as stage, stage.gateway_process() as process:
        stage.config.write_text(stage.config.read_text().replace("state/mtclaw.db", "other/mtclaw.db"))
        line = one_line(await gateway(stage))
        assert re.search(rf"another mtclaw gateway \(pid {process.pid}\) holds .*telegram-[0-9a-f]{{16}}\.lock", line)


async def test_a_first_start_makes_its_state_directory(tmp_path: Path) -> None:
    """Private, with a private database, key and lock in it."""
    async with open_stage(tmp_path, start=False) as stage:
        stage.config.write_text(stage.config.read_text().replace("state/mtclaw.db", "new/place/mtclaw.db"))
        async with stage.gateway_process():
            place = tmp_path / "new" / "place"
            assert {path.name for path in place.iterdir()} >= {"mtclaw.db", "mtclaw.db.key", "mtclaw.db.lock"}
            assert {oct(path.stat().st_mode & 0o077) for path in (place, *place.iterdir())} == {"0o0"}


async def test_it_waits_for_a_network_that_is_late(tmp_path: Path) -> None:
    """A host often starts before its network: nothing is given up, and a stop is still heard."""
    async with open_stage(tmp_path, [say("Here.")], start=False) as stage:
        stage.telegram.fault("getMe", faults.bad_gateway(), times=1)
        async with stage.gateway_process():
            await stage.telegram.say(CHIEF, None, "there?")
            await stage.telegram.shown(CHIEF.id, "Here.", timeout=20)
        stage.telegram.fault("getMe", faults.hang())
        process = await stage.spawn("gateway")
        await stage.telegram.wait_for(lambda sim: sim.hanging("getMe") == 1, 20)
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(10):
            await process.communicate()
        assert process.returncode == 143


@pytest.mark.parametrize("when", ["start", "poll"])
async def test_a_token_that_is_not_accepted(tmp_path: Path, when: str) -> None:
    """One line and out, instead of asking for ever."""
    async with open_stage(tmp_path, start=False) as stage:
        stage.telegram.fault("getMe" if when == "start" else "getUpdates", faults.unauthorized(), times=faults.FOR_EVER)
        line = one_line(await gateway(stage))
        assert "Telegram does not accept" in line
        assert stage.telegram.token() not in line


BROKEN: tuple[tuple[str, str, str, str], ...] = (
    ("empty-list", "allow_from: [chief, deploy, review]", "allow_from: []", "would accept no one"),
    ("typo", "allow_from:", "alow_from:", "alow_from"),
    ("yaml", "people: {", "people: {{[", "config.yaml:"),
    ("twice", "owner: chief", "owner: chief\nowner: chief", "owner"),
    ("no-token", "token_file: secrets/telegram", "token_file: secrets/none", "secrets/none"),
    ("no-key", "api_key_file: secrets/model", "api_key_file: secrets/none", "secrets/none"),
    ("rule", "allow: []", "allow: ['[']", "tools.exec.allow"),
    ("off", "  telegram:\n", "  telegram:\n    enabled: false\n", "not enabled"),
)


@pytest.mark.parametrize(("old", "new", "says"), [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN])
async def test_a_configuration_that_cannot_be_used(tmp_path: Path, old: str, new: str, says: str) -> None:
    """It names what is wrong, starts nothing and makes nothing."""
    async with open_stage(tmp_path, start=False) as stage:
        text = stage.config.read_text()
        assert old in text
        stage.config.write_text(text.replace(old, new, 1))
        said = await gateway(stage)
        assert said.status == 1, said
        assert says in said.err
        assert "Traceback" not in said.err
        assert not (tmp_path / "state" / "mtclaw.db").exists()
        assert stage.telegram.log == ()


async def test_no_configuration_at_all(tmp_path: Path) -> None:
    """The place that it looked at, and what to do."""
    async with open_stage(tmp_path, start=False) as stage:
        stage.config.unlink()
        assert "config.yaml" in one_line(await gateway(stage))


async def parked(stage: Stage) -> None:
    """Leave a question behind, so that sealed rows wait in the database."""
    async with stage.gateway_process():
        await stage.telegram.say(CHIEF, None, "log it")
        await stage.telegram.shown(CHIEF.id, "Run this on", timeout=20)


@pytest.mark.parametrize("what", ["missing", "damaged", "another"])
async def test_a_sealing_key_that_does_not_fit(tmp_path: Path, what: str) -> None:
    """What waits sealed cannot be opened: it says so, overwrites nothing, and goes on with the right key."""
    steps = [call("exec", {"command": "echo x > x"}), say("Done.")]
    async with open_stage(tmp_path, steps, start=False) as stage:
        await parked(stage)
        key = tmp_path / "state" / "mtclaw.db.key"
        right = key.read_bytes()
        if what == "missing":
            key.unlink()
        else:
            key.write_bytes(b"short" if what == "damaged" else os.urandom(len(right)))
        line = one_line(await gateway(stage))
        assert "mtclaw.db.key" in line
        key.write_bytes(right)
        key.chmod(0o600)
        async with stage.gateway_process():
            await stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id, timeout=20)
            await stage.telegram.shown(CHIEF.id, "Done.", timeout=20)


@pytest.mark.parametrize("content", [b"", b"not a database at all\n" * 200, b"SQLite format 3\x00" + b"\xff" * 4096])
async def test_a_database_that_is_damaged(tmp_path: Path, content: bytes) -> None:
    """It is named, left as it is, and nothing is served over it."""
    async with open_stage(tmp_path, start=False) as stage:
        database = tmp_path / "state" / "mtclaw.db"
        database.write_bytes(content)
        line = one_line(await gateway(stage))
        assert str(database) in line
        assert database.read_bytes() == content
        assert not stage.telegram.calls("getUpdates")


async def test_a_place_where_nothing_can_be_written(tmp_path: Path) -> None:
    """Not even by root: the path and the reason, in one line."""
    async with open_stage(tmp_path, start=False) as stage:
        stage.config.write_text(stage.config.read_text().replace("state/mtclaw.db", "/proc/mtclaw/mtclaw.db"))
        assert "/proc" in one_line(await gateway(stage))


@pytest.fixture
def small_disk(tmp_path: Path) -> Path:
    """A file system of its own, of one megabyte."""
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], check=False).returncode:
        pytest.skip("needs: root for a tmpfs")
    return place


def fill(place: Path) -> Path:
    """Take what is left of that disk; the file that holds it."""
    ballast = place / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"\0" * 512)
    return ballast


async def test_a_full_disk_runs_nothing_and_heals(tmp_path: Path, small_disk: Path) -> None:
    """No record, no run; /stop is answered all the same, and with room again all is as before."""
    rules = Rulebook((Rule("now", (call("exec", {"command": "touch made"}), say("Done."))),), say("Here."))
    setting = Setting(allow="[{argv: [touch, '*']}]")
    try:
        async with open_stage(tmp_path, rules, setting, start=False) as stage:
            stage.config.write_text(stage.config.read_text().replace("state/mtclaw.db", f"{small_disk}/mtclaw.db"))
            async with stage.gateway_process():
                await stage.telegram.say(CHIEF, None, "there?")
                await stage.telegram.shown(CHIEF.id, "Here.", timeout=20)
                ballast = fill(small_disk)
                polls = len(stage.telegram.calls("getUpdates"))
                await stage.telegram.say(CHIEF, None, "make it now")
                await stage.telegram.wait_for(lambda sim: len(sim.calls("getUpdates")) >= polls + 2, 20)
                assert not (stage.workspace / "made").exists()
                await stage.telegram.say(CHIEF, None, "/stop")
                await stage.telegram.shown(CHIEF.id, "Nothing is running here.", timeout=20)
                ballast.unlink()
                await stage.telegram.wait_for(lambda sim: not sim.bot().queue.pending, 40)
                (stage.workspace / "made").unlink(missing_ok=True)
                await stage.telegram.say(CHIEF, None, "make it now")
                await stage.telegram.shown(CHIEF.id, "Done.", timeout=40)
                assert (stage.workspace / "made").exists()
            assert (await stage.cli("audit", "verify")).status == 0
    finally:
        subprocess.run(["umount", "-l", small_disk], check=True)


async def test_a_model_that_hangs_does_not_hold_up_a_stop(tmp_path: Path) -> None:
    """The turn is cut and told."""
    async with open_stage(tmp_path, [HANG], start=False) as stage, stage.gateway_process() as process:
        await stage.telegram.say(CHIEF, None, "think")
        await stage.model.wait_for(lambda model: model.hanging == 1, 20)
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(10):
            assert await process.wait() == 143
        assert "I was shut down" in " ".join(stage.bot_texts())
