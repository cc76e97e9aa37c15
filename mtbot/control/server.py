"""The gateway's end of the control socket: look who it is, read one line in time, answer, close.

Nobody can hold it up: connections are few, frames short and every one has a deadline. What a peer does wrong ends that
peer's connection and nothing else.
"""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import structlog

from mtbot.control.peer import Peer, Watch
from mtbot.control.place import Listening
from mtbot.control.wire import MAX_FRAME, JsonObject, frame, read_frame
from mtbot.domain.errors import ConfigError, ControlError, MtclawError, PeerRefused
from mtbot.domain.ports import Masker

READ_SECONDS = 5.0
"""So long a peer has for its whole request."""

ANSWER_SECONDS = 5.0
"""So long it has to take the answer."""

MOST_PEERS = 16
"""Connections at once; whoever comes then is turned away at the door."""

PAUSE_SECONDS = 1.0

_log = structlog.get_logger()

Handler = Callable[[Peer, JsonObject], Awaitable[Mapping[str, object]]]


class ControlServer:
    """Serves ``directory`` while ``run`` runs. ``handle`` does what is asked; its errors become answers."""

    def __init__(self, directory: Path, watch: Watch, handle: Handler, masker: Masker) -> None:
        self._directory = directory
        self._watch = watch
        self._handle = handle
        self._masker = masker
        self._peers: set[asyncio.Task[None]] = set()
        self.read_seconds = READ_SECONDS

    async def run(self) -> None:
        """Serve until cancelled. A place that cannot be used is logged; the gateway serves its chats without it."""
        try:
            listening = Listening(self._directory)
        except MtclawError as error:
            _log.error("control.not_open", code=error.code, error=str(error))
            await asyncio.Event().wait()
            return
        _log.info("control.open", place=str(self._directory))
        try:
            await self._accept(listening.socket)
        finally:
            listening.close()
            for task in self._peers:
                task.cancel()
            await asyncio.gather(*self._peers, return_exceptions=True)

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(listener)
            except OSError as fault:  # no descriptor is free: the chats are more important
                _log.error("control.not_accepted", error=fault.strerror)
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            if len(self._peers) >= MOST_PEERS:
                connection.close()
                continue
            connection.settimeout(0)
            task = asyncio.create_task(self._serve(connection))
            self._peers.add(task)
            task.add_done_callback(self._peers.discard)

    async def _serve(self, connection: socket.socket) -> None:
        with contextlib.closing(connection):
            answer = await self._answer(connection)
            if answer is None:
                return
            # a peer that does not take its answer has had its time
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(ANSWER_SECONDS):
                    await asyncio.get_running_loop().sock_sendall(connection, self._framed(answer))

    async def _answer(self, connection: socket.socket) -> Mapping[str, object] | None:
        """What a connection is answered; None for one that said nothing whole in time."""
        try:
            peer = self._watch.identify(connection)
        except PeerRefused as refused:
            _log.warning("control.refused", error=str(refused))
            return failure(refused)
        try:
            async with asyncio.timeout(self.read_seconds):
                line = await _line(connection)
        except TimeoutError:
            return failure(ControlError("no whole message came in time"))
        except ControlError as wrong:
            return failure(wrong)
        except OSError:
            return None
        if line is None:
            return None
        try:
            return {"ok": True, **await self._handle(peer, read_frame(line))}
        except MtclawError as error:
            return failure(error)
        # A fault in one verb must not end the gateway; the log has it, and the person is told.
        except Exception:  # noqa: BLE001  one bad verb must not end the gateway
            _log.exception("control.crashed")
            return failure(ControlError("something went wrong inside mtclaw; the log has it"))

    def _framed(self, answer: Mapping[str, object]) -> bytes:
        try:
            return frame(self._masked(answer))
        except ControlError as wrong:
            return frame(failure(wrong))

    def _masked(self, value: object) -> JsonObject:
        """``value`` with every text in it masked: what leaves here is on somebody's screen."""
        masked = self._mask(value)
        assert isinstance(masked, dict)
        return masked

    def _mask(self, value: object) -> object:
        if isinstance(value, str):
            return str(self._masker.mask(value))
        if isinstance(value, Mapping):
            return {str(name): self._mask(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._mask(item) for item in value]
        return value


def failure(error: MtclawError) -> JsonObject:
    """An error as an answer."""
    answer: JsonObject = {"ok": False, "code": error.code, "message": error.message, "hint": error.hint}
    return {**answer, "problems": list(error.problems)} if isinstance(error, ConfigError) else answer


async def _line(connection: socket.socket) -> bytes | None:
    """The first line that comes; None if the peer closes before it is whole. ControlError if it is too long."""
    loop, data = asyncio.get_running_loop(), bytearray()
    while b"\n" not in data:
        piece = await loop.sock_recv(connection, MAX_FRAME)
        if not piece:
            return None
        data += piece
        if len(data) > MAX_FRAME:
            raise ControlError(f"a message may have {MAX_FRAME} bytes")
    return bytes(data[: data.index(b"\n")])
