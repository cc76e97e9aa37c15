"""The exec tool: give the shell exactly what the permit says, and put into words how it ended.

A non-zero exit is a result like any other. What the model reads always states the exit, so that an empty output is not
taken for a failure and tried again.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mtbot.domain.call import UNCONTAINED, Basis, Call, Outcome, Permit, Risk, Status, ToolDefault, ToolSpec
from mtbot.domain.ids import SafeText
from mtbot.domain.outputs import WholeOutputs
from mtbot.domain.ports import Masker
from mtbot.domain.process import HOST, Account, ChildEnd, Children, ChildRequest, ChildStatus, Grants, Spool
from mtbot.policy import readings
from mtbot.policy.git_alone import only_git
from mtbot.policy.outside import brings_text
from mtbot.tools.blocking import off_loop
from mtbot.tools.exec_words import kept, told

SPEC = ToolSpec(
    name="exec",
    description=(
        "Run a shell command on the host (bash, not interactive, no terminal, standard input empty). Returns its exit "
        "code and output. Plain single commands are the most likely to be allowed."
    ),
    schema={
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "The command text."},
            "background": {
                "type": "boolean",
                "description": (
                    "Run it as a job behind this conversation: for servers, watchers and long work. You get the name of "
                    "the job at once; the person can watch and end it, and you read its result when it has ended."
                ),
            },
        },
        "required": ["command"],
        "additionalProperties": False,
    },
    risk=Risk.EXEC,
    default=ToolDefault.ASK,
)

BY_RULE = ("/bin/bash", "--noprofile", "--norc", "-c")
"""The shell that runs what a rule allowed: no start-up file can change what the canonical text means."""

KEEP_SECONDS = 60.0
"""How long a disk may take to keep an output."""

_OUTCOMES = {
    ChildStatus.EXITED: Status.OK,
    ChildStatus.SIGNALED: Status.FAILED,
    ChildStatus.TIMED_OUT: Status.TIMED_OUT,
    ChildStatus.STOPPED: Status.STOPPED,
    ChildStatus.NOT_STARTED: Status.FAILED,
    ChildStatus.LOST: Status.FAILED,
}


@dataclass(frozen=True, slots=True)
class ExecSettings:
    """What a profile fixes for its commands: the child's whole environment, and how much output is kept (bytes).

    A contained one may work in ``workspace``, read what is ``readable``, and start what is in ``programs``. ``account`` is
    who they run as, None the gateway's own user.
    """

    workspace: str
    environment: Mapping[str, str] = field(default_factory=dict)
    max_output: int = 65_536
    readable: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    account: Account | None = None


class ExecTool:
    """Runs permitted commands."""

    def __init__(
        self, children: Children, settings: ExecSettings, masker: Masker, outputs: WholeOutputs | None = None
    ) -> None:
        self._outputs = outputs
        self._children = children
        self._settings = settings
        self._masker = masker

    @property
    def spec(self) -> ToolSpec:
        """The exec tool's spec."""
        return SPEC

    async def perform(self, call: Call, permit: Permit, progress: Callable[[SafeText], None]) -> Outcome:
        """Run ``permit.runs``. If the turn is cancelled the command is stopped first, and its end is still reported."""
        shell = call.shell if permit.basis in (Basis.RULING, Basis.GRANT) else BY_RULE
        spool = self._outputs.spool() if self._outputs is not None else None
        request = ChildRequest(
            id=str(call.id),
            argv=(*shell, permit.runs),
            cwd=call.cwd,
            environment=self._environment(permit.environment),
            timeout=call.timeout,
            max_output=self._settings.max_output,
            profile=HOST if permit.profile == UNCONTAINED else permit.profile,
            grants=self._grants(permit),
            spool=spool,
            account=self._settings.account,
        )
        running = asyncio.ensure_future(self._children.run(request))
        try:
            end = await asyncio.shield(running)
        except asyncio.CancelledError:
            await self._children.stop(request.id)
            end = await running
        del progress
        whole, why_not = await self._keep_whole(spool, end, call)
        return self._outcome(end, permit, whole, why_not)

    async def _keep_whole(self, spool: Spool | None, end: ChildEnd, call: Call) -> tuple[str, str]:
        """The name under which a cut output is kept, or why it is not."""
        outputs = self._outputs
        if spool is None or outputs is None:
            return "", ""
        try:
            return await off_loop(lambda: outputs.keep(spool, call.id, wanted=end.dropped > 0), KEEP_SECONDS)
        except TimeoutError:
            return "", "the file system does not answer"

    def _environment(self, forced: Mapping[str, str]) -> dict[str, str]:
        """The child's environment; a rule forces variables, and an empty value takes one away."""
        merged = {**self._settings.environment, **forced}
        return {name: value for name, value in merged.items() if value or name not in forced}

    def _outcome(self, end: ChildEnd, permit: Permit, whole: str, why_not: str) -> Outcome:
        """How a command's end is told to the model and kept in the record."""
        outside = brings_text(readings.read(permit.runs).commands)
        return Outcome(
            status=_OUTCOMES[end.status],
            text=self._masker.mask(told(end, permit.profile, permit.needs, kept(whole, why_not), outside=outside)),
            exit_code=end.exit_code,
            duration_ms=end.duration_ms,
            dropped=end.dropped,
            lines=len(end.output.splitlines()),
            survivors=end.survivors,
            tainted=outside,
            whole=whole,
            held=end.held,
        )

    def _grants(self, permit: Permit) -> Grants:
        """What the run is granted if it is contained: what its permit says, and the workspace as far as it needs it."""
        needs, settings = permit.needs, self._settings
        return Grants(
            network=needs.network,
            attributes=not needs.looks and permit.basis is not Basis.CLASSIFIER,
            write=needs.write if needs.looks else (settings.workspace, *needs.write),
            read=(settings.workspace, *settings.readable, *needs.read),
            look=needs.look,
            programs=settings.programs,
            repository=needs.repository,
            guarded="" if needs.looks else settings.workspace,
            git=only_git(readings.read(permit.runs).commands),
        )
