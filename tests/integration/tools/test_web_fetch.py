"""web_fetch against a real server: what comes back, what is never asked for, and where it ends."""

import asyncio
import gzip
import sys
from collections.abc import Callable

import pytest

from mtbot.domain.call import Outcome, Risk, Status, ToolDefault
from mtbot.processes.children import RunnerChildren
from mtbot.tools.web import BANNER, SPEC, WebFetchTool, WebSettings
from mtbot.tools.web_client import Network, resolve_host
from tests.integration.tools.certificates import authority_and_server
from tests.integration.tools.conftest import SITE, Fetcher
from tests.integration.tools.server import Names, Server, answer, running
from tests.unit.tools.builders import MASK, REDACTOR, SECRET, call, nothing, permit


def _content(outcome: Outcome) -> str:
    """What stands between the marks; the banner is above them."""
    assert outcome.status is Status.OK, outcome.text
    assert outcome.tainted
    head, _, rest = outcome.text.partition(f"\n{BANNER}\n<<<")
    assert head.startswith("url: http")
    mark, _, rest = rest.partition("\n")
    body, _, end = rest.rpartition(f"\n{mark}>>>")
    assert (len(mark), end) == (8, "")
    return body


def _moved(to: str, status: str = "302 Found") -> bytes:
    return answer(status=status, location=to)


def test_the_spec_says_what_policy_needs() -> None:
    """It reaches out of the host, and its target is the address."""
    assert (SPEC.risk, SPEC.default, SPEC.target_arg, SPEC.path_args) == (Risk.EXTERNAL, ToolDefault.ALLOW, "url", ())


async def test_plain_text_comes_as_it_is(web: Fetcher, server: Server) -> None:
    """Nothing that looks like markup is taken out of source, JSON or text."""
    source = 'if (a < b && c > d) { x = "&amp;" }\n<p>kept</p>'
    for kind in ("text/plain", "application/json", "text/x-c; charset=utf-8"):
        server.pages["/a"] = answer(source.encode(), content_type=kind)
        assert _content(await web.get("/a")) == source


async def test_html_comes_as_its_text(web: Fetcher, server: Server) -> None:
    """Through the extracting program; a page with a title begins with it."""
    page = (
        "<html><head><title>Status</title></head><body><p>All <b>up</b> &amp; well.</p><script>x</script></body></html>"
    )
    server.pages["/"] = answer(page.encode(), content_type="text/html; charset=utf-8")
    assert _content(await web.get("/")) == "Status\n\nAll up & well."


async def test_an_empty_page_is_said_to_be_empty(web: Fetcher, server: Server) -> None:
    """Of either kind."""
    server.pages["/a"] = answer(b"", content_type="text/html")
    server.pages["/b"] = answer(b"<html><script>x</script></html>", content_type="text/html")
    server.pages["/c"] = answer(b"")
    assert [_content(await web.get(path)) for path in ("/a", "/b", "/c")] == ["(the page is empty)"] * 3


async def test_charsets_are_honoured_and_broken_text_survives(web: Fetcher, server: Server) -> None:
    """What is no text in its charset shows as replaced."""
    server.pages["/a"] = answer("grüße".encode("latin-1"), content_type="text/plain; charset=iso-8859-1")
    server.pages["/b"] = answer(b"x\xff\0y", content_type="text/plain")
    server.pages["/c"] = answer(b"\xef\xbb\xbfz", content_type="text/plain; charset=x-nobody")
    assert [_content(await web.get(path)) for path in ("/a", "/b", "/c")] == ["grüße", "x\ufffd\u2400y", "z"]


async def test_a_page_cannot_close_its_own_marks(web: Fetcher, server: Server) -> None:
    """The marks are new for each fetch."""
    server.pages["/a"] = answer(b"x")
    first, second = [(await web.get("/a")).text.splitlines()[-1] for _ in range(2)]
    assert first != second


