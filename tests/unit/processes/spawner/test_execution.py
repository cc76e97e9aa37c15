"""What a supervisor that goes on is left with: nothing of the last command, and nothing that keeps it awake."""

import subprocess
import sys
from pathlib import Path

import pytest

import mtbot.processes

SERVES_ONE = """\
import os, select, socket, sys, time
sys.path.append(sys.argv[1])
from spawner.execution import AGAIN, Execution
from spawner.launch import launch
from spawner.line import Line
from spawner.order import Order
from spawner.pump import Pump
import json
ours, theirs = socket.socketpair()
line = Line(theirs, os.getppid())
fields = {"argv": ["/bin/sh", "-c", sys.argv[2]], "env": {}, "cwd": "/", "timeout": None, "keep": 1000, "spool": 0}
order = Order(json.dumps(fields | {"limits": {}, "parts": [], "mark": "", "box": None, "user": None}).encode())
output, output_in = os.pipe()
leader = launch(order, output_in, [], [])
os.close(output_in)
os.waitid(os.P_PID, leader, os.WEXITED | os.WNOWAIT)  # all that it wrote, and its end, are there before anything is looked at
again = Execution(line, order, leader, Pump(output, 1000), (time.monotonic(), 0)).run(lambda: True) == AGAIN
print(again, sorted(line.wait(0.0) - {line._alarm}))
"""


@pytest.mark.parametrize("script", ["true", "echo out", "exec >&- 2>&-; true"])
def test_a_command_that_was_over_at_once_leaves_nothing_to_watch(script: str) -> None:
    """Its output ends while the rest of it is read; a descriptor that stays watched would have the supervisor spin."""
    folder = Path(mtbot.processes.__file__).parent
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", SERVES_ONE, str(folder), script],
        capture_output=True,
        check=False,
        timeout=30,
    )
    assert (ran.stdout, ran.stderr) == (b"True []\n", b"")
