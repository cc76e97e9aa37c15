"""The system log gets the head of the record, or says why not."""

import socket
from pathlib import Path

import pytest

from mtbot.bootstrap.chores import log_head
from mtbot.domain.errors import StateError


def test_a_line_reaches_the_system_log(tmp_path: Path) -> None:
    """As authpriv.info, under our name."""
    path = tmp_path / "log"
    server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    server.bind(str(path))
    server.settimeout(5)
    log_head("record of nas: event 4 hash ab", str(path))
    received = server.recv(1000)
    server.close()
    assert received == b"<86>mtclaw: record of nas: event 4 hash ab\x00"


def test_a_missing_system_log_is_said(tmp_path: Path) -> None:
    """It is tried again later; a line that nobody took counts as not sent."""
    with pytest.raises(StateError, match="takes nothing"):
        log_head("record", str(tmp_path / "none"))
