"""Real children, a real server, and the fetch tool between them."""

from collections.abc import AsyncIterator

import pytest

from mtbot.domain.call import Outcome
from mtbot.processes.children import RunnerChildren
from mtbot.processes.runner import Runner
from mtbot.processes.spawning import start_spawner
from mtbot.tools.web import WebFetchTool, WebSettings
from tests.integration.tools.server import Names, Server, running
from tests.unit.tools.builders import REDACTOR, call, nothing, permit

SITE = "site.test"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """A plain server."""
    async with running() as one:
        yield one


@pytest.fixture
def names(server: Server) -> Names:
    """``site.test`` is the server; every other name has an address where nobody may go, or none."""
    table: dict[str, tuple[str, ...] | list[tuple[str, ...]]] = {
        SITE: ("127.0.0.1",),
        "www.site.test": ("127.0.0.1",),
        "other.test": ("127.0.0.1",),
        "inner.test": ("10.0.0.7",),
        "mixed.test": ("127.0.0.1", "192.168.0.1"),
        "metadata.test": ("169.254.169.254",),
    }
    return Names(server.port, table)


@pytest.fixture
async def children() -> AsyncIterator[RunnerChildren]:
    """The Children port over a spawner of its own."""
    runner = Runner(start_spawner())
    yield RunnerChildren(runner)
    await runner.close()


class Fetcher:
    """The tool as a test uses it."""

    def __init__(self, server: Server, names: Names, children: RunnerChildren) -> None:
        self.server = server
        self.names = names
        self.children = children

    async def get(self, url: str, settings: WebSettings | None = None) -> Outcome:
        """Fetch an address; one that begins with a slash is a path on the server."""
        if url.startswith("/") and not url.startswith("//"):
            url = f"http://{SITE}:{self.server.port}{url}"
        tool = WebFetchTool(settings or WebSettings(timeout=20.0), self.children, REDACTOR, self.names.network)
        return await tool.perform(call("web_fetch", {"url": url}), permit(), nothing)


@pytest.fixture
def web(server: Server, names: Names, children: RunnerChildren) -> Fetcher:
    """web_fetch between the server and the children."""
    return Fetcher(server, names, children)
