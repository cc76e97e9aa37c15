"""``mtclaw simulator`` as it is typed."""

import socket

import pytest

from mtbot.cli.main import run


@pytest.mark.parametrize("what", ["telegram", "model"])
def test_a_port_in_use_is_one_line(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It names the port and what to do; nothing is announced."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert run(["simulator", what, "--port", str(port)]) == 1
    said = capsys.readouterr()
    assert said.err == f"mtclaw: port {port} is in use; name another one, or leave --port out\n"
    assert said.out == ""
