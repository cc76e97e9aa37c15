"""Build what a person needs to run one open question's call in their own terminal; starts no spawner and no gateway."""

import os
from dataclasses import dataclass

from mtbot.bootstrap.confinement import guard_of
from mtbot.bootstrap.offline import Loaded, Office
from mtbot.bootstrap.people import local_person
from mtbot.bootstrap.profiles import Kit, Profiles
from mtbot.config.settings import ModelRef
from mtbot.domain.call import Outcome
from mtbot.domain.errors import AlreadyDecided, ConfigError, ConsentError
from mtbot.domain.ids import ApprovalId, SafeText
from mtbot.domain.ports import Provider
from mtbot.domain.record import Approval, ApprovalState, Ruling, Via
from mtbot.domain.turn import Address, TurnState
from mtbot.gate.arguments import BadArguments, read_arguments
from mtbot.gate.consent import Consent, Judges
from mtbot.gate.facts import FactFinder
from mtbot.gate.gate import Gate, GateProfile
from mtbot.gate.host_run import HostDesk, HostRecord, HostRun
from mtbot.processes.own_terminal import TerminalChildren
from mtbot.redaction.display import display
from mtbot.tools.exec import SPEC, ExecSettings, ExecTool

_OF_THE_TERMINAL = ("TERM", "COLORTERM", "EDITOR", "VISUAL", "PAGER", "SSH_TTY", "DISPLAY", "WAYLAND_DISPLAY")
"""Variables of the person's terminal that their command gets in place of those that keep a model's commands quiet."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A question whose call can be run here: its row, its parked turn, and the command as it is shown."""

    approval: Approval
    state: TurnState
    shown: SafeText
    masked: int


class HostRunner:
    """Runs the call of a question at this host, for the person who sits at it."""

    def __init__(self, office: Office, screen: int) -> None:
        self._office = office
        self._children = TerminalChildren(screen)
        loaded = office.loaded
        self._profiles = Profiles(Kit(loaded, self._children, guard_of(loaded), _no_provider, office.stores.spending))
        self._record = HostRecord(office.stores.host_runs, office.desk.announcement)
        judges = Judges(HostDesk(office.desk, self._record), lambda: loaded.people)
        consent = Consent(judges, self._record, loaded.clock, loaded.redactor)
        finder = FactFinder(self._profiles.world())
        gate = Gate(self._profile, finder, consent, self._record, loaded.clock, loaded.redactor)
        self._run = HostRun(gate, self._record)

    async def ready(self, ident: ApprovalId) -> Ready:
        """Look at the question. ConsentError says why it is none that can be run here."""
        consents, now = self._office.stores.consents, self._office.loaded.clock.now_ms()
        row = await consents.get(ident)
        if row.state is not ApprovalState.PENDING:
            raise _decided(self._office.loaded, row)
        if now >= row.expires_ms:
            raise ConsentError(f"#{row.id} expired at {self._office.loaded.clock.clock_text(row.expires_ms)}")
        if not row.elevates:
            raise ConsentError(f"#{row.id} needs nobody's terminal", hint=f"mtclaw approvals approve {row.id}")
        state = await consents.parked(row.turn)
        if state is None or not state.open_calls:
            raise ConsentError(f"no turn waits for #{row.id} any more")
        stop = await self._run.standing(state, row, self._ruling())
        if stop:
            raise ConsentError(stop)
        command = _command(state)
        mask = self._office.loaded.redactor.mask
        return Ready(row, state, mask(display(str(mask(command)))), self._office.loaded.redactor.count(command))

    async def run(self, ready: Ready) -> Outcome:
        """Run it. ConsentError (AlreadyDecided among them) says why nothing ran."""
        try:
            return await self._run.run(ready.state, ready.approval, self._ruling())
        except AlreadyDecided as lost:
            raise _decided(self._office.loaded, await self._office.stores.consents.get(ready.approval.id)) from lost

    def _ruling(self) -> Ruling:
        now = self._office.loaded.clock.now_ms()
        return Ruling(ApprovalState.APPROVED, local_person(), Via.TERMINAL, now)

    def _profile(self, address: Address) -> GateProfile:
        """The profile of the question's place, with the one tool that is run here."""
        built, profile = self._profiles.of(address), self._profiles.gate(address)
        quiet = {**built.environment}
        for name in _OF_THE_TERMINAL:
            quiet.pop(name, None)
        own = {name: os.environ[name] for name in _OF_THE_TERMINAL if name in os.environ}
        settings = ExecSettings(
            str(built.settings.agent.workspace), {**quiet, **own}, built.settings.tools.exec.max_output_bytes
        )
        tool = ExecTool(self._children, settings, self._office.loaded.redactor)
        tools = {"exec": tool} if "exec" in profile.tools else {}
        return GateProfile(tools, profile.rules, profile.cwd, profile.shell, profile.timeout, profile.around)


def _no_provider(_models: tuple[ModelRef, ...]) -> Provider:
    raise ConfigError(("no model is asked here",))


def _command(state: TurnState) -> str:
    """The command of the call that waits; the gate has read it before."""
    arguments = read_arguments(state.open_calls[0].arguments, SPEC.schema)
    return "" if isinstance(arguments, BadArguments) else str(arguments["command"])


def _decided(loaded: Loaded, row: Approval) -> ConsentError:
    if row.ruling is None:
        return ConsentError(f"#{row.id} is not open any more; nothing ran")
    who, at = loaded.people.name(row.ruling.decider), loaded.clock.clock_text(row.ruling.at_ms)
    return ConsentError(f"#{row.id} was {row.state.value} by {who} {at} already; nothing ran")
