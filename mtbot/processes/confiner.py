"""Prepare contained calls: their parts, their private temporary directory, and the knowledge of what this host can hold."""

import asyncio
import contextlib
import errno
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from mtbot.domain.process import Account, Containment, Grants
from mtbot.processes import bubblewrap, probe
from mtbot.processes.containment import Guard, contained, environment_for, parts_for, system_paths, writable
from mtbot.processes.ending import EndStatus, ProcessEnd
from mtbot.processes.request import Profile, SpawnRequest
from mtbot.processes.runner import Runner

_ANSWER_BYTES = 65_536
_PREFIX = "mtclaw-call-"
_TRIES = 8
_NO_BUBBLEWRAP = "it is not installed where only root can change it"


class Confiner:
    """Confines what the runner executes."""

    def __init__(
        self,
        runner: Runner,
        guard: Guard,
        account: Account | None = None,
        program: str | None = None,
        newest_landlock: int | None = None,
    ) -> None:
        """``account`` is who commands run as, so that what is found out holds for them.

        ``program`` is bubblewrap, empty for none; None looks for that of this host. ``newest_landlock`` is the version to
        make do with, so that a test knows what an older kernel would hold.
        """
        self._account = account
        self._runner = runner
        self._guard = guard
        self._system = system_paths(guard)
        self._probing: asyncio.Task[Containment] | None = None
        self._tried = False
        self._newest_landlock = newest_landlock
        self._bubblewrap = bubblewrap.find() if program is None else program

    @property
    def known(self) -> Containment | None:
        """What is known to hold by now; None while that is not known."""
        done = self._probing is not None and self._probing.done() and not self._probing.cancelled()
        return self._probing.result() if self._probing is not None and done else None

    def begin(self) -> "asyncio.Task[Containment]":
        """Begin to find out what holds here, unless that is under way or known."""
        if self._probing is None or (self._probing.done() and not self._tried):
            self._probing = asyncio.create_task(self._probe())
        return self._probing

    def adopt(self, guard: Guard) -> None:
        """Guard something else from the next call on."""
        self._guard, self._system = guard, system_paths(guard)

    async def state(self) -> Containment:
        """What holds here; found out once, by trying, and again only if that could not be tried at all."""
        return await asyncio.shield(self.begin())

    async def ready(self) -> bool:
        """Whether commands can be contained here."""
        return (await self.state()).ready

    def held(self, confined: SpawnRequest) -> tuple[str, ...]:
        """The parts that hold for a call of ``around``; nothing where that is not known yet."""
        parts = () if self.known is None else self.known.parts
        return tuple(part for part in parts if part != "bubblewrap" or confined.profile.box is not None)

    async def close(self) -> None:
        """Give up a probe that is under way."""
        if self._probing is not None:
            self._probing.cancel()
            await asyncio.wait([self._probing])

    @contextlib.asynccontextmanager
    async def around(self, wanted: SpawnRequest, grants: Grants) -> AsyncIterator[SpawnRequest]:
        """``wanted`` as it runs contained; its private directory lives as long as this does. OSError: no such directory.

        TooMuch: the workspace cannot be closed.
        """
        boxed = bool(grants.guarded) and (await self.state()).bubblewrap
        async with self._around(wanted, grants, boxed=boxed) as request:
            yield request

    @contextlib.asynccontextmanager
    async def _around(self, wanted: SpawnRequest, grants: Grants, *, boxed: bool) -> AsyncIterator[SpawnRequest]:
        private, held = _private_directory(wanted.account)
        try:
            # what was not looked at before this call may lie on a file system that makes one wait
            waits = boxed or bool(grants.look or grants.repository)
            made = partial(self._profile, grants, private, boxed=boxed)
            profile = await asyncio.to_thread(made) if waits else made()
            yield replace(wanted, env=environment_for(wanted.env, private), profile=profile)
        finally:
            try:
                Path(private).rmdir()
            except OSError:  # something is in it
                await asyncio.shield(asyncio.ensure_future(asyncio.to_thread(remove_tree, private)))
            finally:
                os.close(held)

    def _profile(self, grants: Grants, private: str, *, boxed: bool) -> Profile:
        """The profile of a call. TooMuch."""
        parts = parts_for(grants, self._system, private, self._guard, self._newest_landlock)
        if not boxed:
            return contained(parts)
        closed = bubblewrap.look_through(grants.guarded, grants.write, git=grants.git)
        box = bubblewrap.box(self._bubblewrap, writable(grants, private, self._guard), closed)
        return contained(parts, box)

    async def _probe(self) -> Containment:
        """Let a contained child attack what was put up for it, started by the first interpreter that it can start."""
        *others, last = probe.interpreters(self._account)
        for interpreter in others:
            end = await self._attack(interpreter)
            if isinstance(end, ProcessEnd) and end.status is not EndStatus.FAILED_TO_START:
                return await self._with_bubblewrap(self._answer(end), interpreter)
        return await self._with_bubblewrap(self._answer(await self._attack(last)), last)

    async def _with_bubblewrap(self, held: Containment, interpreter: str) -> Containment:
        """What holds without it, and whether all of it and what it adds hold with it; it may take nothing away."""
        if not held.ready or not self._bubblewrap:
            return replace(held, no_bubblewrap=() if self._bubblewrap else (_NO_BUBBLEWRAP,))
        inside = self._answer(await self._attack(interpreter, boxed=True), boxed=True)
        worse = tuple(f"with it, {words}" for words in inside.missing if words not in held.missing)
        holds = inside.bubblewrap and not worse
        return replace(held, bubblewrap=holds, no_bubblewrap=() if holds else inside.no_bubblewrap or worse)

    async def _attack(self, interpreter: str, *, boxed: bool = False) -> ProcessEnd | Containment:
        whose = self._account
        try:
            with (
                tempfile.TemporaryDirectory(prefix="mtclaw-inside-") as place,
                probe.targets(inside := os.path.realpath(place), whose, boxed=boxed) as found,
            ):
                grants = Grants(read=probe.interpreter(), write=(inside,))
                if boxed:
                    grants = replace(grants, guarded=inside, attributes=True)
                wanted = SpawnRequest(
                    f"probe-{Path(inside).name}",
                    probe.command(interpreter, found),
                    {},
                    "/",
                    probe.SECONDS,
                    _ANSWER_BYTES,
                    account=whose,
                )
                async with self._around(wanted, grants, boxed=boxed) as request:
                    return await self._runner.run(request)
        except OSError as error:
            return Containment(missing=(f"it could not be tried: {error}",))

    def _answer(self, end: ProcessEnd | Containment, *, boxed: bool = False) -> Containment:
        if isinstance(end, Containment):
            return replace(end, no_bubblewrap=end.missing)
        # A host that was too busy, or a spawner that died, has said nothing about the kernel.
        refused = end.status is EndStatus.FAILED_TO_START and self._runner.alive
        self._tried = refused or end.status in (EndStatus.EXITED, EndStatus.SIGNALED)
        trouble = end.message or f"the probe ended with exit code {end.exit_code}"
        return probe.read_answer(end.output.text(), trouble, boxed=boxed)


