"""The import contracts hold, cover the whole tree, and each of them is awake."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.architecture.sources import ROOT

ROWS = "Each row imports only rows below it, and siblings in a row never import each other"
SURFACES = "Surfaces are thin: they ask and speak, and decide nothing"
PORTS = "The flow sees drivers only through ports, not even through others"
CORE = "The core does no input or output, knows no time and no driver"
STRANGERS = "The simulator knows nothing of what it tests"
SIMULATOR = "The simulator is started by the command line, and by nothing that serves"
CIRCLES = "No circles among siblings"

PLANTED = (
    (ROWS, "domain/ids.py", "mtbot.config.values", "mtbot.domain.ids -> mtbot.config.values"),
    (ROWS, "storage/place.py", "mtbot.llm.openai", "mtbot.storage.place -> mtbot.llm.openai"),
    (ROWS, "plugins/__init__.py", "json", "- mtbot.plugins"),
    (SURFACES, "cron/trigger.py", "mtbot.policy.evaluate", "mtbot.cron.trigger -> mtbot.policy.evaluate"),
    (PORTS, "gateway/lanes.py", "mtbot.storage.place", "mtbot.gateway.lanes -> mtbot.storage.place"),
    (CORE, "policy/words.py", "subprocess", "mtbot.policy.words -> subprocess"),
    (STRANGERS, "simulator/values.py", "mtbot.audit", "mtbot.simulator.values -> mtbot.audit"),
    (SIMULATOR, "gateway/turns.py", "mtbot.simulator.telegram", "mtbot.gateway.turns -> mtbot.simulator.telegram"),
    (CIRCLES, "storage/place.py", "mtbot.storage.engine", "No cycles are allowed in mtbot.storage."),
)
"""For each contract a file, an import that breaks it when it is planted there, and how the contract names it."""


def contracts(directory: Path) -> str:
    """What the import linter says of a tree."""
    ran = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        cwd=directory,
        env=os.environ | {"PYTHONPATH": str(directory), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return ran.stdout


def test_every_contract_is_kept() -> None:
    """The tree as it is breaks none."""
    said = contracts(ROOT)
    assert said.splitlines()[-1:] == ["Contracts: 7 kept, 0 broken."], said


def test_every_contract_sees_what_would_break_it(tmp_path: Path) -> None:
    """With bad imports planted for each of them, every contract is broken and names its own."""
    shutil.copytree(ROOT / "mtbot", tmp_path / "mtbot", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for _, path, module, _ in PLANTED:
        file = tmp_path / "mtbot" / path
        file.parent.mkdir(exist_ok=True)
        with file.open("a") as end:
            end.write(f"\nimport {module}\n")
    said = contracts(tmp_path)
    assert "Contracts: 0 kept, 7 broken." in said
    unseen = [(name, told) for name, _, _, told in PLANTED if told not in section(said, name)]
    assert unseen == []


def section(said: str, name: str) -> str:
    """What is said of one broken contract."""
    rest = said.partition(f"{name}\n{'-' * len(name)}\n")[2]
    return re.split(r"\n-{10,}\n", rest)[0]
