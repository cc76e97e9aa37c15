"""Ask the gateway of this host something, from another process of the same account."""

import contextlib
import socket
from collections.abc import Mapping
from pathlib import Path

from mtbot.control.place import connect
from mtbot.control.wire import MAX_FRAME, JsonObject, frame, read_frame
from mtbot.domain.errors import ConfigError, ControlError

SECONDS = 30.0
"""How long an answer may take; a gateway that reads its configuration anew needs a second or two."""


def ask(directory: Path, wanted: Mapping[str, object], seconds: float = SECONDS) -> JsonObject | None:
    """The gateway's answer; None if no gateway lives there.

    ControlError if it refuses or does not answer, ConfigError with every fault that it found in a configuration.
    """
    connection = connect(directory, seconds)
    if connection is None:
        return None
    with contextlib.closing(connection):
        try:
            # who is refused before a word was read may find the door closed, and the reason in front of it
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(frame(wanted))
            answer = read_frame(_line(connection))
        except OSError as fault:
            why = "in time" if isinstance(fault, TimeoutError) else f"({fault.strerror or fault})"
            raise ControlError(f"the gateway does not answer {why}") from fault
    if answer.get("ok") is True:
        return answer
    problems = answer.get("problems")
    if isinstance(problems, list):
        raise ConfigError(tuple(map(str, problems)), hint=str(answer.get("hint", "")))
    raise ControlError(str(answer.get("message", "the gateway refused")), hint=str(answer.get("hint", "")))


def _line(connection: socket.socket) -> bytes:
    data = bytearray()
    while not data.endswith(b"\n"):
        piece = connection.recv(MAX_FRAME)
        if not piece:
            raise ControlError("the gateway ended the conversation without an answer")
        data += piece
        if len(data) > MAX_FRAME:
            raise ControlError("the gateway's answer is longer than an answer may be")
    return bytes(data)
