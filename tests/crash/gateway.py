"""The real gateway, which kills itself at one named point: run as a program by the crash tests.

python -m tests.crash.gateway CONFIG POINT
"""

import functools
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from importlib import import_module

from mtbot.cli.main import main
from tests.crash.points import AGAIN, MEMORY_POINTS, POINTS, Point


def _die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(point: Point) -> None:
    """Have the process die before or after the n-th call of a method."""
    owner = getattr(import_module(point.module), point.owner)
    real: Callable[..., Awaitable[object]] = getattr(owner, point.method)
    calls = iter(range(1, 1_000_000))

    @functools.wraps(real)
    async def armed(*arguments: object, **named: object) -> object:
        if not getattr(getattr(arguments[0], "_db", None), "keeps", True):
            return await real(*arguments, **named)  # what is rehearsed is no step of anybody's call
        due = next(calls) == point.nth
        if due and point.before:
            _die()
        result = await real(*arguments, **named)
        if due:
            _die()
        return result

    setattr(owner, point.method, armed)


if __name__ == "__main__":
    arm(next(point for point in (*POINTS, *AGAIN, *MEMORY_POINTS) if point.name == sys.argv[2]))
    main(["--config", sys.argv[1], "gateway"])
