"""The policy by itself, for commands that nobody proposes: reads the disk like the gate, runs and records nothing."""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Self

from mtbot.bootstrap.account import home_of
from mtbot.bootstrap.confinement import guard_of, trouble_with
from mtbot.bootstrap.offline import Loaded, look
from mtbot.bootstrap.system import home_directory
from mtbot.config.compile import compile_rules
from mtbot.config.tools import DEFAULT_PATH
from mtbot.domain.call import Call, Decision, Facts, Verdict
from mtbot.domain.errors import MtclawError, StorageError
from mtbot.domain.grant import Grant
from mtbot.domain.ids import BotName, CallId, ChatId, TurnId
from mtbot.domain.turn import SYSTEM, Address, SurfaceName
from mtbot.gate.facts import FactFinder, Surroundings
from mtbot.policy import grants
from mtbot.policy.effects import Prepared, prepare
from mtbot.policy.evaluate import evaluate
from mtbot.policy.explain import explained
from mtbot.policy.ruleset import RuleSet
from mtbot.policy.sensitive import Places
from mtbot.tools.exec import BY_RULE, SPEC
from mtbot.tools.world import HostWorld


class Judge:
    """Decides as an attended chat would; without a configuration, by the built-in rules in mode approval.

    Nothing is started to find out whether this host can contain a command: where the answer depends on that, the
    reason says so. A context manager: it owns an event loop.
    """

    def __init__(self, loaded: Loaded | None) -> None:
        self._loaded = loaded
        home = home_of(loaded.settings) if loaded else str(home_directory())
        self._rules = RuleSet(places=Places(home=os.path.realpath(home)))
        self._cwd = os.path.realpath(os.getcwd())  # noqa: PTH109 - a text, as every path here
        path: tuple[str, ...] = DEFAULT_PATH
        if loaded is not None:
            profile = loaded.settings.base
            self._rules = compile_rules(profile, loaded.settings)
            self._cwd = str(profile.tools.exec.cwd)
            path = profile.tools.exec.path
        trouble = trouble_with(loaded.settings.base, guard_of(loaded)) if loaded is not None else ""
        self._around = Surroundings(home, (), containment_ready=not trouble)
        self._finder = FactFinder(HostWorld(home=home, path=path, places=self._rules.places))
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._runner.close()

    def decide(self, command: str) -> tuple[Prepared, Facts, Decision]:
        """Read, look, decide."""
        place = Address(SurfaceName.PRIVATE, BotName(""), ChatId(0))
        call = Call(
            CallId("check"), TurnId("check"), "exec", {"command": command}, self._cwd, place, SYSTEM, shell=BY_RULE
        )
        prepared = prepare(call, SPEC, self._rules)
        facts = self._runner.run(self._finder.gather(call, prepared, self._around, tainted=False))
        return prepared, facts, _with_both_hosts(prepared, facts)

    def verdict(self, command: str) -> Mapping[str, object]:
        """The decision as a JSON-ready mapping; ``runs`` is the exact text for the shell, if it would run."""
        _, _, decision = self.decide(command)
        return {
            "verdict": decision.verdict.value,
            "stage": decision.stage.value,
            "rule": decision.rule,
            "reason": decision.reason,
            "commands": [list(argv) for argv in decision.commands],
            "runs": decision.runs if decision.verdict is Verdict.RUN else None,
        }

    def explain(self, command: str) -> tuple[str, ...]:
        """The whole story, a line each; with the grants of the database, if there is one, that are for these words."""
        prepared, facts, decision = self.decide(command)
        once = grants.told(prepared, facts, decision)
        lines = [*explained(prepared, facts, decision), *([f"for a while: {once}"] if once else [])]
        if self._loaded is None or not once:
            return tuple(lines)
        return (
            *lines,
            *(
                _granted(self._loaded, one)
                for one in self._runner.run(_live(self._loaded))
                if grants.for_these_words(one, prepared)
            ),
        )


def _granted(loaded: Loaded, grant: Grant) -> str:
    until, who = loaded.clock.clock_text(grant.until_ms), loaded.people.name(grant.requester)
    return (
        f"grant #{grant.id}: runs without a question until {until} when {who} asks in {grant.address.session}, while its "
        "directory, program and files are what they were"
    )


async def _live(loaded: Loaded) -> tuple[Grant, ...]:
    """The grants that hold; none where there is no database that can be read."""
    try:
        office = await look(loaded)
    except MtclawError:
        return ()
    try:
        return await office.desk.grants.all()
    except StorageError:
        return ()
    finally:
        await office.close()


def _with_both_hosts(prepared: Prepared, facts: Facts) -> Decision:
    """The decision for a host that contains; its reason says what would differ on one that cannot."""
    decision = evaluate(prepared, facts)
    without = evaluate(prepared, replace(facts, containment_ready=False))
    if (without.verdict, without.profile) == (decision.verdict, decision.profile):
        return decision
    if without.verdict is not decision.verdict:
        other = f"{without.verdict.value}, because {without.reason}"
    else:
        other = "it runs NOT CONTAINED"
    reason = f"{decision.reason}, contained if this host can do that (mtclaw doctor tries it), and if not: {other}"
    return replace(decision, reason=reason)
