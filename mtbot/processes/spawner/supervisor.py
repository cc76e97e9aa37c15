"""Run one command at a time to its end and leave nothing of it behind, whoever else dies meanwhile.

A supervisor is forked by the spawner and has one command, or none. As a child subreaper it becomes the parent of
everything the command leaves, so "no child is left" is a fact that the kernel confirms and not a guess from a list. It
ends the command by itself at the time-out, when the gateway says stop, when the gateway's end of the socket closes, and
when the spawner is gone; it needs nobody's help for any of these, and so a stopped gateway changes nothing.

It waits for its request, because a Python process that was just forked spends a millisecond copying pages, and nobody
need wait for that. One that ended a command of its own accord and knows that nothing of it is left may have another; after
a stop, a time-out, a failure or the smallest doubt it ends, and the next command gets a new one.
"""

import os
import resource
import signal
import socket
import time
from collections.abc import Callable
from functools import partial

from . import kernel, tree
from .execution import AGAIN, CLEAN, Execution
from .launch import CannotStart, launch
from .line import Line
from .order import BadOrder, Order
from .pump import Pump
from .wire import EndWord, Kind, end_fields, json_frame

_IDLE_SECONDS = 5.0
_MOST_COMMANDS = 200


def supervise(channel: socket.socket, spawner: int, to_reset: list[signal.Signals]) -> int:
    """Serve the commands of ``channel``; CLEAN only if the kernel confirmed that nothing of them is left."""
    kernel.adopt_orphans()
    kernel.signal_on_parent_death(signal.SIGTERM)
    os.setpgid(0, 0)
    line = Line(channel, spawner)
    line.look_for_spawner()
    standing = _standing()
    for number in range(1, _MOST_COMMANDS + 1):
        while line.request is None and line.cause is None:
            line.wait(_IDLE_SECONDS)
        last = number == _MOST_COMMANDS
        status = _serve(line, to_reset, partial(_may_go_on, standing, last=last))
        while line.unsent:
            line.wait(_IDLE_SECONDS)
        if status != AGAIN:
            return status
        os.chdir("/")
    return CLEAN


def _may_go_on(standing: tuple[object, ...], *, last: bool) -> bool:
    return not last and _standing() == standing


def _standing() -> tuple[object, ...]:
    """Return what a command may have changed of its supervisor from outside, and would hand on to the next command."""
    limits = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]
    return (
        [resource.getrlimit(limit) for limit in limits],
        os.getpriority(os.PRIO_PROCESS, 0),
        os.sched_getaffinity(0),
        os.sched_getscheduler(0),
    )


def _serve(line: Line, to_reset: list[signal.Signals], may_go_on: Callable[[], bool]) -> int:
    """Execute the request and return CLEAN, SOMETHING_LEFT or, if it then still ``may_go_on``, AGAIN."""
    if line.cause is not None or line.request is None:
        message = line.message or "stopped before it started"
        line.say(json_frame(Kind.END, end_fields(line.cause or EndWord.STOPPED, message=message)))
        return CLEAN
    output, output_in = os.pipe()
    try:
        order = Order(line.request)
        spool = line.fds.pop() if order.spool and line.fds else None
        times = (time.monotonic(), tree.ticks_now())
        leader = launch(order, output_in, line.fds, to_reset)
    except (BadOrder, CannotStart) as wrong:
        line.say(json_frame(Kind.END, end_fields(EndWord.FAILED_TO_START, message=str(wrong))))
        return CLEAN
    for fd in (output_in, *line.fds):
        os.close(fd)
    pump = Pump(output, order.keep, spool, order.spool)
    return Execution(line, order, leader, pump, times).run(may_go_on)
