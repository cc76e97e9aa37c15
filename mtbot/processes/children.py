"""The Children port over the runner: domain values in, domain values out."""

from collections.abc import Callable
from dataclasses import replace

from mtbot.domain.process import CONTAINED, HOST, ChildEnd, ChildRequest, ChildStatus
from mtbot.processes.bubblewrap import TooMuch
from mtbot.processes.confiner import Confiner
from mtbot.processes.ending import EndStatus, ProcessEnd, Survivor
from mtbot.processes.request import CALL_MARK, BadRequest, SpawnRequest
from mtbot.processes.runner import Runner

_STATUS = {
    EndStatus.EXITED: ChildStatus.EXITED,
    EndStatus.SIGNALED: ChildStatus.SIGNALED,
    EndStatus.TIMED_OUT: ChildStatus.TIMED_OUT,
    EndStatus.STOPPED: ChildStatus.STOPPED,
    EndStatus.FAILED_TO_START: ChildStatus.NOT_STARTED,
    EndStatus.LOST: ChildStatus.LOST,
}

_TOO_MUCH = "the workspace holds {}, so what is secret there cannot be closed to a contained command"
_INSTEAD = "move some of it out, or have the rule say containment: host"


class RunnerChildren:
    """Runs children on the host or contained; a profile that cannot be had here is refused, never weakened."""

    def __init__(self, runner: Runner, confiner: Confiner | None = None) -> None:
        """Without ``confiner`` there is only the profile host."""
        self._runner = runner
        self._confiner = confiner

    async def run(self, request: ChildRequest, on_output: Callable[[bytes], None] | None = None) -> ChildEnd:
        """Run to the end; every failure is a ChildEnd."""
        confiner = self._confiner if request.profile == CONTAINED else None
        if request.profile != HOST and confiner is None:
            return _not_started(f"this host has no containment profile {request.profile}")
        try:
            wanted = SpawnRequest(
                id=request.id,
                argv=request.argv,
                env={**request.environment, CALL_MARK: request.id},
                cwd=request.cwd,
                timeout_seconds=request.timeout,
                max_output_bytes=request.max_output,
                stdin=request.stdin,
                spool=request.spool,
                account=request.account,
            )
        except BadRequest as error:
            return _not_started(str(error))
        if confiner is None:
            return _end(await self._runner.run(wanted, on_output))
        try:
            async with confiner.around(wanted, request.grants) as confined:
                held = confiner.held(confined)
                return replace(_end(await self._runner.run(confined, on_output)), held=held)
        except TooMuch as much:
            return _not_started(f"{_TOO_MUCH.format(much)}; {_INSTEAD}")
        except OSError as error:
            return _not_started(f"it could not be given a directory of its own: {error}")

    async def stop(self, child: str) -> bool:
        """End a child, or the one that is about to start under that id."""
        return await self._runner.stop(child)


def _not_started(message: str) -> ChildEnd:
    return ChildEnd(ChildStatus.NOT_STARTED, None, 0, "", message=message)


def _end(end: ProcessEnd) -> ChildEnd:
    return ChildEnd(
        status=_STATUS[end.status],
        exit_code=end.exit_code,
        duration_ms=round(end.duration_seconds * 1000),
        output="" if end.output.empty else end.output.text(),
        raw=end.output.head + end.output.tail,
        dropped=end.dropped,
        background_left=end.background_left,
        survivors=tuple(map(_survivor, end.survivors)),
        message=end.message,
    )


def _survivor(left: Survivor) -> str:
    return f"pid {left.pid} (uid {left.uid}, started at tick {left.start_time}): {' '.join(left.argv)}"
