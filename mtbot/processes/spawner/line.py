"""A supervisor's ears and mouth: the command's socket to the gateway, and the signals that tell of a death.

Nothing here may wait for the gateway while a command is alive: what cannot be sent at once is kept for later, and running
output is only offered while nothing else waits.
"""

import os
import select
import signal
import socket

from .wire import BrokenFrame, EndWord, FrameReader, Kind, frame


class Line:
    """The socket of one command, read and written without ever blocking, and the reasons to end that come over it."""

    def __init__(self, channel: socket.socket, spawner: int) -> None:
        self.cause: str | None = None
        self.message = ""
        self.request: bytes | None = None
        self._channel = channel
        self._spawner = spawner
        self._frames = FrameReader()
        self._unsent = bytearray()
        self._open = True
        self._alarm, self._alarm_in = socket.socketpair()
        self._alarm.settimeout(0)
        self._alarm_in.settimeout(0)
        signal.set_wakeup_fd(self._alarm_in.fileno(), warn_on_full_buffer=False)
        channel.settimeout(0)
        self._poller = select.poll()
        self._poller.register(channel, select.POLLIN)
        self._poller.register(self._alarm, select.POLLIN)

    @property
    def unsent(self) -> bool:
        """Whether something waits to be sent to a gateway that may still take it."""
        return self._open and bool(self._unsent)

    @property
    def open(self) -> bool:
        """Whether the gateway still holds its end."""
        return self._open

    def watch(self, fd: int) -> None:
        """Let ``wait`` return when ``fd`` can be read."""
        self._poller.register(fd, select.POLLIN)

    def unwatch(self, fd: int) -> None:
        """Undo ``watch``."""
        self._poller.unregister(fd)

    def wait(self, seconds: float) -> set[int]:
        """Wait for anything to happen, take in what concerns the line, and return the descriptors that can be read."""
        ready = {fd for fd, _ in self._poller.poll(max(0, int(seconds * 1000 + 0.999)))}
        if self._alarm.fileno() in ready:
            self._hear_alarm()
        if self._channel.fileno() in ready:
            self.listen()
            self._send_some()
        return ready

    def listen(self) -> None:
        """Take in what the gateway sent. Its closing, or nonsense from it, is a reason to end."""
        while self._open:
            try:
                data = self._channel.recv(262144)
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
        """Send a frame that must arrive; it is kept until the gateway takes it."""
        if self._open:
            self._unsent += data
            self._send_some()

    def say_live(self, skipped: int, data: bytes) -> None:
        """Offer running output; a gateway that does not keep up misses it here and has it at the end."""
        if self._open and not self._unsent:
            self.say(frame(Kind.LIVE, skipped.to_bytes(8, "big") + data))

    def end(self, cause: str, message: str = "") -> None:
        """Note why the command has to end; the first reason stands."""
        if self.cause is None:
            self.cause = cause
            self.message = message

    def _obey(self, kind: Kind, payload: bytes) -> None:
        if kind is Kind.STOP:
            self.end(EndWord.STOPPED)
        elif kind is Kind.REQUEST and self.request is None:
            self.request = payload

    def _gateway_gone(self) -> None:
        self._open = False
        self._unsent.clear()
        self._poller.unregister(self._channel)
        self.end(EndWord.LOST, "the gateway is gone")

    def _hear_alarm(self) -> None:
        try:
            numbers = self._alarm.recv(4096)
        except BlockingIOError:
            return
        if signal.SIGTERM in numbers:
            self.look_for_spawner()

    def look_for_spawner(self) -> None:
        """A new parent means that the spawner died, and with it the guard of what a dead supervisor leaves."""
        if os.getppid() != self._spawner:
            self.end(EndWord.LOST, "the process spawner died")

    def _send_some(self) -> None:
        while self._unsent and self._open:
            try:
                sent = self._channel.send(self._unsent)
            except BlockingIOError:
                self._poller.modify(self._channel, select.POLLIN | select.POLLOUT)
                return
            except OSError:
                self._gateway_gone()
                return
            del self._unsent[:sent]
        if self._open:
            self._poller.modify(self._channel, select.POLLIN)
