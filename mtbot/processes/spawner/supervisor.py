"""Run one command to its end and leave nothing of it behind, whoever else dies meanwhile.

A supervisor is forked by the spawner for exactly one command. As a child subreaper it becomes the parent of everything
the command leaves, so "no child is left" is a fact that the kernel confirms and not a guess from a list. It ends the
command by itself at the time-out, when the gateway says stop, when the gateway's end of the socket closes, and when the
spawner is gone; it needs nobody's help for any of these, and so a stopped gateway changes nothing.
"""

import os
import signal
import socket

from . import kernel
from .execution import Execution
from .line import Line
from .order import BadOrder, Order
from .wire import EndWord, Kind, end_fields, json_frame

_IDLE_SECONDS = 5.0
CLEAN = 0
SOMETHING_LEFT = 1


def supervise(channel: socket.socket, stdin: int | None, spawner: int, to_reset: list[signal.Signals]) -> int:
    """Serve the one command of ``channel``; returns CLEAN only if the kernel confirmed that nothing of it is left."""
    kernel.adopt_orphans()
    kernel.signal_on_parent_death(signal.SIGTERM)
    os.setpgid(0, 0)
    line = Line(channel, spawner)
    line.look_for_spawner()
    line.listen()
    while line.request is None and line.cause is None:
        line.wait(_IDLE_SECONDS)
    left = _serve(line, stdin, to_reset)
    while line.unsent:
        line.wait(_IDLE_SECONDS)
    return SOMETHING_LEFT if left else CLEAN


def _serve(line: Line, stdin: int | None, to_reset: list[signal.Signals]) -> bool:
    if line.cause is not None or line.request is None:
        message = line.message or "stopped before it started"
        line.say(json_frame(Kind.END, end_fields(line.cause or EndWord.STOPPED, message=message)))
        return False
    try:
        order = Order(line.request)
    except BadOrder as wrong:
        line.say(json_frame(Kind.END, end_fields(EndWord.FAILED_TO_START, message=str(wrong))))
        return False
    return Execution(line, order).run(stdin, to_reset)
