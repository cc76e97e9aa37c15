"""A small HTTP server on loopback whose answers a test writes byte by byte, and a network that leads to it."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from mtbot.domain.call import Outcome, Status
from mtbot.tools.netguard import IPAddress, refusal
from mtbot.tools.web import BANNER
from mtbot.tools.web_client import Network

Handler = Callable[[asyncio.StreamWriter], Awaitable[None]]


def answer(body: bytes = b"", *, status: str = "200 OK", **headers: str) -> bytes:
    """A whole answer; ``content_type`` becomes ``Content-Type``. Text by default."""
    fields = {"content_type": "text/plain", "content_length": str(len(body)), "connection": "close", **headers}
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in fields.items() if value)]
    return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass
class Server:
    """What stands behind each path, and what was asked for."""

    port: int = 0
    pages: dict[str, bytes | Handler] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            path = head.split(" ")[1]
            self.asked.append(path)
            self.heads.append(head)
            page = self.pages.get(path, answer(status="404 Not Found"))
            if isinstance(page, bytes):
                writer.write(page)
            else:
                await page(writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def running(context: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """A server on a free port."""
    server = Server()
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=context)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()


@dataclass
class Names:
    """A resolver under the test's control, which counts; and a judge that lets one loopback port pass for public."""

    port: int
    table: Mapping[str, tuple[str, ...] | list[tuple[str, ...]]]
    asked: list[str] = field(default_factory=list)
    judged: list[str] = field(default_factory=list)

    async def resolve(self, host: str, _port: int) -> tuple[str, ...]:
        """The answer of the table; a list is one answer after the other."""
        self.asked.append(host)
        found = self.table.get(host)
        if found is None:
            raise OSError("Name or service not known")
        return found.pop(0) if isinstance(found, list) else found

    def judge(self, address: IPAddress, port: int) -> str | None:
        """As in production, but for the test's own server."""
        self.judged.append(str(address))
        return None if str(address) in ("127.0.0.1", "127.0.0.2") and port == self.port else refusal(address)

    @property
    def network(self) -> Network:
        """The seam."""
        return Network(self.resolve, self.judge)


def content_of(outcome: Outcome) -> str:
    """What stands between the marks; the banner is above them."""
    assert outcome.status is Status.OK, outcome.text
    assert outcome.tainted
    head, _, rest = outcome.text.partition(f"\n{BANNER}\n<<<")
    assert head.startswith("url: http")
    mark, _, rest = rest.partition("\n")
    body, _, end = rest.rpartition(f"\n{mark}>>>")
    assert (len(mark), end) == (8, "")
    return body


def moved(to: str, status: str = "302 Found") -> bytes:
    """An answer that redirects."""
    return answer(status=status, location=to)
