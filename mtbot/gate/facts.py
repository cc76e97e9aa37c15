"""Look at what policy wants to know about a call: where paths lead, what lies there, which file a script is.

Policy names the look-ups (pure), this module has them made, policy decides on what came back. It looks and never
judges.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from mtbot.domain.call import MISSING, UNCONTAINED, Below, Call, Decision, Facts, Target, TargetKind
from mtbot.domain.grant import Grant
from mtbot.domain.ports import World
from mtbot.domain.process import CONTAINED, HOST
from mtbot.domain.turn import TurnState, surface
from mtbot.policy.effects import PathWant, Prepared, Wants


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is the same for every call of a profile: the home, the child's environment names and PATH, the containment.

    ``profile`` is where a command runs that a person approved. ``containment_ready`` False: nothing can be contained in
    this workspace, whatever the host can do. ``attended`` None: as the surface is; False: nobody is there, although
    somebody could be. ``account`` is the user that commands run as, where it is not the gateway's own.
    """

    home: str
    env_names: tuple[str, ...]
    profile: str = HOST
    containment_ready: bool = False
    attended: bool | None = None
    path: tuple[str, ...] = ()
    account: str = ""


def at_host(decision: Decision) -> Decision:
    """The decision on a command that the owner might have approved in a chat, where that cannot be."""
    return replace(decision, owner_only=False, elevates=True)


def as_decided(facts: Facts, decision: Decision) -> Facts:
    """The facts that a yes to ``decision`` is bound to.

    What changes the user is never contained, because containment takes that away. What a person runs at the host gets its
    variables from their terminal, so their names are not bound; programs, directory and script operands are.
    """
    if decision.elevates:
        return replace(facts, profile=HOST, env_names=(), account="")
    return replace(facts, profile=HOST) if decision.owner_only else facts


Standing = Callable[[Call], Awaitable[tuple[Grant, ...]]]
"""The grants that hold now for a call's place and person; never raises."""


class FactFinder:
    """Gathers Facts through a World."""

    def __init__(
        self, world: World, confines: Callable[[], Awaitable[bool]] | None = None, standing: Standing | None = None
    ) -> None:
        """``confines`` says whether this host can contain a command; without it, it is as the surroundings say.

        ``standing`` knows the grants; without it there are none.
        """
        self._world = world
        self._confines = confines
        self._standing = standing

    async def gather(
        self, call: Call, prepared: Prepared, around: Surroundings, *, tainted: bool, named_urls: Sequence[str] = ()
    ) -> Facts:
        """Everything that ``prepared`` asks for, looked up now."""
        world, wants = self._world, prepared.wants
        directory = call.cwd
        if wants.directory is not None:
            directory = (await world.resolve(wants.directory, call.cwd)).path
        resolved: dict[str, str] = {}
        below: dict[str, Below] = {}
        for word in wants.paths:
            resolved[word] = (await world.resolve(word, directory)).path
        for word in wants.trees:
            below[word] = await world.below(resolved[word])
        keys = await world.repository_keys(directory) if wants.repository else None
        programs, digests = await self._scripts(wants, directory, around.path)
        targets = [await self._target(path, call.cwd) for path in wants.targets]
        ready = await self._ready(call, around)
        attended = surface(call.address.surface).attended if around.attended is None else around.attended
        return Facts(
            cwd=call.cwd,
            directory=directory,
            home=around.home,
            attended=attended,
            tainted=tainted,
            profile=UNCONTAINED if around.profile == CONTAINED and not ready else around.profile,
            containment_ready=ready,
            env_names=around.env_names,
            account=around.account if call.tool == "exec" else "",
            targets=tuple(targets),
            resolved=resolved,
            below=below,
            repository_keys=keys,
            programs=programs,
            operand_digests=digests,
            unbound=wants.unbound,
            named_urls=tuple(named_urls),
            grants=await self._grants(call, prepared) if attended and not tainted else (),
            contents=await self._contents(prepared, directory) if attended and not tainted else {},
        )

    async def _contents(self, prepared: Prepared, directory: str) -> dict[str, str]:
        """What lies at the words that a grant would be bound to; nothing where none can be given."""
        found: dict[str, str] = {}
        for word in prepared.wants.contents if prepared.rules.grant_minutes else ():
            target = await self._world.resolve(word, directory)
            if target.kind is TargetKind.MISSING:
                found[word] = MISSING
            else:
                found[word] = str(await self._world.digest(target.path) or "(unreadable)")
        return found

    async def _grants(self, call: Call, prepared: Prepared) -> tuple[Grant, ...]:
        if self._standing is None or not prepared.wants.grant or not prepared.rules.grant_minutes:
            return ()
        return await self._standing(call)

    async def _ready(self, call: Call, around: Surroundings) -> bool:
        if call.tool != "exec" or not around.containment_ready or self._confines is None:
            return around.containment_ready
        return await self._confines()

    async def _target(self, want: PathWant, cwd: str) -> Target:
        found = await self._world.resolve(want.written, cwd)
        weight = await self._world.weigh(found.path) if want.remove else None
        return Target(found.written, found.path, found.kind, write=want.write, removed=want.remove, weight=weight)

    async def _scripts(
        self, wants: Wants, directory: str, search: Sequence[str]
    ) -> tuple[dict[str, str], dict[str, str]]:
        programs: dict[str, str] = {}
        digests: dict[str, str] = {}
        for word in wants.programs:
            path = await self._world.program(word, directory, search)
            programs[word] = path or "(none)"
        for word in wants.scripts:
            path = (await self._world.resolve(word, directory)).path
            digests[path] = str(await self._world.digest(path) or "(unreadable)")
        return programs, digests


def urls_of_people(state: TurnState) -> tuple[str, ...]:
    """The http(s) addresses in what a person wrote in this turn."""
    words = [word for m in state.messages if m.role.value == "user" for word in m.content.split()]
    return tuple(
        word.strip("<>()[]\"',.;") for word in words if word.strip("<([\"'").startswith(("http://", "https://"))
    )
