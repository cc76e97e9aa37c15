"""The real command, whose clock rings for every job at once: run as a program by tests that cannot wait for a night.

python -m tests.contract.night --config FILE gateway
"""

import asyncio
import sys

from mtbot.cli.main import run
from mtbot.cron.scheduler import Scheduler


async def _ring(self: Scheduler) -> None:
    for job in self._jobs.values():
        await self.run_now(job, self._clock.now_ms(), deliver=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    Scheduler.run = _ring  # type: ignore[method-assign] # only the timer is played
    sys.exit(run(sys.argv[1:]))
