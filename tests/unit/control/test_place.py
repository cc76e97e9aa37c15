"""The socket is private from its first moment, taken over only from the dead, and reachable however deep it lies."""

import os
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mtbot.control import place
from mtbot.control.place import NAME, Listening, bind_private, connect
from mtbot.domain.errors import ControlError, InUseError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the socket is to lie; not made yet."""
    return tmp_path / "mtclaw.db.control"


@pytest.fixture
def open_umask() -> Iterator[None]:
    """What is made now is everybody's, unless it says otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    """Its permission bits."""
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.usefixtures("open_umask")
def test_a_name_is_private_before_anybody_listens(tmp_path: Path) -> None:
    """The mode is the socket's own at the moment of bind."""
    handle = os.open(tmp_path, os.O_RDONLY)
    bound = bind_private(handle)
    assert mode(tmp_path / NAME) == 0o600
    bound.close()
    os.close(handle)


@pytest.mark.usefixtures("open_umask")
def test_nobody_ever_sees_it_public(folder: Path) -> None:
    """A watcher that looks all the time, over many starts with umask 0, sees two modes only."""
    seen: set[tuple[str, int]] = set()
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            for path in (folder, folder / NAME):
                try:
                    seen.add((path.name, mode(path)))
                except OSError:
                    continue

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for _ in range(300):
            Listening(folder).close()
            folder.rmdir()
    finally:
        done.set()
        watcher.join()
    assert seen <= {(folder.name, 0o700), (NAME, 0o600)}


def test_a_directory_that_others_could_enter_is_closed_to_them(folder: Path) -> None:
    """One that is there already, and ours."""
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    Listening(folder).close()
    assert mode(folder) == 0o700


def test_what_lies_in_an_open_directory_is_not_spoken_to(folder: Path) -> None:
    """Anybody could have put it there."""
    listening = Listening(folder)
    folder.chmod(0o755)
    with pytest.raises(ControlError, match=r"can be entered by others .chmod 700"):
        connect(folder, 1)
    listening.close()


def test_a_link_in_place_of_the_directory_is_refused(folder: Path, tmp_path: Path) -> None:
    """Also one to a private directory; nothing is made there."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    folder.symlink_to(elsewhere)
    for act in (lambda: Listening(folder), lambda: connect(folder, 1)):
        with pytest.raises(ControlError, match="no directory that this account can use"):
            act()
    assert list(elsewhere.iterdir()) == []


def test_a_missing_parent_and_a_file_in_the_way_are_named(folder: Path) -> None:
    """Each in one line."""
    with pytest.raises(ControlError, match=r"the directory of .* does not exist"):
        Listening(folder / "deeper")
    folder.write_text("mine")
    with pytest.raises(ControlError, match="no directory that this account can use"):
        Listening(folder)
    assert folder.read_text() == "mine"


if os.geteuid() == 0:  # only root can give a directory away

    def test_a_directory_of_somebody_else_is_not_used(folder: Path) -> None:
        """Its owner could exchange what lies in it; root may only look who is there."""
        folder.mkdir(mode=0o700)
        os.chown(folder, 65534, -1)
        with pytest.raises(ControlError, match="belongs to uid 65534"):
            Listening(folder)
        assert connect(folder, 1) is None


def test_what_is_no_socket_stays(folder: Path) -> None:
    """Somebody's file of that name is no stale socket."""
    folder.mkdir(mode=0o700)
    (folder / NAME).write_text("mine")
    with pytest.raises(ControlError, match=r"is no socket .move it away; nothing was changed"):
        Listening(folder)
    assert (folder / NAME).read_text() == "mine"


def test_a_dead_one_is_taken_over(folder: Path) -> None:
    """After a SIGKILL the name is still there, and nobody behind it."""
    dead = Listening(folder)
    dead.socket.close()
    assert (folder / NAME).is_socket()
    assert connect(folder, 1) is None
    heir = Listening(folder)
    reached = connect(folder, 1)
    assert reached is not None
    reached.close()
    heir.close()
    dead.close()


def test_a_living_one_is_left_alone(folder: Path) -> None:
    """It goes on answering."""
    first = Listening(folder)
    with pytest.raises(InUseError, match="another process answers at"):
        Listening(folder)
    reached = connect(folder, 1)
    assert reached is not None
    reached.close()
    first.close()


def test_one_that_is_too_busy_lives(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full queue is no death."""
    monkeypatch.setattr(place, "BACKLOG", 0)
    first = Listening(folder)
    waiting: list[socket.socket] = []
    while True:
        more = socket.socket(socket.AF_UNIX)
        more.settimeout(0)
        waiting.append(more)
        try:
            more.connect(str(folder / NAME))
        except BlockingIOError:
            break
    monkeypatch.setattr(place, "LIVE_SECONDS", 0.01)
    with pytest.raises(InUseError):
        Listening(folder)
    for one in waiting:
        one.close()
    first.close()


def test_closing_leaves_the_heir_in_peace(folder: Path) -> None:
    """A name that is no longer this one's is not taken away."""
    first = Listening(folder)
    (folder / NAME).unlink()
    second = Listening(folder)
    first.close()
    assert (folder / NAME).is_socket()
    second.close()
    assert not (folder / NAME).exists()


def test_no_path_is_too_long(tmp_path: Path) -> None:
    """The kernel takes 108 bytes of a name, and a home may be deeper."""
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    listening = Listening(deep / "control")
    reached = connect(deep / "control", 1)
    assert reached is not None
    reached.close()
    listening.close()


def test_nobody_at_home(folder: Path) -> None:
    """No directory, or no socket in it, is no error."""
    assert connect(folder, 1) is None
    folder.mkdir(mode=0o700)
    assert connect(folder, 1) is None
