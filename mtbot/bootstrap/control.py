"""The control socket, built over a running gateway."""

import os
import time
from collections.abc import Mapping
from importlib import metadata

from mtbot.bootstrap.offline import place_of
from mtbot.bootstrap.online import Running
from mtbot.bootstrap.system import short_host, user_name
from mtbot.control.peer import Watch
from mtbot.control.server import ControlServer
from mtbot.control.verbs import Doings, Verbs, job_facts
from mtbot.domain.record import Approval
from mtbot.processes.request import CALL_MARK
from mtbot.redaction.display import display

MOST_TOLD = 50
"""Questions that a status names; an answer has to fit into one frame."""

LINE = 200


def build_control(running: Running) -> ControlServer:
    """The server for ``running``; it listens while it is run."""
    engine = running.engine
    status, reloader = Status(running), running.reloader

    def resume(row: Approval) -> bool:
        if not engine.recovery.serves(row.address):
            return False
        engine.lanes.resume(row.address.session, row.id)
        return True

    doings = Doings(status.tell, reloader.reload, engine.recovery.look, resume)
    verbs = Verbs(engine.desk, doings, engine.loaded.clock, engine.jobs)
    # every command of the bot descends from this process, also one whose own parents are gone: it adopts orphans
    watch = Watch(frozenset({os.getpid()}), CALL_MARK)
    return ControlServer(place_of(engine.loaded).control, watch, verbs.handle, engine.loaded.redactor)


class Status:
    """How a gateway stands, for its owner."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._began = time.monotonic()

    async def tell(self) -> Mapping[str, object]:
        """All of it, ready for JSON; spans in seconds, moments in Unix milliseconds."""
        engine = self._running.engine
        people = engine.loaded.people
        pending = await engine.office.stores.consents.pending()
        bots = engine.loaded.settings.channels.telegram.bots
        return {
            "host": short_host(),
            "user": user_name(),
            "pid": os.getpid(),
            "version": metadata.version("mtclaw"),
            "uptime_s": round(time.monotonic() - self._began),
            "mode": engine.loaded.settings.base.tools.exec.mode.value,
            "containment": self._running.containment(),
            "bots": [{"name": name, **self._running.poll_state(name)} for name in bots],
            "running": [{"session": str(session), "doing": doing} for session, doing in engine.turns.at_work()],
            "jobs": [job_facts(job) for job in engine.jobs.all() if job.outcome is None],
            "questions": len(pending),
            "pending": [
                {
                    "id": str(row.id),
                    "until_ms": row.expires_ms,
                    "asked_by": people.name(row.requester),
                    "command": display(" ".join(row.command.split()))[:LINE],
                }
                for row in pending[:MOST_TOLD]
            ],
        }
