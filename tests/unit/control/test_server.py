"""A peer that is slow, talks too much or makes no sense loses its own connection and nothing else."""

import asyncio
import contextlib
import errno
import json
import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mtbot.control import server as subject
from mtbot.control.client import ask
from mtbot.control.peer import Peer, Watch
from mtbot.control.place import NAME
from mtbot.control.server import MOST_PEERS, ControlServer
from mtbot.control.wire import MAX_FRAME, JsonObject, frame
from mtbot.domain.errors import ConfigError, ConsentError, ControlError
from tests.unit.approvals.samples import REDACTOR
from tests.unit.control.ends import MARK


class Handler:
    """Answers with what it was asked, or with ``fault``."""

    def __init__(self) -> None:
        self.fault: Exception | None = None
        self.peers: list[Peer] = []
        self.answer: dict[str, object] = {}

    async def handle(self, peer: Peer, wanted: JsonObject) -> Mapping[str, object]:
        """Answer."""
        self.peers.append(peer)
        if self.fault is not None:
            raise self.fault
        return {"said": wanted.get("say", ""), **self.answer}


@asynccontextmanager
async def serving(
    directory: Path, handler: Handler, *, above: frozenset[int] = frozenset()
) -> AsyncIterator[ControlServer]:
    """A server that listens."""
    server = ControlServer(directory, Watch(above, MARK), handler.handle, REDACTOR)
    task = asyncio.create_task(server.run())
    while not (directory / NAME).exists() and not task.done():
        await asyncio.sleep(0)
    try:
        yield server
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def raw(directory: Path, data: bytes, *, end: bool = False) -> bytes:
    """What comes back for ``data``, until the server closes; ``end``: we close our half first."""
    reader, writer = await asyncio.open_unix_connection(directory / NAME)
    writer.write(data)
    if end:
        writer.write_eof()
    try:
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def asked(directory: Path, wanted: Mapping[str, object]) -> JsonObject | None:
    """As the command line asks."""
    return await asyncio.to_thread(ask, directory, wanted, 20.0)


async def test_a_question_and_its_answer(tmp_path: Path) -> None:
    """One line each way; the handler knows the kernel's word on who asks."""
    handler = Handler()
    async with serving(tmp_path / "c", handler):
        assert await asked(tmp_path / "c", {"say": "hello"}) == {"v": 1, "ok": True, "said": "hello"}
    assert [(peer.pid, peer.uid) for peer in handler.peers] == [(os.getpid(), os.geteuid())]
    assert not (tmp_path / "c" / NAME).exists()
    assert await asked(tmp_path / "c", {"say": "hello"}) is None


async def test_a_refused_peer_is_told_before_a_word_of_it_is_read(tmp_path: Path) -> None:
    """And the handler never hears of it."""
    handler = Handler()
    async with serving(tmp_path / "c", handler, above=frozenset({os.getppid()})):
        with pytest.raises(ControlError, match="a command that the bot runs may not speak here"):
            await asked(tmp_path / "c", {"say": "x" * 60_000})
    assert handler.peers == []


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "no JSON"),
        (b"[]\n", "no JSON object"),
        (b'{"v": 9}\n', "version 9"),
        (b"a" * (MAX_FRAME + 1), "may have 65536 bytes"),
        (b"a" * (1 << 20) + b"\n", "may have 65536 bytes"),
    ],
    ids=["http", "list", "version", "long", "very-long"],
)
async def test_nonsense_is_answered_and_ends_there(tmp_path: Path, data: bytes, why: str) -> None:
    """The next peer is served."""
    handler = Handler()
    async with serving(tmp_path / "c", handler):
        answer = await raw(tmp_path / "c", data)
        # whoever still writes when the door closes may not see the reason any more
        assert why in answer.decode() or len(data) > MAX_FRAME
        assert await asked(tmp_path / "c", {"say": "next"})
    assert len(handler.peers) == 1


async def test_the_longest_frame_is_taken(tmp_path: Path) -> None:
    """65,536 bytes are allowed, and one more is not."""
    handler = Handler()
    room = MAX_FRAME - len(frame({"pad": ""}))
    async with serving(tmp_path / "c", handler):
        assert json.loads(await raw(tmp_path / "c", frame({"pad": "a" * room})))["ok"] is True
        assert b"may have 65536 bytes" in await raw(tmp_path / "c", b" " + frame({"pad": "a" * room}))


async def test_half_a_frame_is_closed(tmp_path: Path) -> None:
    """At once when the peer ends, else when its time is over; it is never acted on."""
    handler = Handler()
    async with serving(tmp_path / "c", handler) as server:
        assert await raw(tmp_path / "c", b'{"v": 1, "do": "appro', end=True) == b""
        server.read_seconds = 0.01
        answer = json.loads(await raw(tmp_path / "c", b'{"v": 1, "do": "appro'))
    assert (answer["ok"], answer["message"], handler.peers) == (False, "no whole message came in time", [])


