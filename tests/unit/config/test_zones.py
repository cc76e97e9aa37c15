"""The zone of the host, found by name where it has one."""

from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import TZPATH, ZoneInfo

import pytest

from mtbot.config.zones import find_zone

BERLIN_FILE = next((Path(root) / "Europe/Berlin" for root in TZPATH if (Path(root) / "Europe/Berlin").is_file()), None)


def key(zone: ZoneInfo | None) -> str | None:
    """The name of a zone."""
    return zone.key if zone else None


@pytest.mark.parametrize("word", ["Local", "local"])
@pytest.mark.parametrize("value", ["Asia/Tokyo", ":Asia/Tokyo"])
def test_tz_names_the_local_zone(word: str, value: str) -> None:
    """In both forms that the C library knows."""
    assert key(find_zone(word, {"TZ": value})) == "Asia/Tokyo"


def test_the_link_of_the_host_names_the_local_zone(tmp_path: Path) -> None:
    """Also where TZ holds nothing usable."""
    link = tmp_path / "localtime"
    link.symlink_to("/usr/share/zoneinfo/America/New_York")
    assert key(find_zone("Local", {}, link)) == "America/New_York"
    assert key(find_zone("Local", {"TZ": "nonsense"}, link)) == "America/New_York"


def test_a_copied_zone_file_serves_without_a_name(tmp_path: Path) -> None:
    """Containers often copy it instead of linking; its hours must count all the same."""
    assert BERLIN_FILE is not None, "this host has no zone files"
    copy = tmp_path / "localtime"
    copy.write_bytes(BERLIN_FILE.read_bytes())
    zone = find_zone("Local", {}, copy)
    assert zone is not None
    assert (zone.key, zone.utcoffset(datetime(2026, 7, 1, tzinfo=zone))) == ("Local", timedelta(hours=2))


def test_without_any_sign_it_is_utc(tmp_path: Path) -> None:
    """As the C library has it."""
    assert key(find_zone("Local", {}, tmp_path / "missing")) == "UTC"


@pytest.mark.parametrize("name", ["", "Mars/Base", "../../etc/passwd", "/etc/localtime", "Europe", "a\0b"])
def test_no_such_zone(name: str) -> None:
    """And no path that leads out of the zones."""
    assert find_zone(name, {}) is None
