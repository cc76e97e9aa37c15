"""What a profile is built of, and what of it cannot be had."""

import os
from pathlib import Path

from mtbot.bootstrap.profiles import MAX_PROMPT_FILE, read_prompt_files


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
