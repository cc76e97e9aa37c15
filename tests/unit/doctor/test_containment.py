"""What doctor finds out about containment, on this host and in a configuration."""

from dataclasses import replace
from pathlib import Path

from mtbot.bootstrap.offline import load_all
from mtbot.doctor.containment import ProfileHeld, held_here, profiles_held
from mtbot.processes.confiner import Confiner
from mtbot.processes.containment import Guard
from mtbot.processes.runner import Runner
from mtbot.processes.spawning import start_spawner

CONFIG = """\
version: 1
people: {chief: 1001}
owner: chief
agent: {model: m, workspace: ws}
openai: {api_key_env: ""}
channels: {telegram: {token_file: token, allow_from: [chief]}}
tools:
  exec:
    allow_packs: [readonly]
    allow: [{argv: [make, "*"]}, {argv: [npm, ci], containment: host}, {argv: [restic, backup], containment: contained}]
profiles:
  near: {agent: {workspace: .}, tools: {exec: {mode: auto, containment: {profile: contained, require: true}}}}
  quiet: {tools: {exec: {mode: "off"}}}
storage: {dsn: db/m.db}
"""


async def test_the_host_is_judged_by_trying(tmp_path: Path) -> None:
    """The same answer as a gateway gets."""
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG)
    runner = Runner(start_spawner())
    confiner = Confiner(runner, Guard(lambda _path: False, lambda _path: False))
    expected = await confiner.state()
    await runner.close()
    found = await held_here(load_all(str(file), environ={"HOME": str(tmp_path)}))
    assert replace(found, missing=()) == replace(expected, missing=())


def test_profiles_name_what_counts_on_it(tmp_path: Path) -> None:
    """Packs, the owner's rules for programs that run files, modes; and a workspace that holds the configuration."""
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG)
    base = ("the readonly pack", "allow[0] (make)", "allow[2] (restic)")
    trouble = f"the workspace holds {file}, which no contained command may reach"
    assert profiles_held(load_all(str(file), environ={"HOME": str(tmp_path)})) == (
        ProfileHeld("", "", base),
        ProfileHeld("near", trouble, (*base, "mode auto", "containment.profile: contained"), require=True),
    )
