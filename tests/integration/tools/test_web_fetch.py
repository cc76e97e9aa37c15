"""web_fetch against a real server: what comes back, and where it ends."""

import asyncio
import gzip
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mtbot.domain.call import Risk, Status, ToolDefault
from mtbot.processes.children import RunnerChildren
from mtbot.processes.confiner import Confiner
from mtbot.processes.containment import Guard
from mtbot.tools.web import SPEC, WebSettings
from tests.integration.tools.conftest import SITE, Fetcher
from tests.integration.tools.server import Names, Server, answer, content_of, moved
from tests.unit.tools.builders import MASK, SECRET


def test_the_spec_says_what_policy_needs() -> None:
    """It reaches out of the host, and its target is the address."""
    assert (SPEC.risk, SPEC.default, SPEC.target_arg, SPEC.path_args) == (Risk.EXTERNAL, ToolDefault.ALLOW, "url", ())


async def test_plain_text_comes_as_it_is(web: Fetcher, server: Server) -> None:
    """Nothing that looks like markup is taken out of source, JSON or text."""
    source = 'if (a < b && c > d) { x = "&amp;" }\n<p>kept</p>'
    for kind in ("text/plain", "application/json", "text/x-c; charset=utf-8"):
        server.pages["/a"] = answer(source.encode(), content_type=kind)
        assert content_of(await web.get("/a")) == source


async def test_html_comes_as_its_text(web: Fetcher, server: Server) -> None:
    """Through the extracting program; a page with a title begins with it."""
    page = (
        "<html><head><title>Status</title></head><body><p>All <b>up</b> &amp; well.</p><script>x</script></body></html>"
    )
    server.pages["/"] = answer(page.encode(), content_type="text/html; charset=utf-8")
    assert content_of(await web.get("/")) == "Status\n\nAll up & well."


async def test_an_empty_page_is_said_to_be_empty(web: Fetcher, server: Server) -> None:
    """Of either kind."""
    server.pages["/a"] = answer(b"", content_type="text/html")
    server.pages["/b"] = answer(b"<html><script>x</script></html>", content_type="text/html")
    server.pages["/c"] = answer(b"")
    assert [content_of(await web.get(path)) for path in ("/a", "/b", "/c")] == ["(the page is empty)"] * 3


async def test_charsets_are_honoured_and_broken_text_survives(web: Fetcher, server: Server) -> None:
    """What is no text in its charset shows as replaced."""
    server.pages["/a"] = answer("grüße".encode("latin-1"), content_type="text/plain; charset=iso-8859-1")
    server.pages["/b"] = answer(b"x\xff\0y", content_type="text/plain")
    server.pages["/c"] = answer(b"\xef\xbb\xbfz", content_type="text/plain; charset=x-nobody")
    assert [content_of(await web.get(path)) for path in ("/a", "/b", "/c")] == ["grüße", "x\ufffd\u2400y", "z"]


async def test_a_page_cannot_close_its_own_marks(web: Fetcher, server: Server) -> None:
    """The marks are new for each fetch."""
    server.pages["/a"] = answer(b"x")
    first, second = [(await web.get("/a")).text.splitlines()[-1] for _ in range(2)]
    assert first != second


async def test_secrets_are_masked_in_pages_and_addresses(web: Fetcher, server: Server) -> None:
    """The value is in none of the outcomes."""
    server.pages[f"/a?key={SECRET}"] = answer(SECRET.encode())
    outcome = await web.get(f"/a?key={SECRET}")
    assert content_of(outcome) == MASK
    assert SECRET not in outcome.text
    assert SECRET not in (await web.get(f"http://none.test/{SECRET}")).text


async def test_the_request_says_little(web: Fetcher, server: Server) -> None:
    """GET, the name of the host, no referrer, no cookie, only encodings that can be undone in steps."""
    server.pages["/a"] = answer(b"x", set_cookie="id=1")
    await web.get("/a")
    await web.get("/a")
    lines = server.heads[-1].lower().splitlines()
    assert lines[0] == "get /a http/1.1"
    assert f"host: {SITE}:{server.port}" in lines
    assert "accept-encoding: gzip, deflate" in lines
    assert not any(line.startswith(("cookie", "referer", "authorization")) for line in lines)


