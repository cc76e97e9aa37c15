"""A small SOCKS5 server (RFC 1928, 1929) on loopback, with or without a password, that can also refuse or talk nonsense."""

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Self

_VERSION, _PASSWORD_VERSION = 5, 1
_NO_PASSWORD, _PASSWORD, _NONE = 0, 2, 255
_CONNECT, _IPV4, _NAME = 1, 1, 3
_NOWHERE = bytes([_IPV4]) + bytes(4)


class SocksProxy:
    """Passes everything on to ``target``, whatever it is asked for; ``asked`` holds that, in order.

    With ``user`` it wants that one and ``password``. ``refusal`` is the number that it answers a request with, 0 to pass
    it on; ``bound`` is the address that it says it connects from. ``nonsense`` is what it says instead of a first answer,
    and if that is nothing it waits.
    """

    def __init__(
        self,
        target: tuple[str, int],
        *,
        user: str = "",
        password: str = "",
        refusal: int = 0,
        nonsense: bytes | None = None,
        bound: bytes = _NOWHERE,
    ) -> None:
        self.asked: list[tuple[str, int]] = []
        self.refusal = refusal
        self._target = target
        self._wanted = (user.encode(), password.encode())
        self._nonsense = nonsense
        self._bound = bound
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen, at a second start on the same port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Listen no more, and break every connection."""
        assert self._server is not None
        self._server.close()
        for writer in tuple(self._open):
            writer.transport.abort()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._open.add(writer)
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                if await self._agree(reader, writer):
                    await self._relay(reader, writer)
        finally:
            self._open.discard(writer)
            self._tasks.discard(task)
            writer.close()

    async def _agree(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """The greeting, the password and the request; whether it may go on."""
        _version, count = await reader.readexactly(2)
        offered = await reader.readexactly(count)
        if self._nonsense is not None:
            writer.write(self._nonsense)
            if not self._nonsense:
                await reader.read()
            return False
        wanted = _PASSWORD if self._wanted[0] else _NO_PASSWORD
        method = wanted if wanted in offered else _NONE
        writer.write(bytes([_VERSION, method]))
        if method == _NONE:
            return False
        if method == _PASSWORD:
            await reader.readexactly(1)
            given = [await reader.readexactly((await reader.readexactly(1))[0]) for _ in range(2)]
            right = tuple(given) == self._wanted
            writer.write(bytes([_PASSWORD_VERSION, 0 if right else 1]))
            if not right:
                return False
        _version, command, _reserved, kind = await reader.readexactly(4)
        assert command == _CONNECT
        if kind == _NAME:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        else:
            assert kind == _IPV4
            host = ".".join(map(str, await reader.readexactly(4)))
        self.asked.append((host, int.from_bytes(await reader.readexactly(2), "big")))
        writer.write(bytes([_VERSION, self.refusal, 0]) + self._bound + bytes(2))
        return self.refusal == 0

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, onward = await asyncio.open_connection(*self._target)
        self._open.add(onward)
        try:
            await asyncio.gather(_copy(reader, onward), _copy(there, writer))
        finally:
            self._open.discard(onward)
            onward.close()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Until one side ends; then the other is ended too."""
    try:
        while piece := await source.read(65_536):
            sink.write(piece)
            await sink.drain()
    finally:
        sink.close()
