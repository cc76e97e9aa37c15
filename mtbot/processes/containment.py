"""What a contained command may reach, as parts for its supervisor; whatever is not named here is out of reach.

The system's own directories are for reading; HOME is not among them, and of /etc only what programs need. The rest is granted call by call. Every call has a temporary directory of its own.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mtbot.domain.process import Grants
from mtbot.processes.request import Box, Part, Profile
from mtbot.processes.spawner.curtains import DEVICES

SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store", "/snap", "/proc"),
    *("/sys/block", "/sys/bus", "/sys/class", "/sys/dev", "/sys/devices", "/sys/fs", "/sys/module", "/sys/power"),
    *("/sys/kernel/mm", "/run/utmp", "/run/udev/data", "/run/systemd/resolve", "/var/cache/fontconfig"),
    *("/var/lib/dpkg", "/var/lib/rpm", "/lib/apk/db", "/var/lib/pacman/local"),
)
"""For reading, with everything below."""
SETTINGS = (
    *("passwd", "group", "nsswitch.conf", "hosts", "host.conf", "hostname", "resolv.conf", "gai.conf", "networks"),
    *(
        "services",
        "protocols",
        "ethertypes",
        "rpc",
        "iproute2",
        "machine-id",
        "os-release",
        "debian_version",
        "lsb-release",
    ),
    *("ld.so.cache", "localtime", "timezone", "locale.alias", "locale.conf", "terminfo", "shells", "login.defs"),
    *("ssl/certs", "ssl/openssl.cnf", "pki/tls/certs", "pki/ca-trust", "ca-certificates", "crypto-policies"),
    *(
        "alternatives",
        "mime.types",
        "magic",
        "magic.mime",
        "fonts",
        "xdg",
        "xattr.conf",
        "dpkg",
        "java",
        "perl",
        "python3",
    ),
    *("mke2fs.conf", "sensors3.conf", "sensors.d", "mtab", "selinux"),
)
"""What of /etc is for reading: what programs look up to run at all. The rest may hold passwords that nobody knows of."""
_PROGRAM_DIRECTORIES = ("bin", "sbin")

NO_HOME = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "NPM_CONFIG_USERCONFIG": os.devnull,
    "PIP_CONFIG_FILE": os.devnull,
}
"""Programs that give up when their settings in HOME are there and cannot be read are told that there are none."""


@dataclass(frozen=True, slots=True)
class Guard:
    """What is never granted. ``closed`` says it of a path itself, ``above`` of a directory because of what lies below.

    ``own`` are paths of mtclaw itself and those that the owner listed as denied.
    """

    closed: Callable[[str], bool]
    above: Callable[[str], bool]
    own: tuple[str, ...] = ()

    def holds_own(self, path: str) -> bool:
        """Whether ``path`` is one of ``own``, lies below one, or has one below it."""
        return any(_within(path, place) or _within(place, path) for place in self.own)


def parts_for(
    grants: Grants, system: Iterable[str], private: str, guard: Guard, newest_landlock: int | None = None
) -> tuple[Part, ...]:
    """The parts, in the order in which they must be applied. ``private`` is the call's temporary directory."""
    names, looked_at = _looked_at(grants.look)
    granted = [*_programs(grants.programs, guard), *grants.read, *looked_at]
    granted += _repository(grants.repository, guard) if grants.repository else ()
    read = [*system, *(path for path in granted if not guard.holds_own(path))]
    write = writable(grants, private, guard)
    files: dict[str, object] = {"read": _once(read), "names": names, "write": _once(write)}
    return (
        Part("no_new_privs"),
        Part("limits", {"RLIMIT_CORE": 0}),
        Part("capabilities"),
        Part("landlock", files if newest_landlock is None else files | {"newest": newest_landlock}),
        Part("seccomp", {"network": grants.network, "attributes": grants.attributes}),
    )


def _once(paths: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(paths))


def contained(parts: tuple[Part, ...], box: Box | None = None) -> Profile:
    """The profile of one contained call."""
    return Profile("contained", parts, box)


def writable(grants: Grants, private: str, guard: Guard) -> list[str]:
    """What a call may write to."""
    return [*DEVICES, private, *(path for path in grants.write if not guard.holds_own(path))]


def environment_for(environment: Mapping[str, str], private: str) -> dict[str, str]:
    """A contained command's environment: its own temporary directory, and no settings from a HOME it cannot read."""
    return {**NO_HOME, **environment, "TMPDIR": private}


def system_paths(guard: Guard) -> tuple[str, ...]:
    """What of the system every contained command may read: links followed, and no more paths than are needed.

    Each one costs every contained command some microseconds. What appears later is not seen.
    """
    named = (*SYSTEM, *(f"/etc/{name}" for name in SETTINGS))
    there = dict.fromkeys(os.path.realpath(path) for path in named if Path(path).exists())
    outermost = [path for path in there if not any(path != other and _within(path, other) for other in there)]
    return tuple(part for path in outermost for part in without(path, guard.own))


def without(path: str, holes: Iterable[str]) -> list[str]:
    """``path``, or in its place what lies beside the holes in it."""
    inside = [hole for hole in holes if _within(hole, path)]
    if not inside:
        return [] if any(_within(path, hole) for hole in holes) else [path]
    if path in inside:
        return []
    try:
        entries = [entry.path for entry in os.scandir(path) if not entry.is_symlink()]
    except OSError:
        return []
    return [part for entry in entries for part in without(entry, inside)]


def _looked_at(paths: Iterable[str]) -> tuple[list[str], list[str]]:
    """Directories and other files among ``paths``."""
    directories = [path for path in paths if Path(path).is_dir()]
    return directories, [path for path in paths if path not in directories]


def _programs(directories: Iterable[str], guard: Guard) -> Iterator[str]:
    """Directories of programs, and what is installed beside them where nothing sensitive lies there."""
    for directory in directories:
        resolved = Path(os.path.realpath(directory))
        yield str(resolved)
        beside = str(resolved.parent)
        if resolved.name in _PROGRAM_DIRECTORIES and not guard.closed(beside) and not guard.above(beside):
            yield beside


def _repository(directory: str, guard: Guard) -> list[str]:
    """The work tree around ``directory``, and where its git directory lies if that is elsewhere."""
    here = Path(directory)
    top = next((place for place in (here, *here.parents) if os.path.lexists(place / ".git")), None)
    if top is None or guard.closed(str(top)) or guard.above(str(top)):
        return []
    return [str(top), *map(str, _pointed_at(top / ".git"))]


def _pointed_at(pointer: Path) -> Iterator[Path]:
    """Where the ``.git`` file of a linked work tree or a submodule leads, if that is a git directory."""
    if not pointer.is_file():
        return
    home = Path(os.path.realpath(pointer.parent / _line(pointer).removeprefix("gitdir:").strip()))
    if not (home / "HEAD").is_file():
        return
    yield home
    common = Path(os.path.realpath(home / _line(home / "commondir").strip()))
    if (common / "HEAD").is_file() and (common / "objects").is_dir():
        yield common


def _line(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.readline(4096)
    except OSError:
        return ""


def _within(path: str, place: str) -> bool:
    return path == place or path.startswith(place.rstrip("/") + "/")
