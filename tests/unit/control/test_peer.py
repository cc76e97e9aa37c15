"""The kernel says who connects: another account, a command of the bot and a process that is gone are turned away."""

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mtbot.control import peer as subject
from mtbot.control.peer import Descent, Peer, Signs, Watch
from mtbot.control.place import NAME, Listening
from mtbot.domain.errors import PeerRefused
from mtbot.processes.request import SpawnRequest
from mtbot.processes.runner import Runner
from mtbot.processes.spawning import SPAWNER, start_spawner
from tests.unit.control.ends import CONNECT, MARK, connected, listening

FREE = Watch(frozenset(), MARK)
"""Nothing is above anybody."""

GONE = "the process that connected is gone"


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Listening]:
    """A place to connect to."""
    with listening(tmp_path / "control") as found:
        yield found


def test_a_process_of_the_same_account_may_speak(at: Listening) -> None:
    """Known by pid and uid; without a terminal it may not decide."""
    with connected(at) as connection:
        found = FREE.identify(connection)
    assert (found.uid, found.terminal) == (os.geteuid(), False)
    assert found.pid != os.getpid()


def test_somebody_at_a_terminal_is_told_apart(at: Listening) -> None:
    """By the controlling terminal, not by what its output is."""
    ours, theirs = os.openpty()
    with connected(at, terminal=theirs) as connection:
        assert FREE.identify(connection).terminal
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize(
    "before",
    [(), ("setsid", "--wait"), ("env", "-i"), ("sh", "-c", '"$0" "$@"; exit 0'), ("nohup",)],
    ids=["child", "setsid", "clean-environment", "grandchild", "nohup"],
)
def test_what_descends_from_the_gateway_may_not_speak(at: Listening, before: tuple[str, ...]) -> None:
    """However it was started."""
    watch = Watch(frozenset({os.getpid()}), MARK)
    with connected(at, *before) as connection, pytest.raises(PeerRefused, match="a command that the bot runs"):
        watch.identify(connection)


def test_the_gateway_itself_is_nobodys_command(at: Listening) -> None:
    """Only what is below it is refused."""
    with socket.socket(socket.AF_UNIX) as ours:
        ours.connect(str(at.directory / NAME))
        connection, _ = at.socket.accept()
        with connection:
            found = Watch(frozenset({os.getpid()}), MARK).identify(connection)
    assert found == Peer(os.getpid(), os.geteuid(), found.terminal)


def test_the_mark_of_a_call_gives_away_what_was_handed_to_somebody_else(at: Listening) -> None:
    """In its own environment, or in that of a process above it."""
    for before in ((), ("sh", "-c", 'env -u MTCLAW_CALL "$0" "$@"; exit 0')):
        with (
            connected(at, *before, environment={MARK: "c1"}) as connection,
            pytest.raises(PeerRefused, match="a command that the bot started"),
        ):
            FREE.identify(connection)


def test_a_process_that_is_gone_is_refused(at: Listening) -> None:
    """Whoever connects and ends leaves nothing that could be judged."""
    subprocess.run([sys.executable, "-c", CONNECT, str(at.directory / NAME)], input=b"", check=True)
    connection, _ = at.socket.accept()
    with connection, pytest.raises(PeerRefused, match=GONE):
        FREE.identify(connection)


