"""The file is changed in one place and nowhere else, or not at all."""

from pathlib import Path

import pytest

from mtbot.config.edit import add_to_list
from mtbot.domain.errors import ConfigError

BEFORE = """\
# mine
version: 1
tools:   # all of them
  exec:
    allow:
      - {argv: [ls]}  # keep
"""


def check_nothing(file: Path) -> None:
    """Content with every candidate."""
    assert file.exists()


def written(tmp_path: Path, text: str) -> Path:
    """A configuration file of mode 0600."""
    file = tmp_path / "config.yaml"
    file.write_text(text)
    file.chmod(0o600)
    return file


def test_an_entry_is_appended_and_the_rest_stays(tmp_path: Path) -> None:
    """Comments and mode too."""
    file = written(tmp_path, BEFORE)
    add_to_list(file, ("tools", "exec", "allow"), {"argv": ["df", "-h"], "why": "disk"}, check_nothing)
    assert file.read_text() == BEFORE + "      - {argv: [df, -h], why: disk}\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]


def test_what_is_missing_on_the_way_is_made(tmp_path: Path) -> None:
    """Also in an empty file, and where a key has no value."""
    file = written(tmp_path, "tools:\n")
    add_to_list(file, ("tools", "exec", "builtin_deny", "ask"), "files.rm-recursive", check_nothing)
    assert file.read_text() == "tools:\n  exec:\n    builtin_deny:\n      ask:\n        - files.rm-recursive\n"
    empty = written(tmp_path, "")
    add_to_list(empty, ("a",), "x", check_nothing)
    assert empty.read_text() == "a:\n  - x\n"


def test_a_candidate_that_would_not_load_changes_nothing(tmp_path: Path) -> None:
    """The old file stands, byte for byte."""
    file = written(tmp_path, BEFORE)

    def refuse(candidate: Path) -> None:
        raise ConfigError((f"{candidate.name}: no",))

    with pytest.raises(ConfigError, match="no"):
        add_to_list(file, ("tools", "exec", "allow"), "x", refuse)
    assert file.read_text() == BEFORE
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "cannot be edited"),
        ("tools: 5\n", "exec cannot be added"),
        ("tools: {exec: {allow: {x: 1}}}\n", "allow is not a list"),
        ("- a\n", "tools cannot be added"),
    ],
)
def test_a_file_of_another_shape_is_an_error(tmp_path: Path, text: str, said: str) -> None:
    """One line that says what is wrong."""
    file = written(tmp_path, text)
    with pytest.raises(ConfigError, match=said):
        add_to_list(file, ("tools", "exec", "allow"), "x", check_nothing)
    assert file.read_text() == text
