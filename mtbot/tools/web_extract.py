"""A program of its own: HTML on standard input, the text of the page on standard output, in little memory and time.

A page from anywhere goes through a large parser here, so the process limits itself before it reads a byte, and holds no
secret. It imports nothing of mtbot. Arguments: how many bytes of text to give, and the charset that the server named
(or nothing). Exit status 3: there is no text in it, or it could not be parsed.
"""

import os
import re
import resource
import sys
from html.parser import HTMLParser

MEMORY = 1024 * 1024 * 1024
SECONDS = 20
NOTHING = 3
_TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)
_SILENT = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object", "head"})


def limit() -> None:
    """Take away what a parser does not need: memory, time, new files; and the error output, which is nobody's text."""
    for what, most in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_CPU, SECONDS),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (bound, bound))
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 2)
    os.close(silence)


class _Plain(HTMLParser):
    """Every visible text in order: what is left to do when a page has no article in it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._silent: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        del attrs
        if tag in _SILENT:
            self._silent.append(tag)
        elif tag in ("br", "p", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "body"):
            if tag == "body":
                self._silent.clear()
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._silent:
            del self._silent[self._silent.index(tag) :]

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.pieces.append(data)


def plain_text(html: str) -> str:
    """All visible text, with the runs of blanks that markup leaves taken out."""
    parser = _Plain()
    parser.feed(html)
    parser.close()
    lines = (" ".join(line.split()) for line in "".join(parser.pieces).split("\n"))
    return "\n".join(line for line in lines if line)


def main_text(html: str | bytes) -> str:
    """The article of a page as trafilatura finds it; empty if there is none or the parser gave up."""
    import trafilatura  # noqa: PLC0415 - a heavy import, which must come after the limits

    try:
        return trafilatura.extract(html, include_comments=False, include_tables=True, favor_recall=True) or ""
    except Exception:  # noqa: BLE001 - whatever a strange page does to the parser, the plain way is still there
        return ""


def decoded(data: bytes, charset: str) -> str:
    """The page as text; a charset that nobody knows is taken for UTF-8."""
    try:
        return data.decode(charset or "utf-8", "replace")
    except (LookupError, UnicodeError):
        return data.decode("utf-8", "replace")


def main(arguments: list[str]) -> int:
    """Read, extract, write."""
    limit()
    most, charset = int(arguments[0]), arguments[1] if len(arguments) > 1 else ""
    data = sys.stdin.buffer.read()
    html = decoded(data, charset)
    text = main_text(html if charset else data) or plain_text(html)
    if not text.strip():
        return NOTHING
    title = _TITLE.search(html)
    if title:
        name = " ".join(plain_text(title.group(1)).split())
        text = f"{name}\n\n{text}" if name and not text.startswith(name) else text
    encoded = text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore").encode()
    sys.stdout.buffer.write(encoded)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