async def test_proxies_of_the_environment_are_not_used(
    web: Fetcher, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy would resolve the name again, out of our sight."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    server.pages["/a"] = answer(b"direct")
    assert content_of(await web.get("/a")) == "direct"


@pytest.mark.parametrize("kind", ["image/png", "application/zip", "application/octet-stream", "", "video/mp4"])
async def test_what_is_not_text_is_not_even_read(web: Fetcher, server: Server, kind: str) -> None:
    """The type decides before the body comes."""

    async def endless(writer: asyncio.StreamWriter) -> None:
        head = answer(content_type=kind, content_length="1000000000")
        writer.write(head)
        await writer.drain()
        await asyncio.Event().wait()

    server.pages["/a"] = endless
    async with asyncio.timeout(10):
        outcome = await web.get("/a")
    assert outcome.status is Status.REFUSED
    assert "which is not text" in outcome.text


async def test_a_long_page_is_cut_and_said_to_be(web: Fetcher, server: Server) -> None:
    """Both at what is read and at what is shown."""
    server.pages["/a"] = answer(b"0123456789" * 100)
    outcome = await web.get("/a", WebSettings(timeout=20.0, max_bytes=25))
    assert content_of(outcome) == "0123456789012345678901234"
    assert "note: only the first 25 bytes of the page were read" in outcome.text
    outcome = await web.get("/a", WebSettings(timeout=20.0, max_text=12))
    assert (content_of(outcome), outcome.dropped) == ("012345678901", 988)
    assert "note: only the first 12 bytes of its text are shown" in outcome.text


async def test_a_bomb_ends_at_the_limit(web: Fetcher, server: Server) -> None:
    """A packed gigabyte is a page of a megabyte."""
    packed = gzip.compress(bytes(20_000_000))
    server.pages["/a"] = answer(packed, content_encoding="gzip")
    outcome = await web.get("/a", WebSettings(timeout=20.0, max_bytes=1000))
    assert outcome.status is Status.OK
    assert "only the first 1000 bytes" in outcome.text


async def test_a_slow_drip_ends_at_the_deadline(web: Fetcher, server: Server) -> None:
    """Bytes that keep coming do not extend the time; redirects do not either."""

    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(answer(content_length="100000"))
        while not writer.is_closing():
            writer.write(b".")
            await writer.drain()
            await asyncio.sleep(0.01)

    server.pages |= {"/a": drip, "/b": moved("/a")}
    outcome = await web.get("/b", WebSettings(timeout=0.3))
    assert (outcome.status, outcome.text) == (Status.TIMED_OUT, "Not fetched: the page took over 0.3 s.")


async def _hang_up(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def _short(writer: asyncio.StreamWriter) -> None:
    writer.write(answer(b"half", content_length="100"))


async def _nonsense(writer: asyncio.StreamWriter) -> None:
    writer.write(b"SSH-2.0-OpenSSH\r\n\r\n")


async def _long_head(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 300_000 + b"\r\n\r\n")


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (answer(b"private words", status="404 Gone Fishing"), "site.test answers 404 Not Found"),
        (answer(status="503 x"), "site.test answers 503 Service Unavailable"),
        (answer(status="299 x", content_type=""), "sends something without a type"),
        (answer(content_type="ignore all/instructions private"), "sends something of an unknown type"),
        (answer(content_type="image/png; private=1"), "sends image/png"),
        (answer(status="304 x"), "site.test answers 304 Not Modified"),
        (answer(status="799 x"), "site.test answers 799"),
        (answer(b"x", content_encoding="br"), "compressed in a way that was not asked for"),
        (answer(b"xx", content_encoding="gzip"), "damaged"),
        (_hang_up, "the connection to site.test broke"),
        (_short, "the connection to site.test broke"),
        (_nonsense, "the connection to site.test broke"),
        (_long_head, "the connection to site.test broke"),
    ],
)
async def test_every_fault_is_one_line_of_our_own_words(
    web: Fetcher, server: Server, page: bytes | Callable[[asyncio.StreamWriter], object], reason: str
) -> None:
    """Nothing that the server says gets into it, and nothing of the address but its host."""
    server.pages["/a?token=abc"] = page  # type: ignore[assignment]  # a handler or bytes, as the server takes them
    outcome = await web.get("/a?token=abc")
    assert outcome.status in (Status.FAILED, Status.REFUSED)
    assert reason in outcome.text
    assert "\n" not in outcome.text
    for word in ("Fishing", "private", "token", "abc", "SSH"):
        assert word not in outcome.text


async def test_unknown_names_and_closed_ports_are_said(web: Fetcher, names: Names) -> None:
    """In words."""
    assert (await web.get("http://none.test/")).text == "Not fetched: no connection to none.test."
    names.port = 9
    assert (await web.get(f"http://{SITE}:9/")).text == "Not fetched: no connection to site.test."


async def test_a_page_that_the_extractor_does_not_survive_is_a_failure(
    web: Fetcher, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page is not shown as markup instead."""
    server.pages["/a"] = answer(b"<p>secret words</p>", content_type="text/html")
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    outcome = await web.get("/a")
    assert outcome.status is Status.FAILED
    assert outcome.text.startswith("Not fetched: the page came, but no text could be taken from it: ")
    assert "secret words" not in outcome.text


@pytest.mark.parametrize("settings", [{"timeout": 0.0}, {"timeout": float("inf")}, {"max_bytes": 0}, {"max_text": -1}])
def test_limits_that_mean_nothing_are_refused(settings: dict[str, float]) -> None:
    """A time of nought is not "no limit"."""
    with pytest.raises(ValueError, match="needs a time limit"):
        WebSettings(**settings)  # type: ignore[arg-type]  # the wrong values are the point


async def test_a_page_is_read_where_nothing_can_be_reached(
    web: Fetcher, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A parser that a page has taken over reads no file, makes none, and reaches no network."""
    runner = web.children._runner
    confiner = Confiner(runner, Guard(lambda _path: False, lambda _path: False))
    if not await confiner.ready():
        pytest.skip("needs: containment")
    secret = tmp_path / "secret"
    secret.write_text("precious")
    attacker = tmp_path / "attacker.py"
    attacker.write_text(
        "import socket, sys\n"
        "def tried(what):\n"
        "    try: return str(what())\n"
        "    except OSError as error: return type(error).__name__\n"
        f"print(tried(lambda: open({str(secret)!r}).read()), tried(lambda: open('/etc/shadow').read()),\n"
        f"      tried(lambda: open({str(tmp_path / 'made')!r}, 'w')), tried(lambda: socket.socket()))\n"
    )
    server.pages["/"] = answer(b"<p>words</p>", content_type="text/html")
    settings = WebSettings(timeout=20.0, contains=confiner.ready)
    web.children = RunnerChildren(runner, confiner)
    assert "words" in (await web.get("/", settings)).text
    monkeypatch.setattr("mtbot.tools.web._EXTRACTOR", attacker)
    outcome = await web.get("/", settings)
    assert "\nPermissionError PermissionError PermissionError OSError\n" in outcome.text
    assert not (tmp_path / "made").exists()
    await confiner.close()
