"""G8: what no person looked at runs contained, on every surface; where that cannot be, it is said, asked or refused."""

from datetime import UTC
from pathlib import Path

import pytest

from mtbot.cli.trails import story_of
from mtbot.domain.record import EventKind
from mtbot.processes import probe
from mtbot.simulator.script import call, say
from tests.contract.stage import CHIEF, Setting, Stage, open_stage
from tests.contract.surfaces import SURFACES, Way

PACK = "allow_packs: [readonly]"
ENDED = "That is what I found."

ATTACK = """\
all:
\techo made > made
\t-echo x > {outside}/written
\t-cat {secrets}/telegram > stolen
\t-bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port} && echo out > reached'
\tfalse
"""


@pytest.fixture
def nothing_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host on whose probe a TCP connection could be made."""
    monkeypatch.setattr(
        probe, "command", lambda _interpreter, _found: ("/bin/echo", '{"allowed": true, "made": ["tcp"]}')
    )


async def profiles(stage: Stage) -> list[str]:
    """The profile of everything that started, oldest first."""
    return [event.draft.profile for event in await stage.events() if event.draft.kind is EventKind.STARTED]


def told(stage: Stage) -> str:
    """What the model read last."""
    return stage.model.requests[-1].last_tool_result


@pytest.mark.parametrize("way", SURFACES, ids=lambda way: way.name)
async def test_a_command_of_the_pack_runs_contained(tmp_path: Path, way: Way) -> None:
    """It looks at its operand, and the record says where it ran."""
    steps = [call("exec", {"command": "cat note.txt"}), say(ENDED)]
    async with open_stage(tmp_path, steps, Setting(exec_extra=PACK)) as stage:
        (stage.workspace / "note.txt").write_text("remember the milk")
        await way.turn(stage, ENDED)
        assert "remember the milk" in told(stage)
        assert await profiles(stage) == ["contained"]


@pytest.mark.parametrize("way", SURFACES, ids=lambda way: way.name)
async def test_a_build_by_a_rule_reaches_nothing_but_the_workspace(tmp_path: Path, way: Way) -> None:
    """The model may have written its files: so no write outside, no secret, no network, by day and by night alike."""
    steps = [call("exec", {"command": "make"}), say(ENDED)]
    async with open_stage(tmp_path, steps, Setting(allow="[{argv: [make]}]")) as stage:
        outside = tmp_path / "outside"
        outside.mkdir()
        port = stage.model.base_url.split(":")[2].split("/")[0]
        attack = ATTACK.format(outside=outside, secrets=tmp_path / "secrets", port=port)
        (stage.workspace / "Makefile").write_text(attack)
        await way.turn(stage, ENDED)
        assert (stage.workspace / "made").read_text() == "made\n"
        assert list(outside.iterdir()) == []
        assert (stage.workspace / "stolen").read_text() == ""
        assert not (stage.workspace / "reached").exists()
        assert "note: this ran contained: no network, writes only in the workspace" in told(stage)
        assert await profiles(stage) == ["contained"]


async def test_a_rule_may_grant_the_network_and_a_path(tmp_path: Path) -> None:
    """And nothing beside them."""
    outside = tmp_path / "outside"
    allow = f"[{{argv: [make], network: true, write: [{outside}]}}]"
    steps = [call("exec", {"command": "make"}), say(ENDED)]
    outside.mkdir()
    async with open_stage(tmp_path, steps, Setting(allow=allow)) as stage:
        port = stage.model.base_url.split(":")[2].split("/")[0]
        attack = ATTACK.format(outside=outside, secrets=tmp_path / "secrets", port=port)
        (stage.workspace / "Makefile").write_text(attack)
        await SURFACES[0].turn(stage, ENDED)
        assert (outside / "written").exists()
        assert (stage.workspace / "reached").exists()
        assert (stage.workspace / "stolen").read_text() == ""


async def test_the_owner_may_say_that_a_build_runs_on_the_host(tmp_path: Path) -> None:
    """Then it does."""
    outside = tmp_path / "outside"
    outside.mkdir()
    steps = [call("exec", {"command": "make"}), say(ENDED)]
    async with open_stage(tmp_path, steps, Setting(allow="[{argv: [make], containment: host}]")) as stage:
        (stage.workspace / "Makefile").write_text(f"all:\n\techo x > {outside}/written\n")
        await SURFACES[0].turn(stage, ENDED)
        assert (outside / "written").exists()
        assert await profiles(stage) == ["host"]


async def test_what_a_person_approved_runs_on_the_host(tmp_path: Path) -> None:
    """As the question says."""
    steps = [call("exec", {"command": f"echo x > {tmp_path}/written"}), say(ENDED)]
    async with open_stage(tmp_path, steps) as stage:
        await stage.telegram.say(CHIEF, None, "do it")
        asked = await stage.telegram.shown(CHIEF.id, "Run this on")
        assert "· not contained, network open" in asked.text
        await stage.telegram.press(CHIEF, asked.id)
        await stage.telegram.shown(CHIEF.id, ENDED)
        assert (tmp_path / "written").exists()
        assert await profiles(stage) == ["host"]


async def test_an_owner_may_have_approved_commands_contained(tmp_path: Path) -> None:
    """The question says so, and so it is."""
    steps = [call("exec", {"command": f"touch mine; echo x > {tmp_path}/written"}), say(ENDED)]
    async with open_stage(tmp_path, steps, Setting(exec_extra="containment: {profile: contained}")) as stage:
        await stage.telegram.say(CHIEF, None, "do it")
        asked = await stage.telegram.shown(CHIEF.id, "Run this on")
        assert "· contained, network closed" in asked.text
        await stage.telegram.press(CHIEF, asked.id)
        await stage.telegram.shown(CHIEF.id, ENDED)
        assert (stage.workspace / "mine").exists()
        assert not (tmp_path / "written").exists()
        assert await profiles(stage) == ["contained"]


async def test_status_says_what_holds(tmp_path: Path) -> None:
    """In the line about the host."""
    async with open_stage(tmp_path) as stage:
        await stage.engine.machinery.confiner.state()
        await stage.telegram.say(CHIEF, None, "/status")
        await stage.telegram.shown(CHIEF.id, "containment ready: files, network")


@pytest.mark.usefixtures("nothing_holds")
async def test_where_it_is_missing_result_and_record_say_so(tmp_path: Path) -> None:
    """The owner named the command, so it runs, and nobody can take it for contained."""
    steps = [call("exec", {"command": "make"}), say(ENDED)]
    async with open_stage(tmp_path, steps, Setting(allow="[{argv: [make]}]")) as stage:
        (stage.workspace / "Makefile").write_text("all:\n\techo made > made\n")
        await SURFACES[0].turn(stage, ENDED)
        assert (stage.workspace / "made").exists()
        assert "note: NOT CONTAINED" in told(stage)
        assert await profiles(stage) == ["host, NOT CONTAINED"]
        await stage.telegram.say(CHIEF, None, "/status")
        await stage.telegram.shown(CHIEF.id, "containment NOT CONTAINED: TCP connections can be made")


@pytest.mark.usefixtures("nothing_holds")
@pytest.mark.parametrize("command", ["make", "cat Makefile"])
async def test_where_it_is_required_and_missing_nothing_runs(tmp_path: Path, command: str) -> None:
    """Neither a build nor a look."""
    steps = [call("exec", {"command": command}), say(ENDED)]
    extra = f"containment: {{require: true}}\n    {PACK}"
    async with open_stage(tmp_path, steps, Setting(allow="[{argv: [make]}]", exec_extra=extra)) as stage:
        (stage.workspace / "Makefile").write_text("all:\n\techo made > made\n")
        await SURFACES[0].turn(stage, ENDED)
        assert not (stage.workspace / "made").exists()
        assert await profiles(stage) == []
        assert [line.decision for line in await stage.lines()] == ["denied_rule"]
        assert "Rule containment.required" in " ".join(stage.bot_texts())


@pytest.mark.usefixtures("nothing_holds")
async def test_the_classifier_alone_lets_nothing_run_uncontained(tmp_path: Path) -> None:
    """A person is asked, and the question says why."""
    steps = [call("exec", {"command": "uname -a"}), say(ENDED)]
    async with open_stage(tmp_path, steps, Setting(mode="auto")) as stage:
        await stage.telegram.say(CHIEF, None, "which kernel?")
        asked = await stage.telegram.shown(CHIEF.id, "Run this on")
        assert "NOT CONTAINED: this host cannot contain what only the classifier passed" in asked.text


@pytest.mark.usefixtures("nothing_holds")
async def test_an_approval_that_was_to_be_contained_says_that_it_is_not(tmp_path: Path) -> None:
    """In the line that says where it runs."""
    steps = [call("exec", {"command": "touch x && true"}), say(ENDED)]
    async with open_stage(tmp_path, steps, Setting(exec_extra="containment: {profile: contained}")) as stage:
        await stage.telegram.say(CHIEF, None, "do it")
        asked = await stage.telegram.shown(CHIEF.id, "Run this on")
        assert "· NOT CONTAINED, network open" in asked.text


async def test_a_workspace_that_holds_own_files_contains_nothing(tmp_path: Path) -> None:
    """The database must not be within reach of a build, so such a build is not called contained."""
    steps = [call("exec", {"command": "make"}), say(ENDED)]
    async with open_stage(tmp_path, steps, Setting(allow="[{argv: [make]}]"), start=False) as stage:
        stage.config.write_text(stage.config.read_text().replace(f"{stage.workspace}", f"{tmp_path}"))
        await stage.start()
        (tmp_path / "Makefile").write_text("all:\n\techo made > made\n")
        await SURFACES[0].turn(stage, ENDED)
        assert await profiles(stage) == ["host, NOT CONTAINED"]


BOXED = """\
all:
\t-cat .env
\t-echo evil > .git/hooks/pre-commit
\t-chmod 600 {outside}
\t-ls /proc | grep -c '^[0-9]*$$' > seen
\tfalse
"""


async def bubblewrap_holds(stage: Stage) -> None:
    """Skip where this machine has none that works."""
    if not (await stage.engine.machinery.confiner.state()).bubblewrap:
        pytest.skip("needs: bubblewrap")


async def test_a_build_finds_no_secret_and_changes_no_hook(tmp_path: Path) -> None:
    """Result and record say under what it ran."""
    steps = [call("exec", {"command": "make"}), say(ENDED)]
    async with open_stage(tmp_path, steps, Setting(allow="[{argv: [make]}]")) as stage:
        await bubblewrap_holds(stage)
        outside = tmp_path / "outside"
        outside.mkdir(mode=0o755)
        hooks = stage.workspace / ".git" / "hooks"
        hooks.mkdir(parents=True)
        (stage.workspace / ".env").write_text("PLAIN=untold")
        (stage.workspace / "Makefile").write_text(BOXED.format(outside=outside))
        await SURFACES[0].turn(stage, ENDED)
        assert "untold" not in told(stage)
        assert "; secrets in the workspace are hidden, and what git obeys cannot be changed" in told(stage)
        assert list(hooks.iterdir()) == []
        assert outside.stat().st_mode & 0o777 == 0o755
        assert int((stage.workspace / "seen").read_text()) < 12
        events = list(await stage.events())
        ends = [event.draft for event in events if event.draft.kind is EventKind.FINISHED]
        assert ends[0].detail.endswith(" held: files, network, signals, bubblewrap")
        assert story_of(events, stage.engine.loaded.people, UTC)[-1].endswith(
            "  held: files, network, signals, bubblewrap"
        )


async def test_git_alone_may_write_in_its_repository(tmp_path: Path) -> None:
    """And a text that starts something else as well may not."""
    allow = "[{argv: [git, init, '*']}, {argv: [git, -C, '*', add, '*']}, {argv: [make]}]"
    steps = [
        call("exec", {"command": "git init r"}),
        call("exec", {"command": "git -C r add note"}),
        call("exec", {"command": "git -C r add note && make"}),
        say(ENDED),
    ]
    async with open_stage(tmp_path, steps, Setting(allow=allow)) as stage:
        await bubblewrap_holds(stage)
        (stage.workspace / "r").mkdir()
        (stage.workspace / "r" / "note").write_text("x")
        await SURFACES[0].turn(stage, ENDED)
        codes = [event.draft.exit_code for event in await stage.events() if event.draft.kind is EventKind.FINISHED]
        assert codes == [0, 0, 128]
