"""Runs inside the namespaces: build a root that holds nothing but bash and stubs, then run texts there, one fresh directory each.

Standard library only, and everything is imported before the root changes. Texts come as JSON lines on the standard
input; what each of them did goes out as JSON lines: every program that ran, every command that bash traced, the exit
status, and the files that are left.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

PROGRAMS = [
    "X",
    "ls",
    "git",
    "cat",
    "wc",
    "mk",
    "fail",
    "no",
    "deploy.sh",
    "g++",
    "apt-get",
    "2to3",
    "a_b",
    "rm",
    "sh2",
    ".hid",
]
STUB = """#!/bin/sh
while IFS= read -r line; do :; done
printf '%s\\0' "$0" "$PWD" "$#" "$@" >>/log/calls
case ${0##*/} in
mk) for name do true >"$name"; done 2>/dev/null ;;
fail|no) exit 3 ;;
esac
printf '%s\\n' "$0"
"""
SECONDS = 5
_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 0x1, 0x20, 0x1000, 0x4000, 0x40000


def mount(source: str, target: str, kind: str, flags: int) -> None:
    """mount(2), raising OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source.encode(), target.encode(), kind.encode(), flags, None) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), target)


def build(root: Path) -> None:
    """Fill a tmpfs at `root` with bash, sh, their libraries, /dev/null and the stubs, and make it the root."""
    mount("none", "/", "", _MS_REC | _MS_PRIVATE)
    mount("tmpfs", str(root), "tmpfs", 0)
    for name, where in (("bash", "bin/bash"), ("sh", "bin/sh")):
        found = shutil.which("dash") or shutil.which("sh") if name == "sh" else shutil.which("bash")
        assert found is not None, name
        copy(root, Path(found).resolve(), root / where)
        for library in libraries(found):
            copy(root, library, root / str(library).lstrip("/"))
    for directory in ("dev", "log", "work", "home/op", "stub", "usr/bin", "opt"):
        (root / directory).mkdir(parents=True, exist_ok=True)
    (root / "dev/null").touch()
    mount("/dev/null", str(root / "dev/null"), "", _MS_BIND)
    for where in (*(f"stub/{name}" for name in PROGRAMS), "usr/bin/X", "opt/X"):
        (root / where).write_text(STUB)
        (root / where).chmod(0o755)
    for directory in ("log", "work", "home/op"):
        mount("tmpfs", str(root / directory), "tmpfs", 0)
    # a text may redirect into a stub; only the fresh directories and the log can be written
    mount("tmpfs", str(root), "tmpfs", _MS_REMOUNT | _MS_RDONLY)
    os.chroot(root)
    os.chdir("/")


def libraries(program: str) -> list[Path]:
    """The shared objects that a program loads, by the names under which they are asked for."""
    told = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return [Path(word) for word in told.split() if word.startswith("/")]


def copy(root: Path, source: Path, target: Path) -> None:
    """Copy a file with the directories above it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        shutil.copy(source, target)
    assert target.is_relative_to(root)


def furnish(directory: Path) -> None:
    """The same few files in every fresh directory: names that a glob would find, a directory, two programs."""
    (directory / "d/e").mkdir(parents=True)
    for name in ("a", "b c", "-rf", "d/f", "X.txt"):
        (directory / name).write_text(name)
    for name in ("run", "d/run"):
        (directory / name).write_text(STUB)
        (directory / name).chmod(0o755)


Listing = dict[str, tuple[int, int, int, int]]


def listing(directory: Path) -> Listing:
    """Everything below a directory: inode, mode, size and time of the last change of each name."""
    found: Listing = {}
    waiting = [""]
    while waiting:
        below = waiting.pop()
        with os.scandir(directory / below) as entries:
            for entry in entries:
                name = below + entry.name
                seen = entry.stat(follow_symlinks=False)
                found[name] = (seen.st_ino, seen.st_mode, seen.st_size, seen.st_mtime_ns)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(name + "/")
    return found


class Directories:
    """A fresh directory for each text; one that a text left exactly as it was is handed on under the next name."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self._clean: tuple[Path, Listing] | None = None

    def fresh(self, number: int) -> tuple[Path, Listing]:
        """The directory for a text, and what is in it."""
        directory = self._work / str(number)
        if self._clean is None:
            furnish(directory)
            return directory, listing(directory)
        old, known = self._clean
        old.rename(directory)
        return directory, known

    def give_back(self, directory: Path, before: Listing, after: Listing) -> None:
        """Keep the directory if nothing in it changed, else remove it."""
        self._clean = (directory, before) if before == after else None
        if self._clean is None:
            shutil.rmtree(directory)


def observe(text: str, number: int, directories: Directories) -> dict[str, object]:
    """Run one text and say what happened."""
    directory, before = directories.fresh(number)
    calls, trace = Path("/log/calls"), Path("/log/trace")
    calls.write_bytes(b"")
    trace.write_bytes(b"")
    descriptor = os.open(trace, os.O_WRONLY | os.O_APPEND)
    os.set_inheritable(descriptor, True)  # noqa: FBT003 - it takes no keywords
    environment = {"PATH": "/stub", "HOME": "/home/op", "BASH_XTRACEFD": str(descriptor)}
    child = subprocess.Popen(
        ["/bin/bash", "--noprofile", "--norc", "-x", "-c", text],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # every other descriptor closes by itself on exec; without /proc, closing them one by one takes milliseconds
        close_fds=False,
        start_new_session=True,
    )
    os.close(descriptor)
    status = child.wait() if ended(child) else None
    end(child)
    after = listing(directory)
    found: dict[str, object] = {
        "status": status,
        "calls": calls.read_bytes().decode("utf-8", "surrogateescape"),
        "trace": trace.read_bytes().decode("utf-8", "surrogateescape"),
        "files": sorted(after),
        "directory": str(directory),
    }
    directories.give_back(directory, before, after)
    return found


def ended(child: subprocess.Popen[bytes]) -> bool:
    """Wait for the end without polling, and at most so long; whether it came."""
    handle = os.pidfd_open(child.pid)
    try:
        readable, _, _ = select.select([handle], [], [], SECONDS)
    finally:
        os.close(handle)
    return bool(readable)


def end(child: subprocess.Popen[bytes]) -> None:
    """End whatever a text left behind in its session; this process is the first of its own process namespace."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def main() -> None:
    """Build the root and answer texts until the input ends."""
    build(Path(sys.argv[1]))
    directories = Directories(Path("/work"))
    for number, line in enumerate(sys.stdin):
        json.dump(observe(json.loads(line), number, directories), sys.stdout)
        sys.stdout.write("\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
