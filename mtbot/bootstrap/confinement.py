"""What may never be granted to a contained command of this configuration, and which workspaces can be granted at all."""

import os

from mtbot.bootstrap.offline import Loaded
from mtbot.bootstrap.system import home_directory
from mtbot.config.compile import child_home, places
from mtbot.config.settings import Profile
from mtbot.policy.sensitive import is_above_sensitive, is_sensitive
from mtbot.processes.containment import Guard


def guard_of(loaded: Loaded) -> Guard:
    """The guard of all profiles together: what one of them closes, no command of another one gets either."""
    settings = loaded.settings
    known = places(settings.base, settings)
    denied = {
        os.path.realpath(path)
        for profile in (settings.base, *settings.profiles.values())
        for path in profile.tools.denied_path
    }
    return Guard(
        closed=lambda path: is_sensitive(path, known),
        above=lambda path: is_above_sensitive(path, known),
        own=tuple(sorted({*known.own, *denied})),
    )


def trouble_with(profile: Profile, guard: Guard) -> str:
    """Why nothing can be contained in the profile's workspace; empty if it can."""
    workspace = os.path.realpath(profile.agent.workspace)
    for place in (str(home_directory()), child_home(profile.tools.exec.user)):
        home = os.path.realpath(place)
        if home != "/" and (home == workspace or home.startswith(workspace.rstrip("/") + "/")):
            return f"the workspace {workspace} holds HOME"
    held = next((path for path in guard.own if path == workspace or path.startswith(workspace.rstrip("/") + "/")), None)
    if held is not None:
        return f"the workspace holds {held}, which no contained command may reach"
    return (
        f"the workspace {workspace} lies in a place that no contained command may reach"
        if guard.holds_own(workspace)
        else ""
    )


def readable(profile: Profile, guard: Guard) -> tuple[str, ...]:
    """The directory that commands start in, where it may be read with everything below."""
    cwd = os.path.realpath(profile.tools.exec.cwd)
    return () if guard.closed(cwd) or guard.above(cwd) or guard.holds_own(cwd) else (cwd,)