async def test_secrets_are_masked_in_pages_and_addresses(web: Fetcher, server: Server) -> None:
    """The value is in none of the outcomes."""
    server.pages[f"/a?key={SECRET}"] = answer(SECRET.encode())
    outcome = await web.get(f"/a?key={SECRET}")
    assert _content(outcome) == MASK
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
    assert _content(await web.get("/a")) == "direct"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{other}/",
        "http://127.1:{other}/",
        "http://2130706433:{other}/",
        "http://0x7f000001:{other}/",
        "http://0177.0.0.1:{other}/",
        "http://[::1]:{other}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "http://[::ffff:7f00:1]:{port}/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://[fe80::1%25lo]/",
        "http://localhost:{other}/",
        "http://169.254.169.254/latest/meta-data/",
        "http://metadata.test/",
        "http://inner.test/",
        "http://mixed.test:{port}/",
        "http://0/",
        "http://127。0。0。1:{other}/",
        "http://①②⑦.⓪.⓪.①/",
        "http://1.2.3.4.5/",
        "http://user:hunter2@site.test:{port}/",
        "http://site.test:{port}\\@inner.test/",
        "http://inner.test\\@site.test:{port}/",
        "file:///etc/passwd",
        "ftp://site.test/",
        "gopher://site.test/",
        "http://",
        "http:///a",
        "http:site.test",
        "//site.test/",
        "site.test",
        "",
        "http://site.test:{port}/\r\nX: y",
        "http://site.test:99999/",
        "http://%31%32%37.0.0.1/",
        "http://site.test%2f@inner.test/",
        "http://" + "a" * 9000,
    ],
)
async def test_what_is_not_public_is_refused_before_anything_is_sent(
    web: Fetcher, server: Server, names: Names, url: str
) -> None:
    """In every notation, and whatever else the answers of a resolver hold."""
    names.table = {**names.table, "localhost": ("127.0.0.1",)}
    outcome = await web.get(url.format(port=server.port, other=1) if "{" in url else url or " ")
    assert outcome.status is Status.REFUSED
    assert outcome.text.startswith("Not fetched: ")
    assert "\n" not in outcome.text
    assert "hunter2" not in outcome.text
    assert (server.asked, outcome.tainted) == ([], False)


async def test_production_refuses_loopback(server: Server, children: RunnerChildren) -> None:
    """Without the seam of the tests, this very server cannot be reached by any of its names."""
    tool = WebFetchTool(WebSettings(), children, REDACTOR)
    for host in ("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"):
        outcome = await tool.perform(call("web_fetch", {"url": f"http://{host}:{server.port}/"}), permit(), nothing)
        assert outcome.status is Status.REFUSED
        assert "only public addresses are fetched from" in outcome.text
    assert server.asked == []


async def test_the_system_resolver_gives_every_address() -> None:
    """As texts that can be judged."""
    assert "127.0.0.1" in await resolve_host("localhost", 80)


async def test_the_address_that_was_judged_is_the_one_that_is_dialled(
    web: Fetcher, server: Server, names: Names
) -> None:
    """A name that changes between two questions is asked only once."""
    names.table = {"rebinds.test": [("127.0.0.1",), ("10.0.0.1",), ("10.0.0.1",)]}
    server.pages["/a"] = answer(b"x")
    assert _content(await web.get(f"http://rebinds.test:{server.port}/a")) == "x"
    assert (names.asked, names.judged) == (["rebinds.test"], ["127.0.0.1"])


async def test_the_next_address_is_dialled_where_the_first_does_not_answer(
    web: Fetcher, server: Server, names: Names
) -> None:
    """All of them were judged before."""
    names.table = {"two.test": ("127.0.0.2", "127.0.0.1"), "three.test": ("127.0.0.1", "127.0.0.2")}
    server.pages["/a"] = answer(b"x")
    assert _content(await web.get(f"http://two.test:{server.port}/a")) == "x"
    assert _content(await web.get(f"http://three.test:{server.port}/a")) == "x"
    assert names.judged == ["127.0.0.2", "127.0.0.1", "127.0.0.1", "127.0.0.2"]


async def test_a_mail_address_in_a_query_is_no_user_name(web: Fetcher, server: Server) -> None:
    """And a blank in a path is written as the server expects it."""
    server.pages |= {"/?q=a@b": answer(b"x"), "/a%20b": answer(b"y")}
    assert _content(await web.get(f"http://site.test:{server.port}?q=a@b")) == "x"
    assert _content(await web.get("/a b")) == "y"


async def test_a_name_that_changes_between_hops_is_judged_again(web: Fetcher, server: Server, names: Names) -> None:
    """Each connection resolves for itself."""
    names.table = {"rebinds.test": [("127.0.0.1",), ("10.0.0.1",)]}
    server.pages["/a"] = _moved("/b")
    outcome = await web.get(f"http://rebinds.test:{server.port}/a")
    assert outcome.status is Status.REFUSED
    assert "rebinds.test leads to 10.0.0.1, which is private" in outcome.text
    assert server.asked == ["/a"]


