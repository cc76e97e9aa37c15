"""Where the control socket lies: alone in a directory that only its owner can enter, and private from its first moment.

The directory is opened once and everything is done relative to it, so that what was checked is what is used, and no
path is too long for the kernel's 108 bytes. A socket takes its mode from its own descriptor before it has a name, so
neither the umask nor another thread can make it public for a moment.
"""

import contextlib
import errno
import fcntl
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

from mtbot.domain.errors import ControlError, InUseError

NAME = "socket"
BACKLOG = 16
LIVE_SECONDS = 1.0
"""So long whoever holds the name has to let somebody in, before it counts as busy."""

_PRIVATE = 0o700
_NOBODY_LIVES = (errno.ECONNREFUSED, errno.ENOENT)


class Listening:
    """A socket that listens at ``directory``; ``close`` takes its name away again if it is still this one's."""

    def __init__(self, directory: Path) -> None:
        """Take over the place, unless somebody lives there (InUseError). ControlError says why it cannot be used."""
        self.directory = directory
        self._folder = _open_folder(directory, create=True)
        try:
            with _alone(self._folder):
                _clear(self._folder, directory)
                self.socket = bind_private(self._folder)
                self._inode = _inode(self._folder)
            self.socket.listen(BACKLOG)
            self.socket.settimeout(0)
        except OSError as fault:
            os.close(self._folder)
            raise ControlError(f"no control socket can be made in {directory}: {fault.strerror}") from fault
        except BaseException:
            os.close(self._folder)
            raise

    def close(self) -> None:
        """Stop listening."""
        self.socket.close()
        with contextlib.suppress(OSError), _alone(self._folder):
            if _inode(self._folder) == self._inode:
                os.unlink(NAME, dir_fd=self._folder)
        os.close(self._folder)


def connect(directory: Path, seconds: float) -> socket.socket | None:
    """A connection to whoever listens at ``directory``; None if nobody lives there. ControlError says what else is wrong.

    ``seconds`` is how long each later read or write may take.
    """
    try:
        folder = _open_folder(directory, create=False)
    except FileNotFoundError:
        return None
    try:
        return _reach(folder, seconds)
    except OSError as fault:
        raise ControlError(f"the control socket in {directory} cannot be reached: {_why(fault)}") from fault
    finally:
        os.close(folder)


def bind_private(folder: int) -> socket.socket:
    """A socket with its name in ``folder``, which has mode 0600 from the moment that it can be seen. OSError."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        os.fchmod(made.fileno(), 0o600)
        made.bind(_path(folder))
    except BaseException:
        made.close()
        raise
    return made


def _reach(folder: int, seconds: float) -> socket.socket | None:
    reached = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        reached.settimeout(seconds)
        reached.connect(_path(folder))
    except OSError as fault:
        reached.close()
        if fault.errno in _NOBODY_LIVES:
            return None
        raise
    return reached


def _open_folder(directory: Path, *, create: bool) -> int:
    """The directory, private and ours. FileNotFoundError if it is not there and not to be made, else ControlError."""
    if create:
        _make_folder(directory)
    try:
        folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as fault:
        raise ControlError(
            f"{directory} is no directory that this account can use: {fault.strerror}", hint="move it away"
        ) from fault
    try:
        _check_folder(folder, directory, ours=create)
    except BaseException:
        os.close(folder)
        raise
    return folder


def _make_folder(directory: Path) -> None:
    try:
        directory.mkdir(mode=_PRIVATE)
    except FileExistsError:
        return
    except FileNotFoundError:
        raise ControlError(f"the directory of {directory} does not exist") from None
    except OSError as fault:
        raise ControlError(f"{directory} cannot be made: {fault.strerror}") from fault


def _check_folder(folder: int, directory: Path, *, ours: bool) -> None:
    """Private to this account, or, for root who only connects, to another one; ``ours``: it may be made private."""
    found = os.fstat(folder)
    if found.st_uid != os.geteuid() and (ours or os.geteuid() != 0):
        raise ControlError(f"{directory} belongs to uid {found.st_uid}, so what listens there is not believed")
    if stat.S_IMODE(found.st_mode) == _PRIVATE:
        return
    if not ours:
        raise ControlError(f"{directory} can be entered by others", hint=f"chmod 700 {directory}")
    os.fchmod(folder, _PRIVATE)


def _clear(folder: int, directory: Path) -> None:
    """Take the name away from a socket behind which nobody lives. InUseError, ControlError, OSError."""
    try:
        kind = os.stat(NAME, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(kind):
        raise ControlError(f"{directory / NAME} is no socket", hint="move it away; nothing was changed")
    if _is_lived_in(folder):
        raise InUseError(f"another process answers at {directory / NAME}", hint="stop it first")
    os.unlink(NAME, dir_fd=folder)


def _is_lived_in(folder: int) -> bool:
    try:
        reached = _reach(folder, LIVE_SECONDS)
    except (BlockingIOError, TimeoutError):
        return True  # its queue is full, so somebody has it
    if reached is None:
        return False
    reached.close()
    return True


@contextlib.contextmanager
def _alone(folder: int) -> Iterator[None]:
    """Hold the directory's lock, so that two starts never clear and bind at the same time."""
    fcntl.flock(folder, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(folder, fcntl.LOCK_UN)


def _inode(folder: int) -> tuple[int, int]:
    found = os.stat(NAME, dir_fd=folder, follow_symlinks=False)
    return found.st_dev, found.st_ino


def _path(folder: int) -> str:
    """The socket's name through the open directory: short however long the directory's own path is."""
    return f"/proc/self/fd/{folder}/{NAME}"


def _why(fault: OSError) -> str:
    if isinstance(fault, TimeoutError | BlockingIOError):
        return "it does not answer"
    return fault.strerror or str(fault)
