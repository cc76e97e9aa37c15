"""Read the body of a web page, if it is text at all, and never more of it than is wanted.

A few kilobytes can be packed so that they fill a gigabyte, so decompression is bounded step by step.
"""

import re
import zlib
from dataclasses import dataclass
from email.message import Message

import httpx

_TEXTUAL = ("json", "xml", "javascript", "ecmascript", "yaml", "toml", "sql", "graphql", "x-sh", "x-httpd-php", "rtf")
_TYPE = re.compile(r"[a-z]{1,20}/[a-z0-9.+_-]{1,80}\Z")
_FRAMED = zlib.MAX_WBITS | 32
"""gzip or zlib, whichever the first bytes say."""


class FetchRefused(Exception):
    """The page will not be fetched; the text is one sentence for the model, without the query of any address."""


class FetchFailed(Exception):
    """The page could not be fetched; the text is one sentence for the model."""


@dataclass(frozen=True, slots=True)
class Page:
    """What came: where from in the end, of which type, and the body, decoded from its transfer but not from its charset.

    ``cut``: there was more than the limit.
    """

    url: str
    media_type: str
    charset: str
    body: bytes
    cut: bool


def content_type(header: str) -> tuple[str, str]:
    """The media type and the charset, both in lower case, either of them empty if it is not said."""
    message = Message()
    message["content-type"] = header.replace("\r", " ").replace("\n", " ")
    media_type = header.partition(";")[0].strip().lower()
    return media_type, str(message.get_content_charset() or "")


def is_text(media_type: str) -> bool:
    """Whether a body of that type is text that a model can read."""
    kind, _, name = media_type.partition("/")
    if kind == "text":
        return True
    return kind == "application" and any(part in _TEXTUAL for part in (name, name.removeprefix("x-"), *name.split("+")))


def named_type(media_type: str) -> str:
    """A media type for people; whatever else a server writes there is not repeated."""
    if not media_type:
        return "something without a type"
    return media_type if _TYPE.match(media_type) else "something of an unknown type"


async def read_body(response: httpx.Response, most: int) -> tuple[bytes, bool]:
    """At most ``most`` bytes of the body after decoding, and whether there was more; never more than that in memory."""
    decoder = _Decoder(response.headers.get("content-encoding", "").strip().lower())
    body, came = bytearray(), 0
    async for piece in response.aiter_raw():
        came += len(piece)
        body += decoder.feed(piece, most + 1 - len(body))
        if len(body) > most or came > 2 * most + 65_536:
            return bytes(body[:most]), True
    decoder.end()
    return bytes(body), False


class _Decoder:
    """Undoes gzip and deflate a bounded step at a time."""

    def __init__(self, encoding: str) -> None:
        if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise FetchFailed("the page is compressed in a way that was not asked for")
        self._plain = encoding in ("", "identity")
        self._unsure = encoding == "deflate"
        self._head = b""
        self._inflate = zlib.decompressobj(_FRAMED)

    def feed(self, data: bytes, room: int) -> bytes:
        """What ``data`` adds, at most ``room`` bytes."""
        if self._plain:
            return data[:room]
        if self._unsure:
            data = self._head = self._head + data
            if len(data) < 2:
                return b""
            self._unsure = False
            if data[0] & 0x0F != zlib.DEFLATED or int.from_bytes(data[:2]) % 31:
                self._inflate = zlib.decompressobj(
                    -zlib.MAX_WBITS
                )  # without the frame of zlib, as some servers send it
        self._head = self._head or data[:1]
        out = bytearray()
        while data and len(out) < room:
            try:
                out += self._inflate.decompress(data, room - len(out))
            except zlib.error:
                raise FetchFailed("the page is damaged: its compression cannot be undone") from None
            data = self._inflate.unconsumed_tail or self._inflate.unused_data
            if self._inflate.eof and data:
                self._inflate = zlib.decompressobj(_FRAMED)  # packages may follow each other
        return bytes(out)

    def end(self) -> None:
        """FetchFailed if the compressed text broke off."""
        if not self._plain and self._head and not self._inflate.eof:
            raise FetchFailed("the page broke off before its end")
