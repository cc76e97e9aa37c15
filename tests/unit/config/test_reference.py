"""The example and the page are what the code says today, and whatever they show is true."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mtbot.config.load import load
from mtbot.config.reference import EXAMPLE, PAGE, Row, example, main, page, rows
from mtbot.config.settings import Top
from mtbot.config.values import Section
from tests.unit.config.sample import HOME, RULES, SMALL, read, write

ROOT = Path(__file__).parents[3]


def test_the_files_in_the_project_are_current(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same check as in CI."""
    monkeypatch.chdir(ROOT)
    assert main(["--check"]) == 0


def test_a_stale_file_is_named_and_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Checking changes nothing; writing makes the check pass."""
    monkeypatch.chdir(tmp_path)
    assert main(["--check"]) == 1
    assert capsys.readouterr().err.count("is out of date") == 2
    assert list(tmp_path.iterdir()) == []
    assert main(["--write"]) == 0
    assert main(["--check"]) == 0
    (tmp_path / PAGE).write_text("old")
    assert main(["--check"]) == 1
    assert capsys.readouterr().err == f"{PAGE} is out of date: run python -m mtbot.config.reference --write\n"
    assert main([]) == 2


def test_the_module_can_be_run(tmp_path: Path) -> None:
    """As the makefile does."""
    command = [sys.executable, "-m", "mtbot.config.reference", "--write"]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
    assert (tmp_path / EXAMPLE).read_text() == example()


def test_the_example_loads_and_permits_only_what_it_shows(tmp_path: Path) -> None:
    """It is a file to start from."""
    settings = load(write(tmp_path, example()), {}, HOME, RULES)
    assert (settings.owner, settings.base.agent.model, settings.warnings) == (1001, "main/qwen3-32b", ())
    assert settings.channels.telegram.bots["main"].allow_from == (1001,)


def test_every_line_of_the_example_that_is_commented_out_loads_too(tmp_path: Path) -> None:
    """With all of them in force at once, which also shows that the defaults are values that may be written."""
    text = re.sub(r"^#( {2,}|[a-z])", r"\1", example(), flags=re.MULTILINE)
    settings = load(write(tmp_path, text), {}, HOME, RULES)
    assert [job.name for job in settings.cron.jobs] == ["nightly-check"]
    assert settings.profile_for("main").agent.workspace == Path("/srv/ops")
    assert not re.search(r"^#( {2,}|[a-z])", text, flags=re.MULTILINE)


def test_a_default_that_the_page_tells_is_the_default(tmp_path: Path) -> None:
    """Written out under its key, it changes nothing of what is in effect."""
    told = {row.key: row for row in rows()}
    base = read(tmp_path, SMALL)
    checked = 0
    for key, row in told.items():
        if "NAME" in key or "[]" in key or row.default in {"required", "unset"} or "agent." in row.default:
            continue
        if key in {"version", "people", "providers", "channels.telegram.bots"}:
            continue
        *above, last = key.split(".")
        text = "".join(f"{'  ' * depth}{part}:\n" for depth, part in enumerate(above))
        text += f"{'  ' * len(above)}{last}: {row.default}\n"
        changed = load(write(tmp_path, _merged(text)), {}, HOME, RULES)
        assert changed == base, key
        checked += 1
    assert checked > 40


def _merged(text: str) -> str:
    """``SMALL`` with that key; the two sections that both may hold are written together."""
    if text.startswith("agent:"):
        return SMALL.replace("agent: {model: gpt-5}\n", text + "  model: gpt-5\n")
    if text.startswith("channels:"):
        return SMALL.replace("channels: {telegram: {allow_from: [chief]}}\n", text + "    allow_from: [chief]\n")
    return SMALL + text


def sections(of: type[Section]) -> set[type[Section]]:
    """Every section below one."""
    found: set[type[Section]] = set()
    waiting = [of]
    while waiting:
        section = waiting.pop()
        found.add(section)
        text = str(section.__annotations__)
        waiting += [one for one in Section.__subclasses__() if one.__name__ in text and one not in found]
    return found


def test_the_page_tells_of_every_key_with_a_rule_and_a_sentence() -> None:
    """A key that nobody can look up does not exist for the person who writes the file."""
    text = page()
    names = {info.alias or name for section in sections(Top) for name, info in section.model_fields.items()}
    names -= {"who"}  # Approvers is written as a word or a list
    assert len(names) > 70
    assert [name for name in sorted(names) if f".{name}" not in text and f"`{name}" not in text] == []
    for row in rows():
        assert row.rule, row.key
        assert row.says.endswith("."), row.key


def test_rules_are_told_by_the_kinds_themselves() -> None:
    """Bounds, words and lists, as the validators have them."""
    told = {row.key: row for row in rows()}
    assert told["agent.max_iterations"].rule == "whole number from 1 to 100"
    assert told["tools.exec.mode"] == Row(
        "tools.exec.mode", "approval", "approval or auto or off", "What happens to a command that no rule decides."
    )
    assert told["tools.exec.cwd"].default == "agent.workspace"
    assert told["tools.web_fetch.hosts"].rule.startswith("list: host name")
    assert told["cron.jobs[].deliver_to.thread_id"].rule == "whole number from 1 to 2147483647"
    assert told["agent.model"].default == "required"
