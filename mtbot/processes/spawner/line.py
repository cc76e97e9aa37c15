"""A supervisor's ears and mouth: the command's socket to the gateway, and the signals that tell of a death.

Nothing here may wait for the gateway while a command is alive: what cannot be sent at once is kept for later, and running
output is only offered while nothing else waits.
"""

import os
import select
import signal
import socket

from .wire import BrokenFrame, EndWord, FrameReader, Kind

_READ_BYTES = 256 * 1024


class Line:
    """The socket of one command, read and written without ever blocking, and the reasons to end that come over it."""

    def __init__(self, channel: socket.socket, spawner: int) -> None:
        self.cause: str | None = None
        self.message = ""
        self.request: bytes | None = None
        self.fds: list[int] = []
        """Descriptors that came with the request: standard input, standard output, and the spool of its output."""
        self._spawner = spawner
        self._channel: socket.socket | None = channel  # None after the gateway is gone
        self._frames = FrameReader()
        self._unsent = bytearray()
        self._asks_for_room = False
        self._alarm, alarm_in = os.pipe()
        os.set_blocking(alarm_in, False)
        signal.set_wakeup_fd(alarm_in, warn_on_full_buffer=False)
        self._poller = select.poll()
        self._poller.register(self._alarm, select.POLLIN)
        channel.settimeout(0)
        self._poller.register(channel, select.POLLIN)

    def renew(self) -> None:
        """Forget the last command and be ready for another."""
        self.request = None
        self.fds = []

    @property
    def unsent(self) -> bool:
        """Whether something waits to be sent to a gateway that may still take it."""
        return self._channel is not None and bool(self._unsent)

    def watch(self, fd: int) -> None:
        """Let ``wait`` return when ``fd`` can be read."""
        self._poller.register(fd, select.POLLIN)

    def unwatch(self, fd: int) -> None:
        """Undo ``watch``, if that was not done yet. Has to come before ``fd`` is closed, or ``wait`` would never wait again."""
        try:
            self._poller.unregister(fd)
        except KeyError:
            return

    def wait(self, seconds: float) -> set[int]:
        """Wait for anything to happen, take in what concerns the line, and return the descriptors that can be read."""
        ready = {fd for fd, _ in self._poller.poll(max(0, int(seconds * 1000 + 0.999)))}
        if self._alarm in ready:
            self._hear_alarm()
        if self._channel is not None and self._channel.fileno() in ready:
            self.listen()
            self._send_some()
        return ready

    def listen(self) -> None:
        """Take in what the gateway sent. Its closing, or nonsense from it, is a reason to end."""
        while self._channel is not None:
            try:
                data, fds, _, _ = socket.recv_fds(self._channel, _READ_BYTES, 2)
                for fd in fds:
                    os.set_inheritable(fd, False)  # noqa: FBT003 - positional only; a received descriptor survives exec
                self.fds += fds
                if not data:
                    self._gateway_gone()
                    return
                for kind, payload in self._frames.feed(data):
                    self._obey(kind, payload)
            except BlockingIOError:
                return
            except OSError:
                self._gateway_gone()
            except BrokenFrame as broken:
                self.end(EndWord.LOST, str(broken))
                return

    def say(self, data: bytes) -> None:
        """Send frames that must arrive; they are kept until the gateway takes them."""
        if self._channel is not None:
            self._unsent += data
            self._send_some()

    def end(self, cause: str, message: str = "") -> None:
        """Note why the command has to end; the first reason stands."""
        if self.cause is None:
            self.cause = cause
            self.message = message

    def look_for_spawner(self) -> None:
        """A new parent means that the spawner died, and with it the guard of what a dead supervisor leaves."""
        if os.getppid() != self._spawner:
            self.end(EndWord.LOST, "the process spawner died")

    def _obey(self, kind: Kind, payload: bytes) -> None:
        if kind is Kind.STOP:
            self.end(EndWord.STOPPED)
        elif kind is Kind.REQUEST and self.request is None:
            self.request = payload

    def _gateway_gone(self) -> None:
        if self._channel is not None:
            self._poller.unregister(self._channel)
            self._channel.close()
            self._channel = None
        self._unsent.clear()
        self.end(EndWord.LOST, "the gateway is gone")

    def _hear_alarm(self) -> None:
        if signal.SIGTERM in os.read(self._alarm, 4096):
            self.look_for_spawner()

    def _send_some(self) -> None:
        while self._unsent and self._channel is not None:
            try:
                sent = self._channel.send(self._unsent)
            except BlockingIOError:
                self._ask_for_room(wanted=True)
                return
            except OSError:
                self._gateway_gone()
                return
            del self._unsent[:sent]
        self._ask_for_room(wanted=False)

    def _ask_for_room(self, *, wanted: bool) -> None:
        if self._channel is not None and wanted != self._asks_for_room:
            self._asks_for_room = wanted
            self._poller.modify(self._channel, select.POLLIN | select.POLLOUT if wanted else select.POLLIN)
