"""The gateway's side of one supervisor: its socket, what came over it, and the future of its command's end."""

import asyncio
import contextlib
import json
import os
import signal
import socket
from collections.abc import Callable, Sequence

from mtbot.processes.ending import EndStatus, ProcessEnd, Survivor, read_end
from mtbot.processes.output import Output
from mtbot.processes.request import SpawnRequest
from mtbot.processes.spawner.wire import BrokenFrame, FrameReader, Kind, frame, json_frame

_LIVE_KEPT = 64 * 1024
_READ_BYTES = 256 * 1024


class Command:
    """One supervisor and the command it is given. ``end`` is always resolved with a value, never with an exception."""

    def __init__(self, order: int, channel: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self.end: asyncio.Future[ProcessEnd] = self._loop.create_future()
        self.closed: asyncio.Future[None] = self._loop.create_future()
        self.order = order
        self._supervisor: int | None = None
        self.asked_to_stop = False
        self.can_go_on = False
        self.overdue_checks = 0
        self._began = self._loop.time()
        self._timeout: float | None = None
        self._channel = channel
        self._on_output: Callable[[bytes], None] | None = None
        self._frames = FrameReader()
        self._unsent = b""
        self._live = bytearray()
        self._unseen = 0
        self._head = b""
        self._tail = b""
        channel.settimeout(0)
        self._loop.add_reader(channel, self._receive)

    def begin(
        self, request: SpawnRequest, on_output: Callable[[bytes], None] | None, streams: Sequence[int] = ()
    ) -> None:
        """Send the supervisor what to execute, with the descriptors of its streams, if there are any."""
        self._began = self._loop.time()
        self._timeout = request.timeout_seconds
        self._on_output = on_output
        self._unsent = json_frame(Kind.REQUEST, request.facts())
        try:
            sent = socket.send_fds(self._channel, [self._unsent], streams)
        except OSError:
            self._unsent = b""  # the supervisor is gone, which the reader learns from the same socket
            return
        self._unsent = self._unsent[sent:]
        if self._unsent:
            self._loop.add_writer(self._channel, self._send_rest)

    def answers(self) -> bool:
        """Look whether the supervisor still holds its end, without waiting for the loop to notice that it does not."""
        if self.closed.done():
            return False
        try:
            return bool(self._channel.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return True
        except OSError:
            return False

    def ask_stop(self) -> None:
        """Have the supervisor end the command; before it has the whole request, nothing was started."""
        if self.asked_to_stop or self.closed.done():
            return
        self.asked_to_stop = True
        if self._unsent:
            self._resolve(ProcessEnd(EndStatus.STOPPED, message="stopped before it started"))
            self.close()
            return
        try:
            self._channel.send(frame(Kind.STOP))
        except BlockingIOError:
            self.close()  # its supervisor does not even read: the closed socket says the same
        except OSError:
            return

    def tail(self) -> str:
        """Return the end of what the command has written so far, as harmless text from the start of a line."""
        whole, end, _ = Output(tail=bytes(self._live), dropped=self._unseen).pieces()
        return whole or end

    def overdue(self, start_seconds: float, end_seconds: float) -> bool:
        """Tell whether the command should have started, or ended, longer ago than its supervisor could need."""
        passed = self._loop.time() - self._began
        if self._supervisor is None:
            return passed > start_seconds
        return self._timeout is not None and passed > self._timeout + end_seconds

    def signal_supervisor(self, number: signal.Signals) -> None:
        """Signal the supervisor, whose number is its own for as long as it holds its end of the socket."""
        if self._supervisor is not None and not self.closed.done():
            with contextlib.suppress(OSError):
                os.kill(self._supervisor, number)

    def lose(self, message: str, survivors: tuple[Survivor, ...] = ()) -> None:
        """Resolve the end of a command whose supervisor can no longer tell it."""
        if self.end.done():
            return
        shown = Output(head=b"", tail=bytes(self._live), dropped=self._unseen)
        lasted = self._loop.time() - self._began
        self._resolve(
            ProcessEnd(EndStatus.LOST, duration_seconds=lasted, output=shown, survivors=survivors, message=message)
        )

    def refuse(self, message: str) -> None:
        """Resolve the end of a command that no supervisor could be forked for."""
        self._resolve(ProcessEnd(EndStatus.FAILED_TO_START, message=message))

    def successor(self) -> "Command":
        """Return the same supervisor for another command; only if it ``can_go_on``."""
        self._let_go()
        return Command(self.order, self._channel)

    def close(self) -> None:
        """Let go of the socket; a supervisor that is still there takes this as the end of the gateway."""
        if not self.closed.done():
            self._let_go()
            self._channel.close()

    def _let_go(self) -> None:
        self._loop.remove_reader(self._channel)
        self._loop.remove_writer(self._channel)
        self.closed.set_result(None)

    def _send_rest(self) -> None:
        try:
            self._unsent = self._unsent[self._channel.send(self._unsent) :]
        except BlockingIOError:
            return
        except OSError:
            self._unsent = b""
        if not self._unsent:
            self._loop.remove_writer(self._channel)

    def _receive(self) -> None:
        while not self.closed.done():
            try:
                data = self._channel.recv(_READ_BYTES)
                if not data:
                    self.close()
                    return
                for kind, payload in self._frames.feed(data):
                    self._take(kind, payload)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                self.close()
            except (BrokenFrame, ValueError, TypeError) as wrong:
                self.lose(f"its supervisor sent nonsense: {wrong}")
                self.close()

    def _take(self, kind: Kind, payload: bytes) -> None:
        if kind is Kind.LIVE:
            self._take_live(int.from_bytes(payload[:8], "big"), payload[8:])
        elif kind is Kind.STARTED:
            self._supervisor = int(json.loads(payload)["supervisor"])
        elif kind is Kind.HEAD:
            self._head = payload
        elif kind is Kind.TAIL:
            self._tail = payload
        elif kind is Kind.END:
            self.can_go_on = bool(json.loads(payload).get("again")) and not self.asked_to_stop
            self._resolve(read_end(payload, self._head, self._tail))

    def _take_live(self, skipped: int, data: bytes) -> None:
        if skipped:
            self._unseen += skipped + len(self._live)
            self._live.clear()
        self._live += data
        if (excess := len(self._live) - _LIVE_KEPT) > 0:
            del self._live[:excess]
            self._unseen += excess
        if self._on_output is not None:
            # Not called here: what it raises must not tear the frames behind this one.
            self._loop.call_soon(self._on_output, data)

    def _resolve(self, end: ProcessEnd) -> None:
        if not self.end.done():
            self.end.set_result(end)
