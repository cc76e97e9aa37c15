"""Find out what commands can be contained from on this host, which profiles cannot use it, and what depends on it."""

from dataclasses import dataclass

from mtbot.bootstrap.account import account_for_commands
from mtbot.bootstrap.confinement import guard_of, trouble_with
from mtbot.bootstrap.offline import Loaded
from mtbot.config.compile import compile_rules
from mtbot.config.settings import Profile
from mtbot.domain.errors import ConfigError
from mtbot.domain.process import Containment


@dataclass(frozen=True, slots=True)
class ProfileHeld:
    """A profile as containment concerns it. ``name`` is empty for the base.

    ``trouble``: why nothing can be contained in its workspace. ``needs`` names the rules whose commands should run
    contained. ``require``: they are refused where they cannot.
    """

    name: str
    trouble: str = ""
    needs: tuple[str, ...] = ()
    require: bool = False


async def held_here(loaded: Loaded) -> Containment:
    """What a contained child, really started, could not do. Never raises."""
    from mtbot.processes.confiner import Confiner
    from mtbot.processes.runner import Runner
    from mtbot.processes.spawning import start_spawner

    try:
        runner = Runner(start_spawner())
    except OSError as error:
        return Containment(missing=(str(error),))
    try:
        account = account_for_commands(loaded.settings)
    except ConfigError as error:
        await runner.close()
        return Containment(missing=error.problems)
    confiner = Confiner(runner, guard_of(loaded), account)
    try:
        return await confiner.state()
    finally:
        await confiner.close()
        await runner.close()


def profiles_held(loaded: Loaded) -> tuple[ProfileHeld, ...]:
    """Every profile that can run commands."""
    guard = guard_of(loaded)
    named = {"": loaded.settings.base, **loaded.settings.profiles}
    return tuple(
        ProfileHeld(
            name,
            trouble_with(profile, guard),
            _needing(loaded, profile),
            profile.tools.exec.containment.require,
        )
        for name, profile in named.items()
        if profile.tools.exec.enabled
    )


def _needing(loaded: Loaded, profile: Profile) -> tuple[str, ...]:
    """The packs, the owner's rules and the modes that count on containment."""
    rules = compile_rules(profile, loaded.settings)
    found = [f"the {pack} pack" for pack in rules.packs]
    found += [f"{rule.id} ({rule.program})" for rule in rules.allow if rule.needs.contained and rule.program]
    if profile.tools.exec.mode.value == "auto":
        found.append("mode auto")
    if profile.tools.exec.containment.profile.value == "contained":
        found.append("containment.profile: contained")
    return tuple(found)
