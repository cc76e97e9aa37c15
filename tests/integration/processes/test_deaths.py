"""Whoever dies or is stopped - gateway, spawner, supervisor - nothing that a command started lives on."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mtbot.processes.ending import EndStatus
from mtbot.processes.request import SpawnRequest
from mtbot.processes.runner import Runner
from mtbot.processes.spawner import wire
from mtbot.processes.spawning import start_spawner

from .scenes import PATH, Gateway, Heard, Watched, eventually, shell, spawner_children

TREE = "trap '' TERM; setsid sleep 600 & echo $$ $!; (sleep 600 &) ; sleep 600; sleep 600"


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    """A gateway program."""
    with Gateway() as gateway:
        yield gateway


def family(pid: int) -> list[int]:
    """Return the children of a process."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def everyone(gateway: Gateway, pids: list[int]) -> Watched:
    """Hold the command's processes, every supervisor and the spawner."""
    return Watched(*pids, *family(gateway.spawner), gateway.spawner)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_gateway_leaves_no_process(gateway: Gateway, how: signal.Signals) -> None:
    """Without any word from the gateway, commands, supervisors and spawner are gone within five seconds."""
    gateway.tell("a", TREE)
    gateway.tell("b", TREE)
    pids = [int(pid) for name in "ab" for pid in gateway.hear("out", name)]
    watched = everyone(gateway, pids)
    gateway.process.send_signal(how)
    assert watched.gone(5)
    watched.close()


def test_a_stopped_gateway_does_not_stop_the_time_out(gateway: Gateway) -> None:
    """A command is ended at its time-out although nobody listens, and told of once the gateway goes on."""
    gateway.tell("a", f"{TREE}", 0.5)
    watched = Watched(*map(int, gateway.hear("out", "a")))
    gateway.process.send_signal(signal.SIGSTOP)
    assert watched.gone(5)
    gateway.process.send_signal(signal.SIGCONT)
    assert gateway.hear("end", "a") == ["timed_out", "[]"]
    watched.close()


def test_a_stopped_gateway_does_not_stop_the_output(gateway: Gateway, tmp_path: Path) -> None:
    """A command that writes without end is drained while nobody listens: it gets to its end and does not wait."""
    gateway.tell("a", f"echo $$; read -t 0.3 <> <(:); head -c 300000000 /dev/zero; touch {tmp_path}/done; sleep 600")
    pids = [int(pid.strip("\0")) for pid in gateway.hear("out", "a")[:1]]
    gateway.process.send_signal(signal.SIGSTOP)
    for _ in range(1000):
        if (tmp_path / "done").exists():
            break
        Watched(*pids).gone(0.01)
    assert (tmp_path / "done").exists()


def test_a_gateway_killed_while_it_is_stopped_leaves_no_process(gateway: Gateway) -> None:
    """A stopped process can be killed, and its sockets close all the same."""
    gateway.tell("a", TREE)
    watched = everyone(gateway, [int(pid) for pid in gateway.hear("out", "a")])
    gateway.process.send_signal(signal.SIGSTOP)
    gateway.process.kill()
    assert watched.gone(5)
    watched.close()


async def test_a_command_that_kills_its_supervisor_is_ended(runner: Runner) -> None:
    """The spawner ends what a killed supervisor leaves, and the call's end says what happened."""
    heard = Heard()
    script = "setsid sleep 600 & echo $$ $!; read -t 0.2 <> <(:); kill -9 $PPID; sleep 600"
    end_of = asyncio.ensure_future(runner.run(shell(script), heard))
    watched = Watched(*await heard.pids(1))
    end = await end_of
    assert await asyncio.to_thread(watched.gone)
    assert (end.status, end.message) == (EndStatus.LOST, "its supervisor was killed by signal 9")
    assert end.output.tail == heard.data
    assert await eventually(lambda: len(spawner_children(runner)) <= 2)
    assert (await runner.run(shell("exit 7"))).exit_code == 7
    watched.close()


async def test_a_lost_command_has_the_output_that_was_seen(runner: Runner) -> None:
    """What ran past the gateway while the command ran is kept at its end and counted in full."""
    slowly = "for i in 1 2 3 4 5; do head -c 16000 /dev/zero; read -t 0.2 <> <(:); done"
    end = await runner.run(shell(f"head -c 100000 /dev/zero; read -t 0.3 <> <(:); {slowly}; kill -9 $PPID"))
    assert (end.status, end.output.size) == (EndStatus.LOST, 180_000)
    assert len(end.output.tail) == 64 * 1024


