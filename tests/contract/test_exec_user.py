"""A gateway that is root runs commands as another user: named in the question, bound by the yes, kept from what is ours."""

import os
import pwd
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mtbot.simulator.script import Step, call, say
from tests.contract.stage import CHIEF, Setting, Stage, open_stage
from tests.integration.storage.ordinary import open_directory

NOBODY = pwd.getpwnam("nobody")


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that everybody can reach."""
    with open_directory() as directory:
        yield directory


@asynccontextmanager
async def house(place: Path, steps: Sequence[Step]) -> AsyncIterator[Stage]:
    """A stage whose workspace and commands are nobody's."""
    (place / "workspace").mkdir()
    os.chown(place / "workspace", NOBODY.pw_uid, NOBODY.pw_gid)
    async with open_stage(place, steps, Setting(exec_extra="user: nobody")) as stage:
        yield stage


if os.geteuid() == 0:  # only root can become somebody else

    async def test_a_command_runs_as_that_user_and_what_tools_make_is_theirs(place: Path) -> None:
        """Approved by a press; the secrets and the database stay out of reach."""
        look = f"id -un > who; echo $HOME $USER >> who; cat {place}/secrets/telegram {place}/state/mtclaw.db >> who 2>&1; echo more >> note"
        steps = [
            call("write_file", {"path": "sub/note", "content": "made by a tool\n"}),
            call("exec", {"command": f"cd sub && {look}"}),
            say("Done."),
        ]
        async with house(place, steps) as stage:
            await stage.telegram.say(CHIEF, None, "who are you")
            asked = await stage.telegram.shown(CHIEF.id, "Run this on")
            assert "· as nobody · not contained" in asked.text
            await stage.telegram.press(CHIEF, "✅ Approve once")
            await stage.telegram.shown(CHIEF.id, "Done.", timeout=20)
            who = (stage.workspace / "sub" / "who").read_text().splitlines()
            assert who[:2] == ["nobody", f"{NOBODY.pw_dir} nobody"]
            assert [line.rsplit(": ", 1)[1] for line in who[2:]] == ["Permission denied"] * 2
            for name in ("sub", "sub/note", "sub/who"):
                assert (stage.workspace / name).stat().st_uid == NOBODY.pw_uid
            assert (stage.workspace / "sub" / "note").read_text() == "made by a tool\nmore\n"

    async def test_a_yes_is_for_that_user(place: Path) -> None:
        """Approved, then the owner takes the key out: it does not run as root instead."""
        async with house(place, [call("exec", {"command": "touch made"}), say("x")]) as stage:
            await stage.telegram.say(CHIEF, None, "make it")
            asked = await stage.telegram.shown(CHIEF.id, "Run this on")
            ident = asked.text.split("#", 1)[1].split()[0]
            await stage.stop()
            assert (await stage.cli("approvals", "approve", ident)).status == 0
            stage.config.write_text(stage.config.read_text().replace("user: nobody", ""))
            await stage.start()
            await stage.telegram.wait_for(lambda _: len(stage.model.requests) == 2, 15)
            assert "changed between the question and the approval" in str(stage.model.requests[-1].messages[-1])
            assert not (stage.workspace / "made").exists()

    async def test_doctor_says_which_of_the_two_it_is(place: Path) -> None:
        """Root with another user for commands, and root without."""
        async with house(place, []) as stage:
            said = await stage.cli("doctor", "--offline")
            assert "commands as nobody, who cannot reach database, keys and secrets" in said.out
            (place / "secrets" / "model").chmod(0o644)
            (place / "secrets").chmod(0o755)
            said = await stage.cli("doctor", "--offline")
            assert f"who can all the same reach {place}/secrets/model" in said.out
            stage.config.write_text(stage.config.read_text().replace("user: nobody", ""))
            said = await stage.cli("doctor", "--offline")
            assert "the gateway and its commands run as root" in said.out


async def test_what_cannot_be_had_is_one_line_and_nothing_starts(place: Path) -> None:
    """A user that does not exist; a workspace that is not theirs."""
    async with open_stage(place, [], Setting(exec_extra="user: no-such-user"), start=False) as stage:
        said = await stage.cli("gateway")
        assert said.status == 1
        assert said.err.splitlines()[0] == "mtclaw: tools.exec.user: there is no user no-such-user on this host"
        said = await stage.cli("doctor", "--offline")
        assert said.status == 1
        assert "FAIL" in said.out
        stage.config.write_text(stage.config.read_text().replace("no-such-user", "nobody"))
        said = await stage.cli("gateway")
        assert said.status == 1
        wanted = (
            "agent.workspace: nobody cannot write in" if os.geteuid() == 0 else "only a gateway that is started as root"
        )
        assert wanted in said.err
