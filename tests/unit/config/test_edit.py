"""The file is changed in one place and nowhere else, or not at all."""

from pathlib import Path

import pytest

from mtbot.config.edit import add_person, add_to_list
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


SHORT = """\
version: 1
people: {chief: 1001}  # us
channels:
  telegram:
    allow_from: [chief]  # who may speak
"""
LONG = """\
people:
  chief: 1001
channels:
  telegram:
    bots:
      ops: {token_file: t, allow_from: [chief]}
      other: {token_file: o}
"""


def test_a_person_is_named_and_put_on_the_list_of_a_bot(tmp_path: Path) -> None:
    """In the short form, in that of several bots, and where there was no list yet; comments stay."""
    file = written(tmp_path, SHORT)
    add_person(file, "deploy", 1002, "main", check_nothing)
    wanted = SHORT.replace("1001}", "1001, deploy: 1002}").replace("[chief]", "[chief, deploy]")
    assert file.read_text().replace(" #", "  #").replace("   #", "  #") == wanted  # a comment may move by a column
    file = written(tmp_path, LONG)
    add_person(file, "deploy", 1002, "ops", check_nothing)
    changed = LONG.replace("  chief: 1001", "  chief: 1001\n  deploy: 1002")
    assert file.read_text() == changed.replace("[chief]", "[chief, deploy]")
    add_person(file, "review", 1003, "other", check_nothing)
    assert "other: {token_file: o, allow_from: [review]}" in file.read_text().replace("\n", " ").replace("  ", "")


def test_a_person_who_is_there_already_or_would_break_the_file_changes_nothing(tmp_path: Path) -> None:
    """Neither half is written."""
    file = written(tmp_path, SHORT)
    with pytest.raises(ConfigError, match="there is a chief already"):
        add_person(file, "chief", 5, "main", check_nothing)

    def refuse(_file: Path) -> None:
        raise ConfigError(("no",))

    with pytest.raises(ConfigError, match="no"):
        add_person(file, "deploy", 5, "main", refuse)
    assert file.read_text() == SHORT
    for text in ("people: [a]\n", "- a\n"):
        file = written(tmp_path, text)
        with pytest.raises(ConfigError):
            add_person(file, "deploy", 5, "main", check_nothing)
