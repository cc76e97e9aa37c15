"""Where sudo would find a program, and who could put another one there."""

from pathlib import Path

import pytest

from mtbot.bootstrap.sudoers import find_program


def test_a_program_of_the_system_is_roots() -> None:
    """With every directory above it."""
    found = find_program("env", ("/nowhere", "/usr/bin"))
    assert (found.path, found.trouble) == ("/usr/bin/env", "")


def test_what_is_on_no_path_is_nowhere(tmp_path: Path) -> None:
    """Nor is a file that cannot be executed, or a directory."""
    (tmp_path / "plain").write_text("x")
    (tmp_path / "folder").mkdir()
    for name in ("plain", "folder", "none"):
        assert find_program(name, (str(tmp_path),)).path == ""


@pytest.mark.parametrize("loose", ["program", "programs"])
def test_what_others_can_change_is_trouble(tmp_path: Path, loose: str) -> None:
    """The file itself, or the directory that it lies in; also behind a link."""
    directory = tmp_path / "programs"
    directory.mkdir()
    program = directory / "program"
    program.write_text("x")
    program.chmod(0o755)
    places = {"program": program, "programs": directory}
    places[loose].chmod(0o777)
    link = tmp_path / "link"
    link.symlink_to(program)
    for name, where in (("program", directory), ("link", tmp_path)):
        assert "can be changed by others than root" in find_program(name, (str(where),)).trouble