def _private_directory(account: Account | None) -> tuple[str, int]:
    """A fresh directory of ``account``, and the descriptor that holds it: its lock goes with this process, however that ends."""
    for _ in range(_TRIES):
        path = os.path.realpath(tempfile.mkdtemp(prefix=_PREFIX))
        held = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        if _lock(held) and os.path.lexists(path):
            if account is not None:
                os.fchown(held, account.uid, account.gid)
            return path, held
        os.close(held)  # somebody swept it in this very moment
    raise OSError(errno.EBUSY, "every fresh directory is taken away at once")


def sweep_private_directories(parent: str | None = None, account: Account | None = None) -> int:
    """Remove the private directories of processes that are gone; how many. What cannot be removed is left.

    Ours are those of this user and, as root, of the ``account`` that commands run as.
    """
    ours = {os.geteuid(), os.geteuid() if account is None else account.uid}
    gone = 0
    for path in Path(parent or tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            held = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            if os.fstat(held).st_uid in ours and _lock(held):
                remove_tree(str(path))
                gone += not os.path.lexists(path)
        finally:
            os.close(held)
    return gone


def _lock(held: int) -> bool:
    """Whether nobody else holds the directory; the kernel knows, whatever became of who made it."""
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def remove_tree(path: str) -> None:
    """Remove what a command left in its directory, also where it took away its own right to do so.

    Root needs no such right, and changes no mode by a name that another user may turn into a link meanwhile.
    """
    for folder, names, _ in os.walk(path) if os.geteuid() != 0 else ():
        for name in names:
            place = Path(folder, name)
            if not place.is_symlink():
                with contextlib.suppress(OSError):
                    place.chmod(stat.S_IRWXU)
    shutil.rmtree(path, ignore_errors=True)
