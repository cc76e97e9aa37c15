"""What a profile is built of, and what of it cannot be had."""

import os
import subprocess
from pathlib import Path

import pytest

from mtbot.bootstrap.profiles import MAX_PROMPT_FILE, child_environment, read_prompt_files
from tests.unit.config.sample import SMALL, read


def test_a_prompt_file_that_cannot_be_used_is_left_out_and_named(tmp_path: Path) -> None:
    """No pipe holds up the start, no device fills the memory, and the others still count; what is no text is read as one."""
    pipe, large, words, binary = (tmp_path / name for name in ("pipe", "large.md", "words.md", "binary"))
    os.mkfifo(pipe)
    large.write_bytes(b"x" * (MAX_PROMPT_FILE + 1))
    words.write_text("House rules.")
    binary.write_bytes(b"a\xffb")
    paths = (pipe, Path("/dev/zero"), large, tmp_path / "missing", tmp_path, words, binary)
    texts, warnings = read_prompt_files(paths)
    assert texts == ("House rules.", "a\ufffdb")
    assert warnings == (
        f"agent.system_prompt_files: {pipe}: is not a regular file; it is left out",
        "agent.system_prompt_files: /dev/zero: is not a regular file; it is left out",
        f"agent.system_prompt_files: {large}: is larger than {MAX_PROMPT_FILE} bytes; it is left out",
        f"agent.system_prompt_files: {tmp_path / 'missing'}: does not exist; it is left out",
        f"agent.system_prompt_files: {tmp_path}: is not a regular file; it is left out",
    )


COMMIT = "git -c user.name=a -c user.email=a@b commit --allow-empty"


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("git init -q . && " + COMMIT, 1),
        ("git init -q . && " + COMMIT + " -q -m one && git -p log --format=%s", 0),
        ("printf 'protocol=https\\nhost=h\\n\\n' | git credential fill 2>&1 | grep -q 'prompts disabled'", 0),
        ("read x", 1),
        ("cat", 0),
        ("python3 -c 'input()'", 1),
    ],
    ids=["editor", "pager", "password of git", "read", "cat", "input"],
)
def test_a_command_that_wants_a_person_ends_by_itself(tmp_path: Path, command: str, status: int) -> None:
    """Nobody sits at it: with the environment of a command and no terminal, editors, pagers and prompts end at once."""
    around = {"PATH": os.environ["PATH"], "EDITOR": "vi", "PAGER": "less", "VISUAL": "vi", "GIT_EDITOR": "vi"}
    environment = child_environment(read(tmp_path, SMALL).base, around, frozenset())
    ran = subprocess.run(
        ["/bin/bash", "-c", command],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
        start_new_session=True,
    )
    assert ran.returncode == status, ran
    assert b"\x1b" not in ran.stdout
