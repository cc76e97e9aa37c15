"""Containment parts that a supervisor applies to a command between fork and exec, in the order given.

A part is a name and its settings. An unknown name or a part that fails stops the start: a command never runs with less
containment than was decided.
"""

import resource
from collections.abc import Callable, Mapping

from . import capabilities, kernel, landlock, seccomp
from .failure import PartFailed


def _no_new_privileges(_settings: Mapping[str, object]) -> None:
    if not kernel.refuse_new_privileges():
        raise PartFailed("the kernel did not accept no_new_privs")


def _limits(settings: Mapping[str, object]) -> None:
    apply_limits({name: value for name, value in settings.items() if isinstance(value, int)})


PARTS: dict[str, Callable[[Mapping[str, object]], None]] = {
    "no_new_privs": _no_new_privileges,
    "limits": _limits,
    "capabilities": capabilities.drop_all,
    "landlock": landlock.restrict,
    "seccomp": seccomp.filter_calls,
}


def apply_limits(limits: Mapping[str, int]) -> None:
    """Set each resource limit, soft and hard alike, never above the hard limit that is in force."""
    for name, value in limits.items():
        number = getattr(resource, name, None)
        if not name.startswith("RLIMIT_") or not isinstance(number, int):
            raise PartFailed(f"this system has no limit {name}")
        hard = resource.getrlimit(number)[1]
        wanted = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(number, (wanted, wanted))


def apply_parts(parts: list[tuple[str, dict[str, object]]]) -> None:
    """Apply every part in order; raises PartFailed or OSError at the first that does not hold."""
    for name, settings in parts:
        part = PARTS.get(name)
        if part is None:
            raise PartFailed(f"containment part {name} is not known here")
        part(settings)