async def test_a_command_that_stops_its_supervisor_is_still_timed_out(runner: Runner) -> None:
    """A supervisor that something stops is woken; one that is stopped again and again is replaced by the kill."""
    end = await runner.run(shell("kill -STOP $PPID; echo went on; sleep 600", timeout=1))
    assert (end.status, end.output.head) == (EndStatus.TIMED_OUT, b"went on\n")
    end = await runner.run(shell("setsid sleep 600 & while kill -STOP $PPID; do :; done", timeout=1))
    assert end.status in (EndStatus.LOST, EndStatus.TIMED_OUT)
    assert await eventually(lambda: len(spawner_children(runner)) <= 2)


async def test_a_supervisor_that_dies_before_its_command_is_replaced(runner: Runner) -> None:
    """Killing the one that waits costs nobody a command."""
    await runner.ready()
    assert await eventually(lambda: len(spawner_children(runner)) == 1)
    (waiting,) = spawner_children(runner)
    watched = Watched(waiting)
    os.kill(waiting, signal.SIGKILL)
    assert watched.gone()
    await eventually(lambda: not spawner_children(runner))
    assert (await runner.run(shell("exit 7"))).exit_code == 7
    watched.close()


async def test_a_command_that_kills_the_spawner_ends_all_commands(runner: Runner) -> None:
    """Supervisors do not work without the spawner; afterwards another one stands and commands run again."""
    old = runner.pid()
    heard, other = Heard(), Heard()
    beside = asyncio.ensure_future(runner.run(shell(TREE, name="beside"), other))
    watched = Watched(*await other.pids(1), old)
    script = f"setsid sleep 600 & echo $!; read -t 0.3 <> <(:); kill -9 {old}; sleep 600"
    killer = asyncio.ensure_future(runner.run(shell(script, name="killer"), heard))
    killers = Watched(*await heard.pids(1))
    ends = await asyncio.gather(beside, killer)
    assert [(end.status, end.message) for end in ends] == [(EndStatus.LOST, "the process spawner died")] * 2
    assert watched.gone(0)
    assert killers.gone(0)
    assert await eventually(lambda: runner.alive and runner.pid() != old)
    assert (await runner.run(shell("exit 7"))).exit_code == 7
    watched.close()
    killers.close()


async def test_the_death_of_a_spawner_is_noticed_although_supervisors_are_stopped(runner: Runner) -> None:
    """No supervisor holds the spawner's socket open, and a stopped one is woken to end its command."""
    heard = Heard()
    running = asyncio.ensure_future(runner.run(shell("setsid sleep 600 & echo $! $PPID; sleep 600"), heard))
    child, supervisor = await heard.pids(1)
    watched = Watched(child, supervisor)
    waiting = [pid for pid in spawner_children(runner) if pid != supervisor]
    os.kill(runner.pid(), signal.SIGSTOP)
    for pid in (supervisor, *waiting):
        os.kill(pid, signal.SIGSTOP)
    os.kill(runner.pid(), signal.SIGKILL)
    assert await eventually(lambda: not runner.alive)
    assert (await running).status is EndStatus.LOST
    assert await asyncio.to_thread(watched.gone)
    for pid in waiting:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    watched.close()


async def test_nothing_is_executed_without_a_spawner(runner: Runner) -> None:
    """Between the death of a spawner and its replacement a command is refused with the reason."""
    other = Heard()
    beside = asyncio.ensure_future(runner.run(shell(TREE, name="beside"), other))
    await other.pids(1)
    os.kill(runner.pid(), signal.SIGKILL)
    assert await eventually(lambda: not runner.alive)
    end = await runner.run(shell("true"))
    assert (end.status, end.message) == (
        EndStatus.FAILED_TO_START,
        "the process spawner died and is being replaced; try again in a few seconds",
    )
    assert (await beside).status is EndStatus.LOST
    assert await eventually(lambda: runner.alive)


