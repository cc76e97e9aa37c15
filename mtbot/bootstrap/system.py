"""The real clock, the real dice and the facts of this host, behind the ports that everything else uses."""

import getpass
import os
import platform
import secrets
import socket
import time
from datetime import datetime, tzinfo
from pathlib import Path

from mtbot.domain.ids import ApprovalId, CallId, TurnId

_LETTERS = "ABCDEFGHJKLMNPQRTUVWXYZ"
_ALPHABET = _LETTERS + "2346789"
"""No 0/O, 1/I, 5/S: an id is read aloud and typed by hand."""


class SystemClock:
    """Wall time, told in one zone."""

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone

    def now_ms(self) -> int:
        """Unix time in milliseconds."""
        return time.time_ns() // 1_000_000

    def clock_text(self, at_ms: int) -> str:
        """``19:36``; with the weekday and date when that is not today."""
        at = datetime.fromtimestamp(at_ms / 1000, self._zone)
        today = datetime.fromtimestamp(self.now_ms() / 1000, self._zone).date()
        return at.strftime("%H:%M") if at.date() == today else at.strftime("%a %d %b %H:%M")

    def date(self, at_ms: int) -> str:
        """``2026-11-30``: the day of that moment as an ISO date."""
        return datetime.fromtimestamp(at_ms / 1000, self._zone).date().isoformat()

    def midnight(self, at_ms: int) -> int:
        """When the day of that moment began, as Unix time in milliseconds."""
        at = datetime.fromtimestamp(at_ms / 1000, self._zone)
        return round(at.replace(hour=0, minute=0, second=0, microsecond=0, fold=0).timestamp() * 1000)

    def day_text(self, at_ms: int) -> str:
        """``30 December``; with the year when that is not this one."""
        at = datetime.fromtimestamp(at_ms / 1000, self._zone)
        day = f"{at.day} {at.strftime('%B')}"
        return day if at.year == datetime.fromtimestamp(self.now_ms() / 1000, self._zone).year else f"{day} {at.year}"


def code_of_letters(length: int) -> str:
    """Random characters that nobody mixes up, about four and a half bits each."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


class RandomNames:
    """Identifiers from the system's random source."""

    def turn(self) -> TurnId:
        """128 random bits."""
        return TurnId(secrets.token_hex(16))

    def call(self) -> CallId:
        """128 random bits."""
        return CallId(secrets.token_hex(16))

    def approval(self) -> ApprovalId:
        """Five characters that nobody mixes up; a letter first."""
        return ApprovalId(secrets.choice(_LETTERS) + "".join(secrets.choice(_ALPHABET) for _ in range(4)))

    def job(self) -> str:
        """Four characters that nobody mixes up; a J first."""
        return "J" + "".join(secrets.choice(_ALPHABET) for _ in range(3))

    def token(self) -> str:
        """128 random bits, URL-safe."""
        return secrets.token_urlsafe(16)


def short_host() -> str:
    """The host's name up to the first dot."""
    return socket.gethostname().split(".")[0] or "this host"


def user_name() -> str:
    """The user that this process runs as."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def system_name() -> str:
    """Operating system and machine, for the model."""
    return f"{platform.system()} {platform.machine()}"


def home_directory() -> Path:
    """HOME, or where the password database puts this user; / for a uid without either."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")
