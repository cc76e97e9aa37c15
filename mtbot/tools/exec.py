"""The exec tool: give the shell exactly what the permit says, and put into words how it ended.

A non-zero exit is a result like any other. What the model reads always states the exit, so that an empty output is not
taken for a failure and tried again.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mtbot.domain.call import Call, Outcome, Permit, Risk, Status, ToolDefault, ToolSpec
from mtbot.domain.ids import SafeText
from mtbot.domain.ports import Masker
from mtbot.domain.process import ChildEnd, Children, ChildRequest, ChildStatus

SPEC = ToolSpec(
    name="exec",
    description=(
        "Run a shell command on the host (bash, not interactive, no terminal, standard input empty). Returns its exit "
        "code and output. Plain single commands are the most likely to be allowed."
    ),
    schema={
        "type": "object",
        "properties": {"command": {"type": "string", "description": "The command text."}},
        "required": ["command"],
        "additionalProperties": False,
    },
    risk=Risk.EXEC,
    default=ToolDefault.ASK,
)

BY_RULE = ("/bin/bash", "--noprofile", "--norc", "-c")
"""The shell that runs what a rule allowed: no start-up file can change what the canonical text means."""

_WORDS = {
    ChildStatus.TIMED_OUT: "timed out",
    ChildStatus.STOPPED: "stopped by the person",
    ChildStatus.NOT_STARTED: "could not be started",
    ChildStatus.LOST: "lost: its end is unknown",
    ChildStatus.SIGNALED: "ended by a signal",
}
_OUTCOMES = {
    ChildStatus.EXITED: Status.OK,
    ChildStatus.SIGNALED: Status.FAILED,
    ChildStatus.TIMED_OUT: Status.TIMED_OUT,
    ChildStatus.STOPPED: Status.STOPPED,
    ChildStatus.NOT_STARTED: Status.FAILED,
    ChildStatus.LOST: Status.FAILED,
}
_WANTS_PASSWORD = ("sudo: a password is required", "sudo: a terminal is required", "no password was provided")


@dataclass(frozen=True, slots=True)
class ExecSettings:
    """What a profile fixes for its commands: the child's whole environment, and how much output is kept (bytes)."""

    environment: Mapping[str, str] = field(default_factory=dict)
    max_output: int = 65_536


class ExecTool:
    """Runs permitted commands."""

    def __init__(self, children: Children, settings: ExecSettings, masker: Masker) -> None:
        self._children = children
        self._settings = settings
        self._masker = masker

    @property
    def spec(self) -> ToolSpec:
        """The exec tool's spec."""
        return SPEC

    async def perform(self, call: Call, permit: Permit, progress: Callable[[SafeText], None]) -> Outcome:
        """Run ``permit.runs``. If the turn is cancelled the command is stopped first, and its end is still reported."""
        shell = call.shell if permit.basis.value == "ruling" else BY_RULE
        request = ChildRequest(
            id=str(call.id),
            argv=(*shell, permit.runs),
            cwd=call.cwd,
            environment=self._environment(permit.environment),
            timeout=call.timeout,
            max_output=self._settings.max_output,
            profile=permit.profile,
        )
        running = asyncio.ensure_future(self._children.run(request))
        try:
            end = await asyncio.shield(running)
        except asyncio.CancelledError:
            await self._children.stop(request.id)
            end = await running
        del progress
        return self.outcome(end)

    def _environment(self, forced: Mapping[str, str]) -> dict[str, str]:
        """The child's environment; a rule forces variables, and an empty value takes one away."""
        merged = {**self._settings.environment, **forced}
        return {name: value for name, value in merged.items() if value or name not in forced}

    def outcome(self, end: ChildEnd) -> Outcome:
        """How a command's end is told to the model and kept in the record."""
        lines = [f"exit_code: {end.exit_code}" if end.exit_code is not None else f"status: {_WORDS[end.status]}"]
        lines.append(f"duration_ms: {end.duration_ms}")
        if end.message:
            lines.append(f"note: {end.message}")
        if end.exit_code not in (None, 0) and any(mark in end.output for mark in _WANTS_PASSWORD):
            lines.append("note: no password can be given here; do not try another way")
        if end.background_left:
            lines.append("note: it left background processes, which were ended; nothing outlives a call")
        if end.dropped:
            lines.append(f"note: {end.dropped} bytes in the middle of the output were left out")
        if end.survivors:
            lines.append(f"note: {len(end.survivors)} of its processes could not be ended")
        lines.append(f"output:\n{end.output}" if end.output else "output: (no output)")
        return Outcome(
            status=_OUTCOMES[end.status],
            text=self._masker.mask("\n".join(lines)),
            exit_code=end.exit_code,
            duration_ms=end.duration_ms,
            dropped=end.dropped,
            lines=len(end.output.splitlines()),
            survivors=end.survivors,
        )
