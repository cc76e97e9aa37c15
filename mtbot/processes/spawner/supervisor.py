"""Run one command to its end and leave nothing of it behind, whoever else dies meanwhile.

A supervisor is forked by the spawner for exactly one command. As a child subreaper it becomes the parent of everything
the command leaves, so "no child is left" is a fact that the kernel confirms and not a guess from a list. It ends the
command by itself at the time-out, when the gateway says stop, when the gateway's end of the socket closes, and when the
spawner is gone; it needs nobody's help for any of these, and so a stopped gateway changes nothing.

The gateway orders its supervisors one command ahead, because a Python process that was just forked spends most of its time
copying pages, and nobody waits for that when it is done in advance. Until its request comes a supervisor only waits.
"""

import os
import signal
import socket
import time

from . import kernel, tree
from .execution import Execution
from .launch import CannotStart, launch
from .line import Line
from .order import REHEARSAL, BadOrder, Order
from .pump import Pump
from .wire import EndWord, Kind, end_fields, json_frame

CLEAN = 0
SOMETHING_LEFT = 1
_IDLE_SECONDS = 5.0


def supervise(channel: socket.socket, spawner: int, to_reset: list[signal.Signals]) -> int:
    """Serve the one command of ``channel``; CLEAN only if the kernel confirmed that nothing of it is left."""
    kernel.adopt_orphans()
    kernel.signal_on_parent_death(signal.SIGTERM)
    os.setpgid(0, 0)
    line = Line(channel, spawner)
    line.look_for_spawner()
    pipe = os.pipe()
    _rehearse()
    while line.request is None and line.cause is None:
        line.wait(_IDLE_SECONDS)
    left = _serve(line, pipe, to_reset)
    while line.unsent:
        line.wait(_IDLE_SECONDS)
    return SOMETHING_LEFT if left else CLEAN


def _rehearse() -> None:
    """Go through the motions of a command, so that the pages they touch are copied while nobody waits."""
    Order(REHEARSAL)
    json_frame(Kind.END, end_fields(EndWord.EXITED, code=0, duration=0.1))
    tree.own_children()


def _serve(line: Line, pipe: tuple[int, int], to_reset: list[signal.Signals]) -> bool:
    """Execute the request; returns whether anything is left alive."""
    output, output_in = pipe
    if line.cause is not None or line.request is None:
        message = line.message or "stopped before it started"
        line.say(json_frame(Kind.END, end_fields(line.cause or EndWord.STOPPED, message=message)))
        return False
    try:
        order = Order(line.request)
        times = (time.monotonic(), tree.ticks_now())
        leader = launch(order, output_in, line.fds, to_reset)
    except (BadOrder, CannotStart) as wrong:
        line.say(json_frame(Kind.END, end_fields(EndWord.FAILED_TO_START, message=str(wrong))))
        return False
    for fd in (output_in, *line.fds):
        os.close(fd)
    return Execution(line, order, leader, Pump(output, order.keep), times).run()
