"""Whatever a command does to hide where it comes from, it never speaks at the control socket: as root and as nobody."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.processes.test_other_users import ordinary

REFUSED = "refused a command that the bot runs may not speak here"

KNOCK = (
    "import os, socket; s = socket.socket(socket.AF_UNIX); s.connect(os.environ['AT']); s.recv(9); "
    "open('heard', 'w').write('x')"
)
"""Connects, waits until it was looked at, and writes into a pipe that the command may wait at."""

BEFORE = "mkfifo heard; knock() { python3 knock.py; }\n"
AFTER = "\nread -rn1 word < heard"

CAUGHT = {
    "plain": "knock & ",
    "setsid": 'setsid -f python3 -c "$(cat knock.py)"',
    "nohup": 'nohup python3 -c "$(cat knock.py)" >/dev/null 2>&1 &',
    "double-fork": "( ( knock & ) & )",
    "double-fork-setsid": '( ( setsid -f setsid -f python3 -c "$(cat knock.py)" ) & )',
    "clean-environment": 'env -i AT="$AT" PATH="$PATH" python3 -c "$(cat knock.py)" &',
    "terminal": "script -qec 'python3 knock.py' /dev/null >/dev/null 2>&1 &",
    "renamed": '( exec -a mtclaw python3 -c "$(cat knock.py)" ) &',
    "orphan": (
        'python3 -c "import os, time\nme = os.getpid()\nif os.fork() == 0:\n  os.setsid()\n'
        "  while os.getppid() == me: time.sleep(0.001)\n  exec(open('knock.py').read())\" "
    ),
}
"""Each connects from somewhere else below the gateway."""

KILLS = {
    "supervisor": "kill -9 $PPID",
    "spawner": "kill -9 $(awk '{print $4}' /proc/$PPID/stat)",
}
"""What the guards above a command are killed with."""


@pytest.fixture(params=["as-it-is", "ordinary"])
def python(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """How the gateway is started."""
    return (sys.executable,) if request.param == "as-it-is" else ordinary()


@pytest.fixture
def room() -> Iterator[Path]:
    """A directory that whoever runs the gateway owns, with what knocks in it."""
    made = Path(tempfile.mkdtemp(prefix="mtclaw-door-"))
    (made / "knock.py").write_text(KNOCK)
    yield made
    shutil.rmtree(made)


def door(python: tuple[str, ...], room: Path, script: str) -> list[str]:
    """What the gateway said while the script ran."""
    if python[0] == "setpriv":
        os.chown(room, 65534, 65534)
    ran = subprocess.run(
        [*python, "-B", str(Path(__file__).with_name("door.py")), str(room / "control"), script],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


@pytest.mark.parametrize("way", CAUGHT)
def test_no_way_down_from_the_bot_leads_to_the_door(python: tuple[str, ...], room: Path, way: str) -> None:
    """Sessions, terminals, dead parents and empty environments change nothing about where a process comes from."""
    said = door(python, room, BEFORE + CAUGHT[way] + AFTER)
    assert said == [REFUSED, "end exited"]


@pytest.mark.parametrize("victim", KILLS)
def test_killing_the_guards_frees_nobody(python: tuple[str, ...], room: Path, victim: str) -> None:
    """What is left of a command ends, or is refused until it does: the gateway adopts it itself."""
    script = f"{BEFORE}for i in 1 2 3 4 5 6 7 8; do setsid -f python3 knock.py; done\n{KILLS[victim]}\nsleep 600"
    said = door(python, room, script)
    assert said[-1] == "end lost"
    assert set(said[:-1]) <= {REFUSED, "refused the process that connected is gone, so nobody can tell whose it was"}


def test_somebody_else_of_the_account_may_speak(python: tuple[str, ...], room: Path) -> None:
    """The door is not simply shut: a process that does not come from the bot is welcome."""
    if python[0] == "setpriv":
        os.chown(room, 65534, 65534)
    gateway = subprocess.Popen(
        [
            *python,
            "-B",
            str(Path(__file__).with_name("door.py")),
            str(room / "control"),
            "mkfifo wait; read -r x < wait",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    with gateway:
        while not (room / "wait").exists() and gateway.poll() is None:
            os.sched_yield()
        with socket.socket(socket.AF_UNIX) as ours:
            ours.connect(str(room / "control" / "socket"))
            assert ours.recv(20) == b"welcome\n"
        (room / "wait").write_text("on\n")
        assert gateway.stdout is not None
        assert gateway.stdout.read().splitlines() == ["speaks", "end exited"]
