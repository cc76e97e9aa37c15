"""Whatever a command starts, nothing of it is alive five seconds after its time-out, its stop or its end."""

import asyncio
import os
import shlex
import sys
from pathlib import Path

import pytest

from mtbot.processes.ending import EndStatus
from mtbot.processes.request import CALL_MARK, SpawnRequest
from mtbot.processes.runner import Runner

from .scenes import PATH, Heard, Watched, eventually, program, shell, spawner_children

# Each prints the pids of what must not survive, one a line, and then would go on for ever.
TREES = {
    "a child": "sleep 600 & echo $!; sleep 600",
    "a background child without the pipe": "sleep 600 >/dev/null 2>&1 & echo $!; sleep 600",
    "a session of its own": "setsid sleep 600 & sleep 0.05; echo $!; sleep 600",
    "a double fork": "(setsid bash -c 'sleep 600 & echo $!; exec sleep 600' &); sleep 600",
    "nohup": "nohup sleep 600 >/dev/null 2>&1 & echo $!; sleep 600",
    "one that ignores TERM": "trap '' TERM HUP INT; sleep 600 & echo $!; while :; do sleep 600; done",
    "one that starts another on TERM": "trap 'setsid sleep 600 & sleep 600' TERM; echo $$; while :; do sleep 0.1; done",
    "a stopped one": "sleep 600 & echo $!; kill -STOP $!; kill -STOP $$",
    "a deep one": "f() { if [ $1 = 0 ]; then echo $BASHPID; sleep 600; else (f $(($1 - 1)); :); fi; }; f 12",
    "a pipeline": "sleep 600 | sleep 600 & echo $!; wait",
}
CHURN = """
import os, time
print(os.getpid(), flush=True)
for _ in range(3):
    if os.fork() == 0:
        while True:
            if os.fork():
                os._exit(0)
            os.setsid()
time.sleep(600)
"""


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES.keys())
async def test_a_stop_ends_the_whole_tree(runner: Runner, tree: str) -> None:
    """When stop returns, every process of the command is dead, the call has its end, and it is called stopped."""
    heard = Heard()
    running = asyncio.ensure_future(runner.run(shell(tree), heard))
    (pid,) = await heard.pids(1)
    watched = Watched(pid)
    assert await runner.stop("c")
    end = running.result() if running.done() else await running
    assert watched.gone(0)
    assert (end.status, end.exit_code, end.survivors) == (EndStatus.STOPPED, None, ())
    assert end.duration_seconds < 5
    watched.close()


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES.keys())
async def test_a_time_out_ends_the_whole_tree(runner: Runner, tree: str) -> None:
    """When a timed-out call returns, every process of it is dead; the exit code of our own kill is not reported."""
    heard = Heard()
    running = asyncio.ensure_future(runner.run(shell(tree, timeout=0.4), heard))
    (pid,) = await heard.pids(1)
    watched = Watched(pid)
    end = await running
    assert watched.gone(0)
    assert (end.status, end.exit_code, end.survivors) == (EndStatus.TIMED_OUT, None, ())
    assert 0.4 <= end.duration_seconds < 5
    watched.close()


async def test_processes_that_fork_without_end_are_ended(runner: Runner) -> None:
    """A chain that forks faster than a list can be read, each link in a session of its own, does not outrun the kill."""
    heard = Heard()
    running = asyncio.ensure_future(runner.run(program(CHURN), heard))
    await heard.pids(1)
    assert await runner.stop("c")
    end = await running
    assert (end.status, end.survivors) == (EndStatus.STOPPED, ())
    assert await eventually(lambda: len(spawner_children(runner)) <= 2)


async def test_a_command_may_clean_up_before_it_is_killed(runner: Runner, tmp_path: Path) -> None:
    """TERM comes first, once, and there is time to answer it."""
    heard = Heard()
    script = f"trap 'echo cleaned >>{tmp_path}/log; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    running = asyncio.ensure_future(runner.run(shell(script), heard))
    await heard.line()
    await runner.stop("c")
    end = await running
    assert (tmp_path / "log").read_text() == "cleaned\n"
    assert (end.status, end.exit_code, end.signal) == (EndStatus.STOPPED, None, None)


async def test_the_term_reaches_the_depth_of_the_tree(runner: Runner, tmp_path: Path) -> None:
    """A process outside the group whose parent is still alive is asked before it is killed."""
    heard = Heard()
    inner = f"trap 'echo cleaned >>{tmp_path}/log; exit' TERM; echo ready; while :; do sleep 0.05; done"
    running = asyncio.ensure_future(
        runner.run(shell(f"trap : TERM; setsid bash -c {shlex.quote(inner)} & wait; wait; sleep 9"), heard)
    )
    await heard.line()
    await runner.stop("c")
    assert (await running).status is EndStatus.STOPPED
    assert (tmp_path / "log").read_text() == "cleaned\n"


