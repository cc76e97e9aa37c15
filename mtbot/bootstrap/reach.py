"""How every other command of this host reaches the gateway; loads nothing that serves."""

import contextlib
from collections.abc import Mapping

from mtbot.bootstrap.offline import Loaded, place_of
from mtbot.control.client import ask
from mtbot.control.peer import Signs
from mtbot.control.verbs import NEEDS_TERMINAL, TERMINAL_HINT
from mtbot.control.wire import JsonObject
from mtbot.domain.errors import MtclawError, PeerRefused
from mtbot.processes.request import CALL_MARK
from mtbot.processes.spawning import SPAWNER
from mtbot.storage.lock import InstanceLock

NUDGE_SECONDS = 2.0
_SIGNS = Signs(CALL_MARK, SPAWNER)


def ask_gateway(loaded: Loaded, wanted: Mapping[str, object]) -> JsonObject | None:
    """What the gateway of this configuration answers; None if none can be reached. ControlError, ConfigError."""
    return ask(place_of(loaded).control, wanted)


def nudge_gateway(loaded: Loaded) -> bool:
    """Have a gateway look for what was ruled on meanwhile; False if none answers, which sees it within 5 s."""
    with contextlib.suppress(MtclawError):
        return ask(place_of(loaded).control, {"do": "look"}, NUDGE_SECONDS) is not None
    return False


def check_decider(loaded: Loaded) -> None:
    """PeerRefused if this process may not decide past the gateway: a command of the bot never, and beside a gateway that
    runs and cannot be reached only somebody at a terminal."""
    terminal = _SIGNS.own_terminal()
    if not terminal and InstanceLock(place_of(loaded).lock).holder() is not None:
        raise PeerRefused(NEEDS_TERMINAL, hint=TERMINAL_HINT)


def check_person() -> None:
    """PeerRefused if this process comes from a command of the bot, or if that cannot be seen."""
    _SIGNS.require_no_command()
