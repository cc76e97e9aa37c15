"""The spawner itself: fork a supervisor for every order, and kill every child that is not a live supervisor.

It knows nothing of commands, keeps no output and reads no request: an order is eight bytes and a socket, which it hands to
a fork of itself. So there is nothing to break it with, and forking it copies next to nothing. It is the subreaper above
all supervisors, so what a killed supervisor leaves becomes its child, and no child of its own is ever anything else.
"""

import gc
import os
import resource
import select
import signal
import socket
import time

from . import kernel, tree
from .launch import dispositions_to_reset
from .supervisor import supervise
from .wire import ORDER_BYTES, Kind, json_frame

_SWEEP_SECONDS = 0.003
_SWEEP_MAX_SECONDS = 0.5
_NAME_AFTER_SECONDS = 5.0
_CLOSING_SECONDS = 6.0
_LAST_SWEEP_SECONDS = 2.0
_MAX_STOPS = 3
_CRASHED = 70


class Service:
    """The spawner's loop over one main socket."""

    def __init__(self, main: socket.socket) -> None:
        self._main = main
        self._supervisors: dict[int, int] = {}  # pid -> order number
        self._stops: dict[int, int] = {}
        self._lost: dict[int, tuple[float, str]] = {}  # order number -> when, how
        self._sweep_after: float | None = None
        self._closing_until: float | None = None
        self._to_reset: list[signal.Signals] = []
        self._unsent = bytearray()
        self._alarm, self._alarm_in = socket.socketpair()
        self._poller = select.poll()

    def run(self) -> None:
        """Serve until the gateway's end of the main socket closes and everything below is dead."""
        self._prepare()
        while not self._finished():
            ready = {fd for fd, _ in self._poller.poll(self._patience())}
            if self._alarm.fileno() in ready:
                self._drain_alarm()
                self._collect()
            if self._main.fileno() in ready and self._closing_until is None:
                self._take_order()
                self._send_some()
            if self._sweep_after is not None:
                self._sweep()

    def _prepare(self) -> None:
        kernel.hide_memory()
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        kernel.adopt_orphans()
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM):
            signal.signal(number, signal.SIG_IGN)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, _wake)
        self._to_reset = dispositions_to_reset()
        self._main.settimeout(0)
        self._alarm.settimeout(0)
        self._alarm_in.settimeout(0)
        signal.set_wakeup_fd(self._alarm_in.fileno(), warn_on_full_buffer=False)
        self._poller.register(self._main, select.POLLIN)
        self._poller.register(self._alarm, select.POLLIN)
        gc.disable()
        gc.freeze()
        self._say(Kind.READY, {"pid": os.getpid(), "hidden": kernel.memory_is_hidden()})

    def _patience(self) -> int | None:
        """Return for how many milliseconds nothing is due; None for ever."""
        if self._sweep_after is not None:
            return int(self._sweep_after * 1000) + 1
        return 100 if self._closing_until is not None else None

    def _finished(self) -> bool:
        if self._closing_until is None:
            return False
        if not self._supervisors:
            self._closing_until = min(self._closing_until, time.monotonic() + _LAST_SWEEP_SECONDS)
        if time.monotonic() >= self._closing_until:
            for pid in self._supervisors:
                os.kill(pid, signal.SIGKILL)
            tree.signal_tree(signal.SIGKILL)
            return True
        return not self._supervisors and self._sweep_after is None

    # orders

    def _take_order(self) -> None:
        try:
            data, fds, _flags, _ = socket.recv_fds(self._main, ORDER_BYTES, 1)
        except BlockingIOError:
            return
        except OSError:
            data, fds = b"", []
        if len(data) != ORDER_BYTES or not fds:
            self._close()
            return
        number = int.from_bytes(data, "big")
        parent = os.getpid()
        with socket.socket(fileno=fds[0]) as channel:
            os.set_inheritable(fds[0], False)  # noqa: FBT003 - positional only; a received descriptor survives exec
            try:
                pid = os.fork()
            except OSError as refused:
                self._say(Kind.REFUSED, {"order": number, "how": f"cannot fork: {refused.strerror}"})
                return
            if pid == 0:
                self._become_supervisor(channel, parent)
        self._supervisors[pid] = number

    def _become_supervisor(self, channel: socket.socket, parent: int) -> None:
        """Never returns."""
        status = _CRASHED
        try:
            self._main.close()
            self._alarm.close()
            self._alarm_in.close()
            status = supervise(channel, parent, self._to_reset)
        except BaseException:  # noqa: BLE001 - a forked copy must never return into the spawner's loop
            status = _CRASHED
        finally:
            os._exit(status)

    def _close(self) -> None:
        """The gateway is gone. Supervisors see it on their own sockets; what they do not end in time is killed here."""
        self._closing_until = time.monotonic() + _CLOSING_SECONDS
        self._poller.unregister(self._main)
        self._sweep_after = _SWEEP_SECONDS

    # children

    def _drain_alarm(self) -> None:
        try:
            self._alarm.recv(4096)
        except BlockingIOError:
            return

    def _collect(self) -> None:
        """Reap every dead child, and wake every supervisor that something has stopped."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if os.WIFSTOPPED(status):
                self._wake_stopped(pid)
            elif pid in self._supervisors:
                self._supervisor_ended(pid, status)

    def _wake_stopped(self, pid: int) -> None:
        """A stopped supervisor watches nothing: it goes on, unless this happens again and again."""
        self._stops[pid] = self._stops.get(pid, 0) + 1
        os.kill(pid, signal.SIGCONT if self._stops[pid] <= _MAX_STOPS and pid in self._supervisors else signal.SIGKILL)

    def _supervisor_ended(self, pid: int, status: int) -> None:
        number = self._supervisors.pop(pid)
        self._stops.pop(pid, None)
        if status == 0:
            return
        if os.WIFSIGNALED(status):
            self._lost[number] = (time.monotonic(), f"its supervisor was killed by signal {os.WTERMSIG(status)}")
        elif os.WEXITSTATUS(status) == _CRASHED:
            self._lost[number] = (time.monotonic(), "its supervisor crashed")
        self._sweep_after = _SWEEP_SECONDS

    def _sweep(self) -> None:
        """Kill what is nobody's, and tell the gateway once it is dead or has been named."""
        live = frozenset(self._supervisors)
        strays: list[int] = []
        for _ in range(20):
            found = tree.signal_tree(signal.SIGKILL, spare=live)
            self._collect()
            if not found or found == strays:
                break
            strays = found
        strays = [pid for pid, _ in tree.descendants(os.getpid(), frozenset(self._supervisors))]
        now = time.monotonic()
        for number, (since, how) in list(self._lost.items()):
            if not strays or now >= since + _NAME_AFTER_SECONDS:
                named = [process.as_json() for process in map(tree.describe, strays) if process is not None]
                self._say(Kind.LOST, {"order": number, "how": how, "survivors": named})
                del self._lost[number]
        if not strays:
            self._sweep_after = None
        elif self._sweep_after is not None:
            self._sweep_after = min(self._sweep_after * 1.5, _SWEEP_MAX_SECONDS)

    def _say(self, kind: Kind, facts: dict[str, object]) -> None:
        """Tell the gateway, now or as soon as it listens again."""
        self._unsent += json_frame(kind, facts)
        self._send_some()

    def _send_some(self) -> None:
        if self._closing_until is not None:
            return
        try:
            while self._unsent:
                del self._unsent[: self._main.send(self._unsent)]
        except BlockingIOError:
            pass
        except OSError:
            self._unsent.clear()  # the gateway is gone, which the next read tells
        self._poller.modify(self._main, select.POLLIN | select.POLLOUT if self._unsent else select.POLLIN)


def _wake(_number: int, _frame: object) -> None:
    """Exist, so that the signal writes to the wake-up descriptor."""