@pytest.mark.parametrize(
    "target",
    [
        "http://169.254.169.254/latest/",
        "http://inner.test/",
        "http://127.0.0.1:1/",
        "//inner.test/x",
        "http://2130706433:1/",
        "file:///etc/passwd",
        "http://user:pw@site.test/",
        "http://[",
    ],
)
@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Again", "308 Moved"])
async def test_a_redirect_inwards_is_refused(web: Fetcher, server: Server, target: str, status: str) -> None:
    """Every hop is judged like the first."""
    server.pages["/a"] = _moved(target, status)
    outcome = await web.get("/a")
    assert outcome.status is Status.REFUSED
    assert server.asked == ["/a"]


async def test_redirects_are_followed_three_times(web: Fetcher, server: Server) -> None:
    """Relative and absolute ones, to other names as well, and the last address is named."""
    port = server.port
    server.pages |= {
        "/1": _moved("/2"),
        "/2": _moved(f"http://www.site.test:{port}/3"),
        "/3": _moved(f"http://other.test:{port}/4#part"),
        "/4": answer(b"here"),
        "/0": _moved("/1"),
    }
    outcome = await web.get("/1")
    assert _content(outcome) == "here"
    assert outcome.text.startswith(f"url: http://other.test:{port}/4\n")
    assert (await web.get("/0")).text == "Not fetched: other.test redirects more than 3 times."


async def test_a_listed_host_cannot_hand_on_to_a_stranger(web: Fetcher, server: Server) -> None:
    """What a turn with strange text in it may send to a listed host must not go on to anybody."""
    port = server.port
    settings = WebSettings(timeout=20.0, hosts=(SITE,))
    server.pages |= {
        "/out": _moved(f"http://other.test:{port}/x"),
        "/www": _moved(f"http://www.site.test:{port}/x"),
        "/x": answer(b"here"),
    }
    refused = await web.get("/out", settings)
    assert (refused.status, server.asked) == (Status.REFUSED, ["/out"])
    assert "site.test is listed and redirects to other.test, which is not" in refused.text
    assert _content(await web.get("/www", settings)) == "here"
    both = WebSettings(timeout=20.0, hosts=(SITE, "other.test"))
    assert _content(await web.get("/out", both)) == "here"


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
    assert _content(outcome) == "0123456789012345678901234"
    assert "note: only the first 25 bytes of the page were read" in outcome.text
    outcome = await web.get("/a", WebSettings(timeout=20.0, max_text=12))
    assert (_content(outcome), outcome.dropped) == ("012345678901", 988)
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

    server.pages |= {"/a": drip, "/b": _moved("/a")}
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


async def test_a_certificate_for_another_name_is_refused(names: Names, children: RunnerChildren) -> None:
    """Dialling a checked address does not change whom TLS has to prove."""
    trusted, context = authority_and_server("site.test")
    async with running(context) as server:
        server.pages["/a"] = answer(b"proven")
        names.port = server.port
        tool = WebFetchTool(WebSettings(timeout=20.0), children, REDACTOR, names.network, lambda: trusted)
        outcomes = [
            await tool.perform(call("web_fetch", {"url": f"https://{host}:{server.port}/a"}), permit(), nothing)
            for host in ("site.test", "other.test")
        ]
        strict = WebFetchTool(WebSettings(timeout=20.0), children, REDACTOR, names.network)
        unknown = await strict.perform(
            call("web_fetch", {"url": f"https://site.test:{server.port}/a"}), permit(), nothing
        )
    assert _content(outcomes[0]) == "proven"
    told = "cannot prove that it is"
    assert [told in one.text for one in (outcomes[1], unknown)] == [True, True]
    assert server.asked == ["/a"]


@pytest.mark.parametrize("settings", [{"timeout": 0.0}, {"timeout": float("inf")}, {"max_bytes": 0}, {"max_text": -1}])
def test_limits_that_mean_nothing_are_refused(settings: dict[str, float]) -> None:
    """A time of nought is not "no limit"."""
    with pytest.raises(ValueError, match="needs a time limit"):
        WebSettings(**settings)  # type: ignore[arg-type]  # the wrong values are the point


def test_the_network_of_production_is_the_default() -> None:
    """Nobody has to remember to ask for the guard."""
    assert Network().judge.__name__ == "judge_public"
    assert Network().resolve is resolve_host
