"""Find out what containment holds on this host: by a contained child that tries to break out, not by version numbers."""

import contextlib
import json
import os
import socket
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

from mtbot.domain.process import Account, Containment
from mtbot.processes.spawner.tree import start_time

ATTEMPTS = Path(__file__).with_name("probe_attempts.py")
SYSTEM_PYTHON = "/usr/bin/python3"
SECONDS = 10.0

FILES = {
    "read": "files outside can be read",
    "read_through_link": "files outside can be read through a link",
    "read_through_hard_link": "files outside can be read through a hard link",
    "list": "directories outside can be listed",
    "write": "files outside can be written to",
    "create": "files can be made outside",
    "truncate": "files outside can be emptied",
    "truncate_by_reading": "files outside can be emptied by opening them",
    "attributes": "modes of files outside can be changed",
    "move_in": "files can be moved in from outside",
    "move_out": "files can be moved out",
    "remove": "files outside can be removed",
    "environment": "the gateway's environment can be read",
    "memory": "the gateway's memory can be read",
    "ptrace": "the gateway can be traced",
}
NETWORK = {
    "tcp": "TCP connections can be made",
    "udp": "UDP can be sent",
    "unix": "unix sockets can be reached",
    "unix_datagram": "unix datagrams can be sent",
    "unix_abstract": "abstract unix sockets can be reached",
    "io_uring": "io_uring, which passes by the filter, can be used",
}
SIGNALS = {"signal": "processes of the same user can be signalled"}
BOXED = {
    "secret": "secrets in the workspace can be read",
    "hooks": "git hooks in the workspace can be made",
    "repository": "repositories in the workspace can be moved",
    "time": "times of files outside can be changed",
    "processes": "other processes can be seen",
}
"""What bubblewrap adds; tried with the right to change attributes, as a build has it."""


@contextlib.contextmanager
def targets(inside: str, account: Account | None = None, *, boxed: bool = False) -> Iterator[dict[str, str]]:
    """Things outside of ``inside`` that are there to be attacked: a file, a directory, listeners, this process.

    ``boxed``: inside, too, a secret and a repository. The files belong to ``account``, so that nothing but containment keeps it from them.
    """
    with contextlib.ExitStack() as held:
        place = held.enter_context(tempfile.TemporaryDirectory(prefix="mtclaw-probe-"))
        outside = f"{place}/outside"
        Path(outside).write_bytes(b"outside")
        found = {"directory": place, "file": outside, "inside": inside, "gateway": str(os.getpid())}
        found |= {"unix": f"{place}/s", "abstract": f"mtclaw-probe-{uuid.uuid4().hex}", "tcp": "9", "udp": "9"}
        for kind, name in ((socket.SOCK_STREAM, "tcp"), (socket.SOCK_DGRAM, "udp")):
            with contextlib.suppress(OSError):  # a host without IPv4 has nothing to be reached by it
                internet = held.enter_context(socket.socket(socket.AF_INET, kind))
                internet.bind(("127.0.0.1", 0))
                if kind == socket.SOCK_STREAM:
                    internet.listen()
                found[name] = str(internet.getsockname()[1])
        for address in (found["unix"], "\0" + found["abstract"]):
            local = held.enter_context(socket.socket(socket.AF_UNIX))
            local.bind(address)
            local.listen()
        laid = [inside, place, outside, found["unix"]]
        if boxed:
            found["start"] = str(start_time(os.getpid()))
            laid += _lay_out(inside)
        if account is not None:
            for path in laid:
                os.chown(path, account.uid, account.gid)
        yield found


def _lay_out(inside: str) -> list[str]:
    """A secret and a repository; their paths."""
    hooks, secret = Path(inside, ".git", "hooks"), Path(inside, ".env")
    hooks.mkdir(parents=True)
    secret.write_bytes(b"SECRET=1")
    return [str(hooks.parent), str(hooks), str(secret)]


def interpreters(account: Account | None) -> tuple[str, ...]:
    """What can start the child, best first; another account may not get at the interpreter of the gateway."""
    return (sys.executable,) if account is None else (sys.executable, os.path.realpath(sys.executable), SYSTEM_PYTHON)


def command(interpreter: str, found: Mapping[str, str]) -> tuple[str, ...]:
    """The argv of the child that attacks; its program goes along as text, because not everybody can read the file."""
    return (interpreter, "-I", "-S", "-c", ATTEMPTS.read_text("utf-8"), json.dumps(dict(found)))


def interpreter() -> tuple[str, ...]:
    """What the child needs for reading so that it can run at all."""
    real = os.path.realpath(sys.executable)
    places = (sys.executable, real, sys.base_prefix, sys.base_exec_prefix, str(Path(os.__file__).parent), str(ATTEMPTS))
    return tuple(dict.fromkeys(place for place in places if os.path.realpath(place) not in ("/", "/usr")))


def read_answer(output: str, trouble: str, *, boxed: bool = False) -> Containment:
    """What the child's answer says; without a whole answer nothing holds, and ``trouble`` says why there is none.

    ``boxed``: it was asked for what bubblewrap adds, too.
    """
    try:
        answer = json.loads(output)
        made, works = set(answer["made"]), answer["allowed"] is True
    except (ValueError, KeyError, TypeError):
        return _nothing(trouble or "the probe gave no answer")
    if not works:
        return _nothing("a contained command could not do what it was granted")
    missing = [words for kind in (FILES, NETWORK, SIGNALS) for name, words in kind.items() if name in made]
    return Containment(
        files=made.isdisjoint(FILES),
        network=made.isdisjoint(NETWORK),
        signals=made.isdisjoint(SIGNALS),
        missing=tuple(missing),
        bubblewrap=boxed and made.isdisjoint(BOXED),
        no_bubblewrap=tuple(words for name, words in BOXED.items() if name in made),
    )


def _nothing(trouble: str) -> Containment:
    return Containment(missing=(trouble,), no_bubblewrap=(trouble,))
