"""Watch and end one command: output, processes and deadlines.

The order of the ending is the point: the command's group and tree are signalled while the leader is still unreaped, so
that its number cannot belong to anyone else; only then is it waited for; and the work is over when the kernel says that
no child is left, or when five seconds have passed and what is left has been named.
"""

import os
import signal
import time
from collections.abc import Callable

from . import tree
from .line import Line
from .order import Order
from .pump import Pump
from .wire import EndWord, Kind, end_fields, frame, json_frame

TERM_GRACE_SECONDS = 0.8
GIVE_UP_SECONDS = 4.8
_BACKGROUND_TERM_SECONDS = 0.2
_BACKGROUND_KILL_SECONDS = 0.3
_LIVE_SECONDS = 0.1
_KILL_TICK_SECONDS = 0.002
_KILL_TICK_MAX_SECONDS = 0.05
_KILL_PASSES = 20
_IDLE_SECONDS = 5.0

CLEAN, SOMETHING_LEFT, AGAIN = 0, 1, 2
"""What ``run`` returns: nothing is left; something is; nothing is, and the gateway was told that another may come."""


class Execution:
    """One command under way, from its exec to its END frame.

    ``times`` is when its start began: on the monotonic clock in seconds, and in clock ticks since boot.
    """

    def __init__(self, line: Line, order: Order, leader: int, pump: Pump, times: tuple[float, int]) -> None:
        self._line = line
        self._order = order
        self._pump = pump
        self._began, self._since = times
        self._deadline = None if order.timeout is None else self._began + order.timeout
        self._leader = leader
        self._leader_held = True
        self._leader_end: tuple[int, int] | None = None
        self._no_children = False
        self._cause: str | None = None
        self._background = False
        self._term_at: float | None = None
        self._kill_at: float | None = None
        self._give_up_at = 0.0
        self._live_at = self._began + _LIVE_SECONDS
        self._told_of_start = False
        self._tick = _KILL_TICK_SECONDS

    def run(self, may_go_on: Callable[[], bool]) -> int:
        """Watch, end, report. Returns CLEAN, SOMETHING_LEFT or, if it then ``may_go_on``, AGAIN."""
        self._line.watch(self._pump.fd)
        while not self._step():
            pass
        return self._finish(may_go_on)

    def _step(self) -> bool:
        """Do what is due, then wait for the next thing to happen. True when command and tree are done with."""
        now = time.monotonic()
        self._reap()
        self._decide(now)
        if self._kill_at is not None and self._end_what_is_left(now):
            return True
        ready = self._line.wait(self._patience(time.monotonic()))
        if self._pump.fd in ready:
            self._read_output()
        self._pass_on_live(time.monotonic())
        return False

    # deciding

    def _decide(self, now: float) -> None:
        """Find out whether the command has to end, and set the times of its ending; its own end counts first."""
        if self._cause is not None:
            return
        ended_by_itself = self._leader_end is not None
        if ended_by_itself:
            if self._kill_at is None:
                self._schedule(now, _BACKGROUND_TERM_SECONDS, _BACKGROUND_KILL_SECONDS)
            elif self._line.cause is not None:
                self._kill_at = min(self._kill_at, now)
        elif self._line.cause is not None:
            self._cause = self._line.cause
            self._schedule(now, 0.0, TERM_GRACE_SECONDS)
        elif self._deadline is not None and now >= self._deadline:
            self._cause = EndWord.TIMED_OUT
            self._schedule(now, 0.0, TERM_GRACE_SECONDS)

    def _schedule(self, now: float, term: float, kill: float) -> None:
        self._term_at = now + term
        self._kill_at = now + kill
        self._give_up_at = now + GIVE_UP_SECONDS

    def _end_what_is_left(self, now: float) -> bool:
        """Signal what has to be signalled by now; True when nothing is left or it is time to give up."""
        if self._leader_end is not None and not self._others():
            self._release_leader()
            if self._no_children:
                return True
        if self._term_at is not None and now >= self._term_at:
            self._term_at = None
            self._background = self._cause is None
            self._signal_all(signal.SIGTERM)
            self._signal_all(signal.SIGCONT)
        if self._kill_at is not None and now >= self._kill_at:
            self._kill()
        return self._no_children or now >= self._give_up_at

    def _kill(self) -> None:
        """Kill again and again without a pause while new processes turn up: something may be forking."""
        seen: set[int] = set()
        for _ in range(_KILL_PASSES):
            found = set(self._signal_all(signal.SIGKILL))
            if self._leader_end is not None:
                self._release_leader()
            self._reap()
            if found <= seen or self._no_children:
                return
            seen |= found

    def _patience(self, now: float) -> float:
        """Return how many seconds may pass before something is due by the clock."""
        due = [now + _IDLE_SECONDS]
        if self._deadline is not None and self._kill_at is None:
            due.append(self._deadline)
        if self._pump.has_live or not self._told_of_start:
            due.append(self._live_at)
        if self._term_at is not None:
            due.append(self._term_at)
        if self._kill_at is not None:
            if now < self._kill_at:
                due.append(self._kill_at)
            else:
                due.append(now + self._tick)
                self._tick = min(self._tick * 1.3, _KILL_TICK_MAX_SECONDS)
        return max(0.0, min(due) - now)

    # processes

    def _others(self) -> list[int]:
        return [pid for pid in tree.own_children() if pid != self._leader or not self._leader_held]

    def _signal_all(self, number: int) -> list[int]:
        """Signal the command's group in one go, then whatever left the group; the unreaped leader guards its number."""
        group = 0
        if self._leader_held:
            group = self._leader
            try:
                os.killpg(group, number)
            except OSError:
                group = 0
        return tree.signal_tree(number, spare_group=group)

    def _reap(self) -> None:
        """Collect the dead, but leave the leader unreaped: its number names the group that is still to be signalled."""
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                self._no_children = True
                return
            if ended is None:
                return
            if ended.si_pid == self._leader and self._leader_held:
                self._leader_end = (ended.si_code, ended.si_status)
                for pid in self._others():
                    _reap_one(pid)
                return
            _reap_one(ended.si_pid)

    def _release_leader(self) -> None:
        if self._leader_held:
            self._leader_held = False
            _reap_one(self._leader)
            self._reap()

    # output

    def _read_output(self) -> None:
        self._pump.read()
        if self._pump.ended:
            self._line.unwatch(self._pump.fd)

    def _pass_on_live(self, now: float) -> None:
        """Offer running output now and then; a gateway that does not keep up misses it here and has it at the end."""
        if now < self._live_at:
            return
        if not self._told_of_start:  # a command that is over by now never needs it
            self._told_of_start = True
            self._line.say(json_frame(Kind.STARTED, {"pid": self._leader, "supervisor": os.getpid()}))
        if self._pump.has_live and not self._line.unsent:
            self._live_at = now + _LIVE_SECONDS
            self._line.say(self._live_frame())

    def _live_frame(self) -> bytes:
        skipped, data = self._pump.take_live()
        return frame(Kind.LIVE, skipped.to_bytes(8, "big") + data)

    def _finish(self, may_go_on: Callable[[], bool]) -> int:
        """Empty the pipe, name what is left, and send the END."""
        ended = time.monotonic()
        while self._pump.read() and time.monotonic() < ended + _BACKGROUND_KILL_SECONDS:
            pass  # the limit is for a writer outside the tree
        left = self._survivors()
        self._line.unwatch(self._pump.fd)  # whether or not its end was read only here
        self._pump.release()
        ended_well = self._no_children and not left and self._cause is None and self._line.cause is None
        again = ended_well and may_go_on()
        last = self._live_frame() if self._pump.has_live else b""
        head, tail = frame(Kind.HEAD, bytes(self._pump.head)), frame(Kind.TAIL, self._pump.tail)
        end = self._end(ended - self._began, left) | {"again": again}
        if again:
            self._line.renew()  # before the END, because what comes after it belongs to the next command
        self._line.say(last + head + tail + json_frame(Kind.END, end))
        if again:
            return AGAIN
        return SOMETHING_LEFT if left or not self._no_children else CLEAN

    def _survivors(self) -> list[tree.Process]:
        pids = [] if self._no_children else [pid for pid, _ in tree.descendants(os.getpid())]
        mark = os.fsencode(self._order.mark)
        if not self._pump.ended or mark:
            pipe = None if self._pump.ended else self._pump.inode
            pids += tree.newer_holders(self._leader, self._since, pipe, mark)
        named = (tree.describe(pid) for pid in dict.fromkeys(pids))
        return [process for process in named if process is not None]

    def _end(self, duration: float, left: list[tree.Process]) -> dict[str, object]:
        how, number = self._leader_end or (os.CLD_EXITED, 0)
        signaled = how in (os.CLD_KILLED, os.CLD_DUMPED)
        status = self._cause or (EndWord.SIGNALED if signaled else EndWord.EXITED)
        message = self._line.message if self._cause is not None else ""
        return end_fields(
            status,
            code=number if status == EndWord.EXITED else None,
            number=number if signaled else None,
            duration=duration,
            dropped=self._pump.dropped,
            background=self._background,
            survivors=[process.as_json() for process in left],
            message=message,
        )


def _reap_one(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return
