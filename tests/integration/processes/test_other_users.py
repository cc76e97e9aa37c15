"""As an ordinary user: memory is out of reach for commands, and what belongs to another user is named."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from mtbot.processes.request import SpawnRequest
from mtbot.processes.runner import Runner

from .scenes import Gateway, eventually

NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
_STARTS_ITSELF = "import subprocess, sys; sys.exit(subprocess.run([sys.executable, '-c', '']).returncode)"


def ordinary() -> tuple[str, ...]:
    """Return how to run Python as an ordinary user: as it is, or as nobody if these tests run as root."""
    if os.geteuid() != 0:
        return (sys.executable,)
    for interpreter in (sys.executable, "/usr/bin/python3"):
        command = (*NOBODY, interpreter)
        if subprocess.run([*command, "-c", _STARTS_ITSELF], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return command
    raise AssertionError("no Python on this machine can be run by an ordinary user")


def test_a_command_cannot_read_the_memory_or_environment_above_it() -> None:
    """Supervisor, spawner and gateway refuse a command of the same user: environ, mem, descriptors."""
    with Gateway(*ordinary()) as gateway:
        above = f"$PPID {gateway.spawner} {gateway.process.pid}"
        gateway.tell(
            "a",
            f"for p in {above}; do for f in environ mem maps fd/0 fd/3; do cat /proc/$p/$f; done; done 2>/dev/null; echo end",
        )
        assert gateway.hear("out", "a") == ["end"]
        assert gateway.hear("end", "a") == ["exited", "[]"]


def test_a_command_can_read_its_own() -> None:
    """The reading above would succeed if it were not forbidden: a command reads its own environment."""
    with Gateway(*ordinary()) as gateway:
        gateway.tell("a", "cat /proc/self/environ | tr '\\0' '\\n' | grep PATH")
        assert gateway.hear("out", "a") == ["PATH=/usr/bin:/bin"]


def test_a_spawner_that_may_not_fork_says_so() -> None:
    """A full process table is a failure to start with its reason, and over as soon as there is room again."""
    with Gateway(*ordinary()) as gateway, subprocess.Popen(["sleep", "600"]) as marker:
        try:
            limit = f"prlimit --pid {gateway.spawner} --nproc"
            wait = f"while [ -e /proc/{marker.pid} ]; do sleep 0.05; done"
            gateway.tell("full", f"old=$(ulimit -Su); {limit}=0: ; echo full; {wait}; {limit}=$old: ; echo free")
            assert gateway.hear("out", "full") == ["full"]
            for name in "abcd":  # some are served by supervisors that were forked ahead, and wait for the marker
                gateway.tell(name, wait)
            assert gateway.hear("end")[1:] == ["failed_to_start", "[]"]
        finally:
            marker.kill()
            marker.wait()
        gateway.hear("end", "full")
        gateway.tell("last", "true")
        assert gateway.hear("end", "last") == ["exited", "[]"]


if os.geteuid() == 0:  # only root can make a program that an ordinary user may start and not kill

    def test_a_process_of_another_user_is_named() -> None:
        """What cannot be signalled is named by pid, start, uid and argv after five seconds; all else is dead."""
        folder = Path("/tmp") / f"mtclaw-setuid-{os.getpid()}"
        folder.mkdir(mode=0o755)
        try:
            become_root = folder / "become-root"
            shutil.copy("/usr/bin/setpriv", become_root)
            become_root.chmod(0o4755)
            with Gateway(*ordinary()) as gateway:
                gateway.tell(
                    "a",
                    f"{become_root} --reuid 0 --clear-groups sleep 600 & echo $!; setsid sleep 601 & sleep 600",
                    0.5,
                )
                (pid,) = map(int, gateway.hear("out", "a"))
                start = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
                status, left = gateway.hear("end", "a")
                assert (status, json.loads(left)) == ("timed_out", [[pid, start, 0, ["sleep", "600"]]])
                os.kill(pid, 9)
                gateway.tell("b", "echo on")
                assert gateway.hear("out", "b") == ["on"]
        finally:
            shutil.rmtree(folder)

    def test_the_spawner_has_nothing_of_the_gateway() -> None:
        """Its environment is empty, it keeps no folder in use, and no terminal signal of the gateway reaches it."""
        with Gateway(*ordinary()) as gateway:
            spawner = Path(f"/proc/{gateway.spawner}")
            assert (spawner / "environ").read_bytes() == b""
            assert (spawner / "cwd").readlink() == Path("/")
            assert os.getsid(gateway.spawner) == gateway.spawner

    async def test_a_waiting_supervisor_keeps_no_folder_in_use(runner: Runner, tmp_path: Path) -> None:
        """What a command ran in can be unmounted when it has ended."""
        argv = ("bash", "-c", "pwd; echo $PPID")
        end = await runner.run(SpawnRequest("c", argv, {"PATH": "/usr/bin:/bin"}, str(tmp_path), 5, 4096))
        folder, supervisor = end.output.head.decode().split()
        assert folder == str(tmp_path)
        assert await eventually(lambda: Path(f"/proc/{supervisor}/cwd").readlink() == Path("/"))
