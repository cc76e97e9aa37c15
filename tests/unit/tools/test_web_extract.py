"""The program that turns HTML into text gives what a reader would see."""

import subprocess
import sys
from pathlib import Path

import pytest

from mtbot.tools import web_extract

ARTICLE = """<html><head><title>Pools &amp; disks</title><style>p {color: red}</style></head><body>
<nav><a href="/">Home</a></nav><article><h1>Health</h1>
<p>Three pools are healthy and were scrubbed last night without a single error being found.</p>
<p>Two certificates end within fourteen days, and both of them belong to the git host.</p>
<pre>if (a &lt; b &amp;&amp; c &gt; d)</pre><script>steal()</script></article></body></html>"""


def _run(data: bytes, most: int = 10_000, charset: str = "") -> tuple[int, bytes]:
    done = subprocess.run(
        [sys.executable, "-I", "-B", str(web_extract.__file__), str(most), charset],
        input=data,
        capture_output=True,
        env={},
        check=False,
        timeout=60,
    )
    assert done.stderr == b""
    return done.returncode, done.stdout


def test_the_article_of_a_page_comes_out_with_its_title() -> None:
    """Entities are resolved once, scripts and styles are gone."""
    status, output = _run(ARTICLE.encode())
    text = output.decode()
    assert status == 0
    assert text.startswith("Pools & disks\n\n")
    assert "Three pools are healthy" in text
    assert "if (a < b && c > d)" in text
    assert "steal" not in text
    assert "color" not in text


def test_a_page_without_an_article_still_gives_its_words() -> None:
    """Short pages are what chat-ops looks at most: status pages, listings."""
    assert _run(b"<html><body><b>up</b> since <i>Monday</i></body></html>") == (0, b"up since Monday")


def test_the_charset_of_the_server_counts() -> None:
    """And one that nobody knows is taken for UTF-8."""
    page = "<html><body><p>gr\u00fc\u00dfe</p></body></html>"
    assert _run(page.encode("latin-1"), charset="latin-1") == (0, "gr\u00fc\u00dfe".encode())
    assert _run(page.encode(), charset="x-nobody") == (0, "gr\u00fc\u00dfe".encode())


def test_text_is_cut_between_characters() -> None:
    """The limit counts bytes."""
    assert _run("<p>\u00e9\u00e9\u00e9</p>".encode(), most=5, charset="utf-8") == (0, "\u00e9\u00e9".encode())


@pytest.mark.parametrize("data", [b"<html><script>x</script></html>", b" ", b"<!-- nothing -->"])
def test_a_page_without_text_says_so_by_its_status(data: bytes) -> None:
    """The caller need not guess what an empty output means."""
    assert _run(data) == (web_extract.NOTHING, b"")


def test_a_page_that_nests_without_end_is_survived() -> None:
    """Whatever happens inside, the end is text or a status, within limits."""
    status, output = _run(b"<div>" * 50_000 + b"deep" + b"</div>" * 50_000)
    assert (status, output.strip()) in ((0, b"deep"), (web_extract.NOTHING, b""))


def test_the_program_takes_away_its_own_means() -> None:
    """Memory, time and the right to write files are bounded before a byte is read."""
    code = (
        f"import resource, runpy; m = runpy.run_path({str(Path(web_extract.__file__))!r}); m['limit']();"
        "print([resource.getrlimit(r)[0] for r in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE)])"
    )
    done = subprocess.run([sys.executable, "-I", "-B", "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == str([web_extract.MEMORY, web_extract.SECONDS, 0])


def test_plain_text_keeps_lines_and_drops_what_is_not_shown() -> None:
    """Blocks are lines, runs of blanks are one."""
    html = "<head><title>t</title></head><body><p>a  b<br>c</p><template>no</template><ul><li>d</li></ul></body>"
    assert web_extract.plain_text(html) == "a b\nc\nd"