def test_killing_both_guards_at_once_does_not_help(gateway: Gateway) -> None:
    """A command that kills its supervisor and the spawner together is ended by the gateway, its last parent."""
    wait = "read -t 0.3 <> <(:)"
    gateway.tell("a", f"setsid sleep 600 & echo $! $$; {wait}; kill -9 $PPID {gateway.spawner}; sleep 600")
    watched = Watched(*map(int, gateway.hear("out", "a")))
    assert gateway.hear("end", "a") == ["lost", "[]"]
    assert watched.gone(0)
    watched.close()


async def test_a_kill_of_the_supervisors_group_hits_no_other(runner: Runner) -> None:
    """Every supervisor has a process group of its own: who kills that kills neither spawner nor neighbours."""
    old, heard, other = runner.pid(), Heard(), Heard()
    beside = asyncio.ensure_future(runner.run(shell("echo $$; sleep 0.6; exit 5", name="beside"), other))
    await other.pids(1)
    end = await runner.run(shell("kill -KILL -- -$(ps -o pgid= -p $PPID); sleep 600"), heard)
    assert end.status is EndStatus.LOST
    assert (await beside).exit_code == 5
    assert runner.pid() == old


async def test_a_stopped_spawner_does_not_stop_running_commands(runner: Runner) -> None:
    """Supervisors need the spawner for nothing while they work."""
    heard = Heard()
    running = asyncio.ensure_future(runner.run(shell("echo $$; sleep 600", timeout=0.5), heard))
    await heard.pids(1)
    os.kill(runner.pid(), signal.SIGSTOP)
    assert (await running).status is EndStatus.TIMED_OUT
    os.kill(runner.pid(), signal.SIGCONT)


async def test_signals_to_the_guards_change_nothing(runner: Runner) -> None:
    """What ends an ordinary program on a terminal or at a service's stop does not end spawner or supervisor."""
    heard = Heard()
    script = (
        f"for s in TERM INT HUP QUIT USR1 ALRM PIPE; do kill -$s $PPID {runner.pid()}; done; echo still here; exit 6"
    )
    end = await runner.run(shell(script), heard)
    assert (end.status, end.exit_code, end.output.head) == (EndStatus.EXITED, 6, b"still here\n")
    assert runner.alive


def test_a_supervisor_without_its_spawner_starts_nothing(tmp_path: Path) -> None:
    """A spawner that died before its supervisor could ask to be told of it is noticed all the same."""
    ours, theirs = socket.socketpair()
    request = SpawnRequest("c", ("touch", str(tmp_path / "touched")), PATH, "/", 5, 4096)
    ours.sendall(wire.json_frame(wire.Kind.REQUEST, request.facts()))
    source = (
        "import socket, sys; sys.path.append(sys.argv[1])\n"
        "from spawner.supervisor import supervise\n"
        "sys.exit(supervise(socket.socket(fileno=int(sys.argv[2])), 1, []))"
    )
    room = str(Path(wire.__file__).parents[1])
    with theirs:
        command = [sys.executable, "-I", "-S", "-c", source, room, str(theirs.fileno())]
        subprocess.run(command, pass_fds=[theirs.fileno()], check=True)
    ((kind, payload),) = wire.FrameReader().feed(ours.recv(65536))
    ours.close()
    facts = json.loads(payload)
    assert (kind, facts["status"], facts["message"]) == (wire.Kind.END, "lost", "the process spawner died")
    assert list(tmp_path.iterdir()) == []


def test_a_stop_that_comes_with_the_request_prevents_the_start(tmp_path: Path) -> None:
    """Request and stop in one packet: the supervisor looks for a stop before it starts anything."""
    spawner = start_spawner()
    ours, theirs = socket.socketpair()
    request = SpawnRequest("c", ("touch", str(tmp_path / "touched")), PATH, "/", 5, 4096)
    ours.sendall(wire.json_frame(wire.Kind.REQUEST, request.facts()) + wire.frame(wire.Kind.STOP))
    with theirs:
        socket.send_fds(spawner.main, [(1).to_bytes(wire.ORDER_BYTES, "big")], [theirs.fileno()])
    reader = wire.FrameReader()
    said: list[tuple[wire.Kind, bytes]] = []
    while data := ours.recv(65536):
        said += reader.feed(data)
    ours.close()
    spawner.main.close()
    assert spawner.process.wait(5) == 0
    assert [(kind, json.loads(payload)["status"]) for kind, payload in said] == [(wire.Kind.END, "stopped")]
    assert list(tmp_path.iterdir()) == []