def test_a_number_that_was_given_to_somebody_else_is_not_believed(
    at: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that has it now is alive, and the one that connected is not: the kernel's handle tells."""
    subprocess.run([sys.executable, "-c", CONNECT, str(at.directory / NAME)], input=b"", check=True)
    connection, _ = at.socket.accept()
    look = subject._line_of
    monkeypatch.setattr(subject, "_line_of", lambda _pid: look(os.getpid()))
    with connection, pytest.raises(PeerRefused, match=GONE):
        FREE.identify(connection)


def test_a_process_that_ends_while_it_is_looked_at_is_refused(at: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its parents changed between two looks, and never came to rest."""
    lines = iter(range(100))
    line = subject._Process(2, 1, 5, terminal=True)
    monkeypatch.setattr(subject, "_line_of", lambda pid: (subject._Process(pid, 1, next(lines), terminal=True), line))
    with connected(at) as connection, pytest.raises(PeerRefused, match=GONE):
        FREE.identify(connection)


class Older(socket.socket):
    """A connection on a kernel that gives no handle of its peer."""

    fault = errno.ENOPROTOOPT

    def getsockopt(self, level: int, name: int, size: int = 0, /) -> object:  # type: ignore[override] # one of both forms
        """As the kernel, but for that."""
        if name == subject.SO_PEERPIDFD:
            raise OSError(self.fault, os.strerror(self.fault))
        return super().getsockopt(level, name, size) if size else super().getsockopt(level, name)


def older(connection: socket.socket) -> Older:
    """The same connection there."""
    return Older(fileno=connection.detach())


def test_an_older_kernel_is_asked_by_number(at: Listening) -> None:
    """The living are known, the dead are refused."""
    with connected(at) as connection, older(connection) as there:
        assert FREE.identify(there).uid == os.geteuid()
    subprocess.run([sys.executable, "-c", CONNECT, str(at.directory / NAME)], input=b"", check=True)
    with older(at.socket.accept()[0]) as there, pytest.raises(PeerRefused, match=GONE):
        FREE.identify(there)


def test_a_kernel_that_has_no_handle_for_the_dead(at: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any other answer than "no such option" means that there is nobody to hold."""
    monkeypatch.setattr(Older, "fault", errno.ESRCH)
    with connected(at) as connection, older(connection) as there, pytest.raises(PeerRefused, match=GONE):
        FREE.identify(there)


def test_a_parent_that_cannot_be_seen_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where /proc hides processes nobody can tell what they descend from, and the line says why."""
    look = subject._process
    monkeypatch.setattr(subject, "_process", lambda pid: look(pid) if pid == os.getpid() else None)
    with pytest.raises(PeerRefused, match=rf"pid {os.getppid()}\) cannot be seen .*hidepid"):
        FREE.look(os.getpid())


if os.geteuid() == 0:  # only root can be somebody else

    def test_another_account_may_not_speak(at: Listening) -> None:
        """Even where the directory would let it in."""
        at.directory.chmod(0o711)
        (at.directory / NAME).chmod(0o666)
        for directory in at.directory.parents:
            if directory.stat().st_mode & 0o001 == 0:
                directory.chmod(directory.stat().st_mode | 0o011)
        before = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "/usr/bin/python3", "-c")
        with subprocess.Popen([*before, CONNECT, str(at.directory / NAME)], stdin=subprocess.PIPE) as process:
            connection, _ = at.socket.accept()
            with connection, pytest.raises(PeerRefused, match="not uid 65534"):
                FREE.identify(connection)
            assert process.stdin is not None
            process.stdin.close()

    def test_root_may_speak_to_an_ordinary_gateway(at: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
        """Root could do all of it anyway."""
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        with connected(at) as connection:
            assert FREE.identify(connection).uid == 0


SIGNS = Signs(MARK, SPAWNER)
LOOK = """\
import os, sys
sys.path.insert(0, sys.argv[1])
from mtbot.control.peer import Signs
signs = Signs("MTCLAW_CALL", sys.argv[2])
told, telling = os.pipe()
orphaned, orphaning = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.close(orphaning)
        os.read(orphaned, 1)  # its parent is gone by then, and somebody else is
        os.write(telling, str(signs.descent(os.getpid()).ours).encode())
    os._exit(0)
os.wait()
os.close(orphaning)
print(os.read(told, 9).decode())
"""


def test_a_command_of_the_bot_knows_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no gateway to ask, whoever decides looks at its own parents."""
    SIGNS.require_no_command()
    assert SIGNS.own_terminal() is subject._line_of(os.getpid())[0].terminal
    lines = {
        "own_terminal": b"PeerRefused: a command that the bot started may not do this",
        "require_no_command": b"PeerRefused: this was started by a command of mtclaw, or cannot be seen not to be",
    }
    for name, refused in lines.items():
        ran = subprocess.run(
            [sys.executable, "-c", f"from mtbot.control.peer import Signs; Signs('{MARK}', 'x/spawner').{name}()"],
            env={**os.environ, MARK: "c1", "PYTHONPATH": str(Path(__file__).parents[3])},
            capture_output=True,
            check=False,
        )
        assert refused in ran.stderr
    monkeypatch.setattr(subject, "_process", lambda _pid: None)
    assert not SIGNS.own_terminal()
    with pytest.raises(PeerRefused, match="cannot be seen not to be"):
        SIGNS.require_no_command()


@pytest.mark.parametrize("environment", [{}, {MARK: "c1"}])
async def test_everything_below_a_spawner_is_known(tmp_path: Path, environment: dict[str, str]) -> None:
    """However it left its group, its session, its parents and its mark behind."""
    runner = Runner(start_spawner())
    argv = (sys.executable, "-c", LOOK, str(Path(__file__).parents[3]), SPAWNER)
    end = await runner.run(SpawnRequest("c1", argv, environment, str(tmp_path), 20.0, 65_536))
    await runner.close()
    assert end.output.text() == "True\n"


def test_what_is_gone_or_endless_was_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """So nothing is known of where it comes from."""
    assert SIGNS.descent(2**22 + 1) == Descent(ours=False, whole=False, terminal=False)
    monkeypatch.setattr(subject, "_process", lambda pid: subject._Process(pid, pid, 0, terminal=False))
    assert SIGNS.descent(os.getpid()) == Descent(ours=False, whole=False, terminal=False)
    assert not subject._is_started_from(2**22 + 1, SPAWNER)
