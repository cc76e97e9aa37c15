"""One gateway per database: held by the kernel, looked at without getting in the way, never removed."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mtbot.domain.errors import InUseError, StorageError
from mtbot.storage.lock import InstanceLock

ROOT = Path(__file__).parents[3]

HOLDER = """
import sys
from pathlib import Path
from mtbot.storage.lock import InstanceLock
lock = InstanceLock(Path(sys.argv[1]))
lock.acquire()
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the lock lies."""
    return tmp_path / "mtclaw.db.lock"


@pytest.fixture
def holder(path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that holds it."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    yield child
    child.kill()
    child.communicate()


def test_the_lock_is_private_and_names_its_holder(path: Path) -> None:
    """The pid is for people."""
    lock = InstanceLock(path)
    lock.acquire()
    assert path.read_text() == f"{os.getpid()}\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert InstanceLock(path).holder() == str(os.getpid())
    lock.release()
    assert path.exists()
    assert InstanceLock(path).holder() is None


def test_a_second_gateway_is_refused_and_told_whom_to_stop(path: Path, holder: "subprocess.Popen[str]") -> None:
    """After a few tries, which are for those who only look."""
    waits: list[float] = []
    with pytest.raises(InUseError, match=rf"another mtclaw gateway \(pid {holder.pid}\) holds {path}"):
        InstanceLock(path, waits.append).acquire()
    assert waits == [0.025] * 4
    assert InstanceLock(path, waits.append).holder() == str(holder.pid)
    assert path.read_text() == f"{holder.pid}\n"


def test_a_lock_ends_with_its_holder(path: Path, holder: "subprocess.Popen[str]") -> None:
    """After SIGKILL the next gateway starts, and a longer pid text of the old one does not show through."""
    holder.kill()
    holder.wait()
    path.write_text("99999999999999\n")
    lock = InstanceLock(path)
    assert lock.holder() is None
    lock.acquire()
    assert path.read_text() == f"{os.getpid()}\n"
    lock.release()


def test_a_look_does_not_make_a_start_fail(path: Path) -> None:
    """Doctor holds a shared lock for a moment; the start tries again and gets it."""
    path.touch()
    looking = InstanceLock(path)
    fd = looking._open(os.O_RDONLY)
    assert looking._locked(fd, fcntl.LOCK_SH)
    starting = InstanceLock(path, lambda _seconds: os.close(fd))
    starting.acquire()
    starting.release()


def test_two_looks_do_not_see_each_other(path: Path) -> None:
    """A shared lock is not a holder."""
    path.touch()
    first = InstanceLock(path)
    fd = first._open(os.O_RDONLY)
    assert first._locked(fd, fcntl.LOCK_SH)
    assert InstanceLock(path).holder() is None
    os.close(fd)


def test_a_look_creates_nothing(path: Path) -> None:
    """Read-only commands leave no trace."""
    assert InstanceLock(path).holder() is None
    assert not path.exists()


def test_a_place_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    """A missing directory, a link, a directory in its place."""
    with pytest.raises(StorageError, match="does not exist"):
        InstanceLock(tmp_path / "none" / "x.lock").acquire()
    (tmp_path / "link.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="cannot be opened"):
        InstanceLock(tmp_path / "link.lock").acquire()
    (tmp_path / "dir.lock").mkdir()
    with pytest.raises(StorageError, match="cannot be opened"):
        InstanceLock(tmp_path / "dir.lock").acquire()


def test_a_file_system_that_cannot_lock_is_an_error_and_not_a_holder(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only EWOULDBLOCK means held."""

    def no_locks(_fd: int, _kind: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    with pytest.raises(StorageError, match="cannot be locked: No locks available"):
        InstanceLock(path).acquire()
    with pytest.raises(StorageError, match="cannot be locked"):
        InstanceLock(path).holder()


def test_releasing_twice_does_no_harm(path: Path) -> None:
    """Shutdown paths may cross."""
    lock = InstanceLock(path)
    lock.acquire()
    lock.release()
    lock.release()
    assert lock.holder() is None
