"""The one time zone of schedules and lists: an IANA name, or the zone that this host lives in."""

from collections.abc import Mapping
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_LOCALTIME = Path("/etc/localtime")


def find_zone(name: str, environ: Mapping[str, str], localtime: Path = _LOCALTIME) -> ZoneInfo | None:
    """The zone of that name; for ``Local`` the one of ``TZ``, else of the host, else UTC. None for an unknown name."""
    if name.lower() != "local":
        return _load(name)
    named = _load(environ.get("TZ", "").removeprefix(":"))
    return named or _host_zone(localtime) or ZoneInfo("UTC")


def _load(name: str) -> ZoneInfo | None:
    if not name:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _host_zone(localtime: Path) -> ZoneInfo | None:
    """The name behind the link, so that it can be shown; a plain copy of a zone file serves without one."""
    _, found, name = str(localtime.resolve()).partition("/zoneinfo/")
    zone = _load(name) if found else None
    if zone is not None:
        return zone
    try:
        with localtime.open("rb") as file:
            return ZoneInfo.from_file(file, key="Local")
    except (OSError, ValueError):
        return None
