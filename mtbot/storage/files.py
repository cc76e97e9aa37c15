"""Files of mtclaw's own state: made private and whole, and when one cannot be used, why, in one line.

The line names the path, its owner, the right that is needed and what to do; nothing that exists is ever overwritten.
"""

import errno
import os
import pwd
import secrets
import stat
from pathlib import Path

from mtbot.domain.errors import StorageError

_SQLITE_MAGIC = b"SQLite format 3\x00"
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


def make_private_directory(directory: Path) -> None:
    """Make ``directory`` and its missing parents, each 0700 whatever the umask. StorageError if it cannot be."""
    if directory.is_dir():
        return
    make_private_directory(directory.parent)
    try:
        directory.mkdir(mode=0o700)
    except FileExistsError:
        if not directory.is_dir():
            raise StorageError(f"{directory} is not a directory", hint="name another place, or move it away") from None
    except OSError as fault:
        raise cannot_write(directory.parent, fault) from fault


def exists(path: Path) -> bool:
    """Whether there is anything at ``path``. StorageError if that cannot be seen."""
    try:
        path.stat()
    except FileNotFoundError:
        return False
    except OSError as fault:
        raise cannot_read(path, fault) from fault
    return True


def draft_beside(path: Path) -> Path:
    """Make an empty private file next to ``path``, to be filled and then published. OSError."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    return draft


def publish(draft: Path, path: Path) -> None:
    """Give a finished draft its name, durably and only if nobody has that name. FileExistsError, OSError."""
    try:
        os.link(draft, path)
    except OSError as fault:
        if fault.errno not in _NO_LINKS:
            raise
        # a file system without hard links: the check and the rename are two steps there
        if path.exists():
            raise FileExistsError(str(path)) from None
        draft.rename(path)
    draft.unlink(missing_ok=True)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def check_database_file(path: Path, *, writing: bool) -> None:
    """Look whether ``path`` can be a SQLite database that we may use. StorageError with the reason; changes nothing."""
    try:
        kind = path.stat()
        if not stat.S_ISREG(kind.st_mode):
            raise StorageError(f"{path} is not a regular file", hint="name another place for the database")
        with path.open("rb") as file:
            head = file.read(len(_SQLITE_MAGIC))
    except OSError as fault:
        raise cannot_read(path, fault) from fault
    if not head:
        raise damaged(path, "it is empty (0 bytes)")
    if head != _SQLITE_MAGIC:
        raise damaged(path, "it is not a SQLite database")
    if not writing:
        return
    if not _may(path, os.W_OK):
        raise cannot_write(path)
    if not _may(path.parent, os.W_OK | os.X_OK):
        # the write-ahead log is made beside the file
        raise cannot_write(path.parent)


def narrow(path: Path) -> None:
    """Take everybody else's rights on a database and its log files away, as far as they are ours."""
    for one in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        try:
            kind = one.stat()
            if kind.st_mode & 0o077 and kind.st_uid == os.geteuid():
                one.chmod(0o600)
        except FileNotFoundError:
            continue


def damaged(path: Path, what: str) -> StorageError:
    """The error for a file whose content cannot be used."""
    return StorageError(
        f"the database {path} is damaged: {what}",
        hint=f"nothing was changed; put a backup in its place, or move it away (mv {path} {path}.damaged) to start anew",
    )


def cannot_read(path: Path, fault: OSError) -> StorageError:
    """The error for a file that mtclaw has to read and may not."""
    return StorageError(f"{path} cannot be read: {fault.strerror}; {_ownership(path)}", hint=_remedy(path, "read"))


def cannot_write(path: Path, fault: OSError | None = None) -> StorageError:
    """The error for a file or directory that mtclaw has to write and may not."""
    if fault is not None and fault.errno in (errno.ENOSPC, errno.EDQUOT):
        return disk_full(path)
    if fault is not None and fault.errno == errno.EROFS:
        return StorageError(f"{path} lies on a read-only file system", hint="name a writable place for the database")
    why = "" if fault is None or fault.errno == errno.EACCES else f" ({fault.strerror})"
    return StorageError(f"{path} cannot be written{why}; {_ownership(path)}", hint=_remedy(path, "write"))


def disk_full(path: Path) -> StorageError:
    """The error for a file that cannot grow."""
    return StorageError(f"no space is left for {path}", hint="free some space on that disk; nothing was overwritten")


def _may(path: Path, right: int) -> bool:
    return os.access(path, right, effective_ids=os.access in os.supports_effective_ids)


def _ownership(path: Path) -> str:
    try:
        kind = path.stat()
    except OSError:
        return f"mtclaw runs as {_user(os.geteuid())}"
    return f"it belongs to {_user(kind.st_uid)} (mode {stat.S_IMODE(kind.st_mode):04o}), mtclaw runs as {_user(os.geteuid())}"


def _remedy(path: Path, right: str) -> str:
    return f"mtclaw needs the right to {right} it: chown {os.geteuid()} {path}"


def _user(uid: int) -> str:
    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"
