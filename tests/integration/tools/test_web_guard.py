"""web_fetch never reaches what is not public: by notation, by name, by redirect, by a name that changes."""

import pytest

from mtbot.domain.call import Status
from mtbot.processes.children import RunnerChildren
from mtbot.tools.web import WebFetchTool, WebSettings
from mtbot.tools.web_client import Network, resolve_host
from tests.integration.tools.certificates import authority_and_server
from tests.integration.tools.conftest import SITE, Fetcher
from tests.integration.tools.server import Names, Server, answer, content_of, moved, running
from tests.unit.tools.builders import REDACTOR, call, nothing, permit


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
    assert content_of(await web.get(f"http://rebinds.test:{server.port}/a")) == "x"
    assert (names.asked, names.judged) == (["rebinds.test"], ["127.0.0.1"])


async def test_the_next_address_is_dialled_where_the_first_does_not_answer(
    web: Fetcher, server: Server, names: Names
) -> None:
    """All of them were judged before."""
    names.table = {"two.test": ("127.0.0.2", "127.0.0.1"), "three.test": ("127.0.0.1", "127.0.0.2")}
    server.pages["/a"] = answer(b"x")
    assert content_of(await web.get(f"http://two.test:{server.port}/a")) == "x"
    assert content_of(await web.get(f"http://three.test:{server.port}/a")) == "x"
    assert names.judged == ["127.0.0.2", "127.0.0.1", "127.0.0.1", "127.0.0.2"]


async def test_a_mail_address_in_a_query_is_no_user_name(web: Fetcher, server: Server) -> None:
    """And a blank in a path is written as the server expects it."""
    server.pages |= {"/?q=a@b": answer(b"x"), "/a%20b": answer(b"y")}
    assert content_of(await web.get(f"http://site.test:{server.port}?q=a@b")) == "x"
    assert content_of(await web.get("/a b")) == "y"


async def test_a_name_that_changes_between_hops_is_judged_again(web: Fetcher, server: Server, names: Names) -> None:
    """Each connection resolves for itself."""
    names.table = {"rebinds.test": [("127.0.0.1",), ("10.0.0.1",)]}
    server.pages["/a"] = moved("/b")
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
    server.pages["/a"] = moved(target, status)
    outcome = await web.get("/a")
    assert outcome.status is Status.REFUSED
    assert server.asked == ["/a"]


async def test_redirects_are_followed_three_times(web: Fetcher, server: Server) -> None:
    """Relative and absolute ones, to other names as well, and the last address is named."""
    port = server.port
    server.pages |= {
        "/1": moved("/2"),
        "/2": moved(f"http://www.site.test:{port}/3"),
        "/3": moved(f"http://other.test:{port}/4#part"),
        "/4": answer(b"here"),
        "/0": moved("/1"),
    }
    outcome = await web.get("/1")
    assert content_of(outcome) == "here"
    assert outcome.text.startswith(f"url: http://other.test:{port}/4\n")
    assert (await web.get("/0")).text == "Not fetched: other.test redirects more than 3 times."


async def test_a_listed_host_cannot_hand_on_to_a_stranger(web: Fetcher, server: Server) -> None:
    """What a turn with strange text in it may send to a listed host must not go on to anybody."""
    port = server.port
    settings = WebSettings(timeout=20.0, hosts=(SITE,))
    server.pages |= {
        "/out": moved(f"http://other.test:{port}/x"),
        "/www": moved(f"http://www.site.test:{port}/x"),
        "/x": answer(b"here"),
    }
    refused = await web.get("/out", settings)
    assert (refused.status, server.asked) == (Status.REFUSED, ["/out"])
    assert "site.test is listed and redirects to other.test, which is not" in refused.text
    assert content_of(await web.get("/www", settings)) == "here"
    both = WebSettings(timeout=20.0, hosts=(SITE, "other.test"))
    assert content_of(await web.get("/out", both)) == "here"


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
    assert content_of(outcomes[0]) == "proven"
    told = "cannot prove that it is"
    assert [told in one.text for one in (outcomes[1], unknown)] == [True, True]
    assert server.asked == ["/a"]


def test_the_network_of_production_is_the_default() -> None:
    """Nobody has to remember to ask for the guard."""
    assert Network().judge.__name__ == "judge_public"
    assert Network().resolve is resolve_host
