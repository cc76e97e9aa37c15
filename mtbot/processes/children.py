"""The Children port over the runner: domain values in, domain values out."""

from collections.abc import Callable, Mapping

from mtbot.domain.process import ChildEnd, ChildRequest, ChildStatus
from mtbot.processes.ending import EndStatus, ProcessEnd, Survivor
from mtbot.processes.request import HOST, BadRequest, Profile, SpawnRequest
from mtbot.processes.runner import Runner

_STATUS = {
    EndStatus.EXITED: ChildStatus.EXITED,
    EndStatus.SIGNALED: ChildStatus.SIGNALED,
    EndStatus.TIMED_OUT: ChildStatus.TIMED_OUT,
    EndStatus.STOPPED: ChildStatus.STOPPED,
    EndStatus.FAILED_TO_START: ChildStatus.NOT_STARTED,
    EndStatus.LOST: ChildStatus.LOST,
}


class RunnerChildren:
    """Runs children under named containment profiles; a profile that is not known here is refused, never weakened."""

    def __init__(self, runner: Runner, profiles: Mapping[str, Profile] | None = None) -> None:
        self._runner = runner
        self._profiles = {"host": HOST, **(profiles or {})}

    async def run(self, request: ChildRequest, on_output: Callable[[bytes], None] | None = None) -> ChildEnd:
        """Run to the end; every failure is a ChildEnd."""
        profile = self._profiles.get(request.profile)
        if profile is None:
            return _not_started(f"this host has no containment profile {request.profile}")
        try:
            wanted = SpawnRequest(
                id=request.id,
                argv=request.argv,
                env=request.environment,
                cwd=request.cwd,
                timeout_seconds=request.timeout,
                max_output_bytes=request.max_output,
                profile=profile,
                stdin=request.stdin,
            )
        except BadRequest as error:
            return _not_started(str(error))
        return _end(await self._runner.run(wanted, on_output))

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