async def test_drops_do_not_lengthen_the_deadline(tmp_path: Path) -> None:
    """It is for the whole message, not for each piece of it."""
    async with serving(tmp_path / "c", Handler()) as server:
        server.read_seconds = 0.05
        with socket.socket(socket.AF_UNIX) as drip:
            drip.connect(str(tmp_path / "c" / NAME))
            drip.settimeout(0)
            answer = asyncio.ensure_future(asyncio.get_running_loop().sock_recv(drip, MAX_FRAME))
            while not answer.done():
                with contextlib.suppress(OSError):
                    drip.send(b" ")
                await asyncio.wait([answer], timeout=0.005)
            assert b"no whole message came in time" in answer.result()


async def test_who_never_takes_the_answer_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time is over, and its connection with it."""
    monkeypatch.setattr(subject, "ANSWER_SECONDS", 0.01)
    handler = Handler()
    handler.answer = {"pad": "a" * 60_000}
    async with serving(tmp_path / "c", handler):
        held = []
        for _ in range(4):
            slow = socket.socket(socket.AF_UNIX)
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2048)
            slow.connect(str(tmp_path / "c" / NAME))
            slow.sendall(frame({"say": "x"}))
            held.append(slow)
        assert await asked(tmp_path / "c", {"say": "next"})
        for slow in held:
            slow.close()


async def test_only_so_many_at_once(tmp_path: Path) -> None:
    """One more is turned away at the door; when they go, there is room again."""
    async with serving(tmp_path / "c", Handler()):
        held = [await asyncio.open_unix_connection(tmp_path / "c" / NAME) for _ in range(MOST_PEERS)]
        assert await raw(tmp_path / "c", b"") == b""
        with pytest.raises(ControlError):
            await asked(tmp_path / "c", {"say": "late"})
        for reader, writer in held:
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()
        while True:
            try:
                assert await asked(tmp_path / "c", {"say": "now"})
                break
            except ControlError:
                continue


async def test_errors_become_answers(tmp_path: Path) -> None:
    """Ours with their code, message and hint, several as several, any other as one sentence without its text."""
    handler = Handler()
    async with serving(tmp_path / "c", handler):
        handler.fault = ConsentError("#K7QD was denied", hint="ask again")
        with pytest.raises(ControlError, match=r"#K7QD was denied .ask again."):
            await asked(tmp_path / "c", {})
        handler.fault = ConfigError(("one", "two"), hint="mend it")
        with pytest.raises(ConfigError) as config:
            await asked(tmp_path / "c", {})
        assert (config.value.problems, config.value.hint) == (("one", "two"), "mend it")
        handler.fault = RuntimeError("swordfish9 inside")
        with pytest.raises(ControlError, match="something went wrong inside mtclaw"):
            await asked(tmp_path / "c", {})
        handler.fault = None
        assert await asked(tmp_path / "c", {"say": "still here"})


async def test_every_text_is_masked(tmp_path: Path) -> None:
    """In whatever depth, and in an error."""
    handler = Handler()
    handler.answer = {"list": [{"deep": "it is swordfish9"}], "number": 7, "none": None}
    async with serving(tmp_path / "c", handler):
        answer = json.dumps(await asked(tmp_path / "c", {"say": "swordfish9"}))
        handler.fault = ConsentError("swordfish9")
        refusal = await raw(tmp_path / "c", frame({}))
    assert "swordfish9" not in answer
    assert "swordfish9" not in refusal.decode()
    assert '"number": 7, "none": null' in answer


async def test_an_answer_that_is_too_long_is_an_error(tmp_path: Path) -> None:
    """And not half an answer."""
    handler = Handler()
    handler.answer = {"pad": "a" * MAX_FRAME}
    async with serving(tmp_path / "c", handler):
        with pytest.raises(ControlError, match="over the limit"):
            await asked(tmp_path / "c", {})


async def test_a_place_that_cannot_be_used_ends_nothing(tmp_path: Path) -> None:
    """The gateway serves its chats without it."""
    (tmp_path / "c").write_text("a file")
    server = ControlServer(tmp_path / "c", Watch(frozenset(), MARK), Handler().handle, REDACTOR)
    task = asyncio.create_task(server.run())
    await asyncio.wait([task], timeout=0.01)
    assert not task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_full_table_of_descriptors_is_waited_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The socket is still there when there is room again."""
    monkeypatch.setattr(subject, "PAUSE_SECONDS", 0.0)
    loop = asyncio.get_running_loop()
    accept, failures = loop.sock_accept, iter([OSError(errno.EMFILE, "Too many open files")])

    async def full(listener: socket.socket) -> tuple[socket.socket, object]:
        for failure in failures:
            raise failure
        return await accept(listener)

    monkeypatch.setattr(loop, "sock_accept", full)
    async with serving(tmp_path / "c", Handler()):
        assert await asked(tmp_path / "c", {"say": "next"})


async def test_a_server_that_stops_ends_its_conversations(tmp_path: Path) -> None:
    """Nobody is left waiting."""
    async with serving(tmp_path / "c", Handler()):
        reader, writer = await asyncio.open_unix_connection(tmp_path / "c" / NAME)
        while not reader.at_eof():
            writer.write(b" ")
            await asyncio.sleep(0)
            break
    assert await reader.read() == b""
    writer.close()
