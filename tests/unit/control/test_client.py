"""Whatever the other end does, the client ends with an answer or with one line that says why there is none."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mtbot.control.client import ask
from mtbot.control.place import Listening
from mtbot.control.wire import MAX_FRAME
from mtbot.domain.errors import ControlError
from tests.unit.control.ends import listening


@contextmanager
def behind(at: Listening, act: Callable[[socket.socket], object]) -> Iterator[None]:
    """Somebody who does ``act`` with the one connection that comes."""

    def serve() -> None:
        connection, _ = at.socket.accept()
        with connection:
            act(connection)

    thread = threading.Thread(target=serve)
    thread.start()
    yield
    thread.join()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"", "ended the conversation without an answer"),
        (b'{"v": 1, "ok"', "ended the conversation without an answer"),
        (b"nonsense\n", "no JSON"),
        (b'{"v": 1}\n', "the gateway refused"),
        (b'{"v": 1, "ok": 1, "message": "no", "hint": "why"}\n', "no .why."),
        (b"a" * (MAX_FRAME + 1), "longer than an answer may be"),
    ],
    ids=["nothing", "half", "nonsense", "empty", "not-true", "long"],
)
def test_what_is_no_answer_is_told(tmp_path: Path, answer: bytes, why: str) -> None:
    """In one line."""

    def act(connection: socket.socket) -> None:
        connection.recv(MAX_FRAME)
        connection.sendall(answer)

    with listening(tmp_path / "c") as at, behind(at, act), pytest.raises(ControlError, match=why):
        ask(tmp_path / "c", {"do": "status"}, 20.0)


def test_a_gateway_that_is_silent_is_given_up(tmp_path: Path) -> None:
    """After the time that it was given."""
    over = threading.Event()
    with listening(tmp_path / "c") as at, behind(at, lambda _: over.wait(20)):
        with pytest.raises(ControlError, match="the gateway does not answer in time"):
            ask(tmp_path / "c", {"do": "status"}, 0.01)
        over.set()


def test_a_gateway_that_breaks_off_is_told(tmp_path: Path) -> None:
    """What was sent to it is lost, and so is the answer."""
    with (
        listening(tmp_path / "c") as at,
        behind(at, lambda connection: connection.close()),
        pytest.raises(ControlError, match=r"the gateway (does not answer|ended the conversation)"),
    ):
        ask(tmp_path / "c", {"do": "status", "pad": "a" * 60_000}, 20.0)
