"""Lines of sudoers: exactly what was listed, in the grammar of visudo, and nothing wider."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mtbot.policy.sudoers import Found, account_fault, lines, refused


def found(program: str) -> Found:
    """Every program but a few is root's."""
    return {
        "nowhere": Found(""),
        "loose": Found("/opt/loose", "/opt can be changed by others than root"),
        "odd": Found("/opt/o dd"),
    }.get(program, Found(f"/usr/bin/{program}"))


GOOD = {
    ("sudo", "systemctl", "restart", "nginx.service"): "/usr/bin/systemctl restart nginx.service",
    ("sudo", "apt-get", "update"): "/usr/bin/apt-get update",
    ("sudo", "id"): '/usr/bin/id ""',
    ("sudo", "x", "a,b", "c:d", "e=f", "g\\h"): "/usr/bin/x a\\,b c\\:d e\\=f g\\\\h",
    ("sudo", "x", "-o", "--all", "+1", "50%", "a@b"): "/usr/bin/x -o --all +1 50% a@b",
}
BAD = {
    ("sudo", "x", "*"): "a wildcard of sudoers",
    ("sudo", "x", "**"): "a wildcard of sudoers",
    ("sudo", "x", "a b"): "means something else in sudoers",
    ("sudo", "x", "a*"): "means something else in sudoers",
    ("sudo", "x", "a?"): "means something else in sudoers",
    ("sudo", "x", "[a]"): "means something else in sudoers",
    ("sudo", "x", "^a$"): "means something else in sudoers",
    ("sudo", "x", "#a"): "means something else in sudoers",
    ("sudo", "x", '"a"'): "means something else in sudoers",
    ("sudo", "x", "!a"): "means something else in sudoers",
    ("sudo", "x", "a\nb ALL=(ALL) NOPASSWD: ALL"): "means something else in sudoers",
    ("sudo", "x", "ü"): "means something else in sudoers",
    ("sudo", "x", "a", ""): "an empty argument",
    ("sudo", "nowhere", "a"): "not on tools.exec.path",
    ("sudo", "loose", "a"): "/opt can be changed by others than root",
    ("sudo", "odd", "a"): "the path of the program",
}


@pytest.mark.parametrize("pattern", GOOD)
def test_what_is_plain_becomes_one_line(pattern: tuple[str, ...]) -> None:
    """Without a password, as root, with exactly these arguments."""
    (*head, line) = lines([pattern], "mtclaw", found)
    assert line == f"mtclaw ALL=(root) NOPASSWD: {GOOD[pattern]}"
    assert all(one.startswith("# ") for one in head)
    assert not refused(line)


@pytest.mark.parametrize("pattern", BAD)
def test_what_would_permit_more_is_left_out_with_the_reason(pattern: tuple[str, ...]) -> None:
    """As one comment line, whatever is in it."""
    line = lines([pattern], "mtclaw", found)[-1]
    assert refused(line)
    assert BAD[pattern] in line
    assert line.startswith("# ")
    assert line.isascii()
    assert "\n" not in line


def test_an_empty_list_is_said_to_be_empty() -> None:
    """And valid sudoers."""
    (line,) = lines([], "mtclaw", found)
    assert line.startswith("# elevation.chat is empty")


@pytest.mark.parametrize("user", ["", "-x", ".x", "a b", "a:b", "%wheel", "ALL ", "#0", "1000", "a\n"])
def test_a_user_that_sudoers_reads_otherwise_is_a_fault(user: str) -> None:
    """A group, a number, two words."""
    assert account_fault(user)
    assert account_fault("mtclaw-1.x_y") == ""


@pytest.mark.parametrize("tool", ["visudo", "cvtsudoers"])
def test_sudo_itself_reads_them_as_they_are_meant(tool: str, tmp_path: Path) -> None:
    """Valid for visudo, and each one command with its arguments."""
    program = shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip(f"needs: {tool}")
    file = tmp_path / "sudoers"
    file.write_text("\n".join(lines([*GOOD, *BAD], "mtclaw", found)) + "\n")
    file.chmod(0o440)
    argv = [program, "-cf", str(file)] if tool == "visudo" else [program, "-f", "json", str(file)]
    result = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    if tool == "cvtsudoers":
        specs = json.loads(result.stdout)["User_Specs"]
        assert [one["User_List"] for one in specs] == [[{"username": "mtclaw"}]] * len(specs)
        commands = [spec["Commands"][0]["command"] for one in specs for spec in one["Cmnd_Specs"]]
        assert len(commands) == len(GOOD)
        for command, pattern in zip(commands, GOOD, strict=True):
            wanted = " ".join((f"/usr/bin/{pattern[1]}", *pattern[2:])) if pattern[2:] else f'/usr/bin/{pattern[1]} ""'
            assert command.replace("\\", "") == wanted.replace("\\", "")