async def test_the_term_comes_once(runner: Runner) -> None:
    """The group has it already when the tree is gone through; nobody is asked twice."""
    heard = Heard()
    source = (
        "import signal, time\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})\n"
        "print('ready', flush=True)\n"
        "signal.sigwait({signal.SIGTERM})\n"
        "print('asked', flush=True)\n"
        "while signal.sigtimedwait({signal.SIGTERM}, 0.3): print('again', flush=True)\n"
    )
    running = asyncio.ensure_future(runner.run(program(source), heard))
    await heard.line()
    await runner.stop("c")
    assert (await running).output.head == b"ready\nasked\n"


async def test_a_stopped_command_is_woken_to_clean_up(runner: Runner, tmp_path: Path) -> None:
    """A process that was stopped hears the TERM, too, and gets the same time to answer it."""
    heard = Heard()
    script = f"trap 'echo cleaned >>{tmp_path}/log; exit' TERM; echo $$; kill -STOP $$; while :; do sleep 0.05; done"
    running = asyncio.ensure_future(runner.run(shell(script), heard))
    (pid,) = await heard.pids(1)
    assert await eventually(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
    await runner.stop("c")
    assert (await running).status is EndStatus.STOPPED
    assert (tmp_path / "log").read_text() == "cleaned\n"


async def test_one_of_two_commands_ends_alone(runner: Runner) -> None:
    """The tree of a stopped command is no business of the one beside it."""
    heard, other = Heard(), Heard()
    script = "setsid sleep 600 & echo $!; sleep 600"
    first = asyncio.ensure_future(runner.run(shell(script, name="first"), heard))
    second = asyncio.ensure_future(runner.run(shell(script, name="second"), other))
    ended, alive = Watched(*await heard.pids(1)), Watched(*await other.pids(1))
    await runner.stop("first")
    assert ended.gone(0)
    assert not alive.gone(0)
    assert (await first).status is EndStatus.STOPPED
    assert not second.done()
    await runner.stop("second")
    assert alive.gone(0)
    assert (await second).status is EndStatus.STOPPED
    ended.close()
    alive.close()


@pytest.mark.parametrize(
    "script",
    [
        "sleep 600 & echo $!",
        "sleep 600 >/dev/null & echo $!",
        "setsid sleep 600 & sleep 0.05; echo $!",
        "nohup sleep 600 >/dev/null 2>&1 & echo $!",
        "trap '' TERM; sleep 600 & echo $!",
    ],
)
async def test_a_background_child_neither_holds_the_call_nor_outlives_it(runner: Runner, script: str) -> None:
    """The shell's exit is the end of the call, with its output and code; what it left is ended and mentioned."""
    end = await runner.run(shell(f"{script}; exit 4"))
    assert (end.status, end.exit_code, end.background_left, end.survivors) == (EndStatus.EXITED, 4, True, ())
    assert end.duration_seconds < 1.5
    assert not Path(f"/proc/{int(end.output.head)}").exists()


async def test_what_ends_by_itself_right_after_the_shell_is_no_background_child(runner: Runner) -> None:
    """The output of a helper that finishes just after the shell is waited for, and nothing is said to be left."""
    end = await runner.run(shell("(sleep 0.05; echo late) & echo early"))
    assert (end.output.head, end.background_left) == (b"early\nlate\n", False)


async def test_a_stop_before_the_start_prevents_it(runner: Runner, tmp_path: Path) -> None:
    """An id that was stopped before its request came is never executed; the next use of the id is free again."""
    touch = shell(f"touch {tmp_path}/touched")
    assert not await runner.stop("c")
    end = await runner.run(touch)
    assert (end.status, end.message) == (EndStatus.STOPPED, "stopped before it started")
    assert list(tmp_path.iterdir()) == []
    assert (await runner.run(touch)).status is EndStatus.EXITED


async def test_a_cancelled_call_ends_its_command(runner: Runner) -> None:
    """Whoever waits for a command may be cancelled; the command is ended as if it was stopped."""
    heard = Heard()
    running = asyncio.ensure_future(runner.run(shell("setsid sleep 600 & echo $!; sleep 600"), heard))
    watched = Watched(*await heard.pids(1))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await asyncio.to_thread(watched.gone)
    watched.close()


async def test_closing_ends_every_command(runner: Runner) -> None:
    """A shutdown leaves no process: not the commands, not their supervisors, not the spawner."""
    heard = [Heard() for _ in range(3)]
    running = [
        asyncio.ensure_future(
            runner.run(shell("trap '' TERM; setsid sleep 600 & echo $!; sleep 600", name=str(n)), hear)
        )
        for n, hear in enumerate(heard)
    ]
    pids = [pid for hear in heard for pid in await hear.pids(1)]
    watched = Watched(*pids, *spawner_children(runner), runner.pid())
    await runner.close()
    assert watched.gone(0)
    assert [(await end).status for end in running] == [EndStatus.STOPPED] * 3
    watched.close()


async def test_an_end_of_its_own_counts_before_a_stop(runner: Runner) -> None:
    """A command that had exited when the stop came has exited; the stop only hurries what it left."""
    heard = Heard()
    running = asyncio.ensure_future(runner.run(shell("sleep 600 & echo $$; exit 5"), heard))
    leader = Watched(*await heard.pids(1))
    assert await asyncio.to_thread(leader.gone)
    await runner.stop("c")
    end = await running
    assert (end.status, end.exit_code, end.survivors) == (EndStatus.EXITED, 5, ())
    leader.close()


async def test_a_thousand_time_outs_leave_no_zombie(runner: Runner) -> None:
    """Every process is reaped by whoever started it, however often a command is killed."""
    statuses: list[EndStatus] = []

    async def worker(name: int) -> None:
        for n in range(100):
            end = await runner.run(shell("sleep 600 & sleep 600", name=f"{name}-{n}", timeout=0.001))
            statuses.append(end.status)

    await asyncio.gather(*(worker(name) for name in range(10)))
    assert statuses == [EndStatus.TIMED_OUT] * 1000
    assert await eventually(lambda: len(spawner_children(runner)) == 1)
    states = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in spawner_children(runner)]
    assert states == ["S"]


