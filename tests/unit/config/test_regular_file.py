"""Bounded reads of regular files only."""

import os
import threading
from pathlib import Path

import pytest

from mtbot.config.regular_file import FileText, NotReadable, read_regular


def test_up_to_the_limit_and_not_one_byte_more(tmp_path: Path) -> None:
    """The limit itself is good."""
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    path.chmod(0o600)
    assert read_regular(path, 5) == FileText(b"12345", open_to_others=False)
    with pytest.raises(NotReadable, match="is larger than 4 bytes"):
        read_regular(path, 4)


def test_a_fifo_that_nobody_writes_to_does_not_hang(tmp_path: Path) -> None:
    """Opening one waits for a writer unless it is told not to; at a start that would be for ever."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    told: list[str] = []

    def attempt() -> None:
        try:
            read_regular(fifo, 10)
        except NotReadable as error:
            told.append(str(error))

    worker = threading.Thread(target=attempt, daemon=True)
    worker.start()
    worker.join(5)
    assert told == ["is not a regular file"]


def test_a_loop_of_links_is_told(tmp_path: Path) -> None:
    """As the system tells it, without the path that the caller adds."""
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(NotReadable, match=r"^cannot be opened: too many levels of symbolic links$"):
        read_regular(loop, 10)
