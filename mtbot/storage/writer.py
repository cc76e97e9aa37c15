"""One thread that does all work on a database, in order, while the event loop goes on.

SQLite has one writer anyway; giving both connections to one thread means that no lock is ever waited for inside this
process, and that a slow disk delays the record and never the loop.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TypeVar

from mtbot.domain.errors import StorageError

T = TypeVar("T")


class Writer:
    """The thread and its queue."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._closed = False
        # a daemon, so that a disk that never answers cannot keep a finished process alive
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    @property
    def closed(self) -> bool:
        """Whether it takes nothing more."""
        return self._closed

    async def run(self, work: Callable[[], T], deadline_s: float | None = None) -> T:
        """The result (or the exception) of ``work``, done in the thread after everything queued before it.

        StorageError after ``deadline_s`` seconds; work that has begun by then, or when the caller is cancelled, is
        still finished, because half a transaction is worse than an unread answer.
        """
        if self._closed:
            raise StorageError("the database is closed")
        done: Future[T] = Future()
        self._jobs.put(lambda: _perform(work, done))
        try:
            async with asyncio.timeout(deadline_s):
                return await asyncio.wrap_future(done)
        except TimeoutError as fault:
            raise StorageError(f"the database gave no answer within {deadline_s:g} s") from fault

    def close(self) -> None:
        """Finish what is queued and end the thread."""
        self._closed = True
        self._jobs.put(None)
        self._thread.join(timeout=5)

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            # or the last result would be kept for as long as nothing else is to be done
            del job


def _perform(work: Callable[[], T], done: "Future[T]") -> None:
    if not done.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as fault:  # noqa: BLE001  whatever happened belongs to the waiter; the thread must live on
        done.set_exception(fault)
    else:
        done.set_result(result)