async def test_a_process_under_another_parent_is_named(runner: Runner) -> None:
    """What was handed to a service outside the tree is not killed but named, by its hold on the output."""
    # The service takes a descriptor over its socket and starts a program with it, as a service manager would.
    service = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", "-c", _SERVICE, stdout=asyncio.subprocess.PIPE
    )
    assert service.stdout is not None
    address = (await service.stdout.readline()).decode().strip()
    client = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({address!r}); socket.send_fds(s, [b'x'], [1]); s.recv(1)"
    end = await runner.run(program(client))
    started = int((await service.stdout.readline()).decode())
    (survivor,) = end.survivors
    assert (survivor.pid, survivor.uid) == (started, os.geteuid())
    # a program that is just being started shows no arguments for an instant
    assert survivor.argv in (("/bin/sleep", "600"), ("[sleep]",))
    assert survivor.start_time == int(Path(f"/proc/{started}/stat").read_text().rpartition(")")[2].split()[19])
    service.terminate()
    await service.communicate()


async def test_a_process_that_carries_the_call_is_named(runner: Runner) -> None:
    """Without the output, the call's mark in the environment names what runs under another parent."""
    service = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", "-c", _SERVICE, stdout=asyncio.subprocess.PIPE
    )
    assert service.stdout is not None
    address = (await service.stdout.readline()).decode().strip()
    client = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({address!r}); s.send(b'MTCLAW_CALL=4711'); s.recv(1)"
    request = program(client)
    end = await runner.run(SpawnRequest("c", request.argv, {**PATH, CALL_MARK: "4711"}, "/", 5, 4096))
    started = int((await service.stdout.readline()).decode())
    assert [survivor.pid for survivor in end.survivors] == [started]
    service.terminate()
    await service.communicate()


_SERVICE = """
import os, socket, subprocess, tempfile
with tempfile.TemporaryDirectory() as folder:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(folder + '/s')
    listener.listen()
    print(folder + '/s', flush=True)
    client, _ = listener.accept()
    text, fds, _, _ = socket.recv_fds(client, 100, 1)
    env = dict([text.decode().split('=')]) if b'=' in text else {}
    child = subprocess.Popen(['/bin/sleep', '600'], executable='/bin/sleep', stdout=fds[0] if fds else subprocess.DEVNULL, env=env)
    for fd in fds: os.close(fd)
    # Popen is back when the new program has closed what it does not inherit, which is before its environment is in place
    while env and not open(f'/proc/{child.pid}/environ', 'rb').read(): pass
    print(child.pid, flush=True)
    client.send(b'.')
    import signal
    def end(*_):
        child.kill(); child.wait(); raise SystemExit
    signal.signal(signal.SIGTERM, end)
    signal.pause()
"""
