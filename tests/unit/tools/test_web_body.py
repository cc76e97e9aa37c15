"""A body is decoded in bounded steps, and only text is read at all."""

import functools
import gzip
import zlib
from collections.abc import AsyncIterator

import httpx
import pytest

from mtbot.tools.web_body import FetchFailed, _Decoder, content_type, is_text, read_body

TEXT = b"hello " * 1000
# Without the hour in its head: test workers that start a second apart must agree on what there is to run.
packed = functools.partial(gzip.compress, mtime=0)
RAW_DEFLATE = zlib.compressobj(wbits=-zlib.MAX_WBITS)
DEFLATED = RAW_DEFLATE.compress(TEXT) + RAW_DEFLATE.flush()


async def _body(data: bytes, encoding: str = "", most: int = 10_000, step: int = 7) -> tuple[bytes, bool]:
    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(data), step):
            yield data[at : at + step]

    headers = {"content-encoding": encoding} if encoding else {}
    return await read_body(httpx.Response(200, headers=headers, content=pieces()), most)


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (TEXT, ""),
        (TEXT, "identity"),
        (packed(TEXT), "gzip"),
        (packed(TEXT), "X-GZip"),
        (packed(TEXT[:100]) + packed(TEXT[100:]), "gzip"),
        (zlib.compress(TEXT), "deflate"),
        (DEFLATED, "deflate"),
    ],
)
@pytest.mark.parametrize("step", [1, 64, 100_000])
async def test_every_encoding_that_is_asked_for_is_undone(data: bytes, encoding: str, step: int) -> None:
    """However the bytes are cut on their way."""
    assert await _body(data, encoding, step=step) == (TEXT, False)


@pytest.mark.parametrize(("data", "encoding"), [(TEXT, ""), (packed(TEXT), "gzip"), (DEFLATED, "deflate")])
async def test_more_than_the_limit_is_cut(data: bytes, encoding: str) -> None:
    """The limit counts decoded bytes."""
    assert await _body(data, encoding, most=100) == (TEXT[:100], True)
    assert await _body(data, encoding, most=len(TEXT)) == (TEXT, False)


async def test_a_bomb_is_never_unpacked() -> None:
    """A gigabyte in a megabyte ends at the limit, after its first pieces."""
    unread = []

    async def pieces() -> AsyncIterator[bytes]:
        pack = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
        for number in range(1000):
            unread.append(number)
            yield pack.compress(bytes(1_000_000))

    response = httpx.Response(200, headers={"content-encoding": "gzip"}, content=pieces())
    assert await read_body(response, 1000) == (bytes(1000), True)
    assert len(unread) < 20


@pytest.mark.parametrize("room", [1, 10, 5999])
def test_a_step_never_gives_more_than_there_is_room_for(room: int) -> None:
    """What is packed stays packed until it is wanted."""
    assert _Decoder("gzip").feed(packed(TEXT), room) == TEXT[:room]


async def test_a_body_that_decodes_to_nothing_has_an_end() -> None:
    """Empty packages in a row, for ever, are cut as well."""
    empty = packed(b"")
    assert await _body(empty * 10_000, "gzip", most=100, step=1000) == (b"", True)


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"no gzip at all", "gzip"),
        (b"\xff\xff\xff no deflate", "deflate"),
        (packed(TEXT)[:-20], "gzip"),
        (packed(TEXT)[:-8] + bytes(8), "gzip"),
        (b"x", "deflate"),
        (TEXT, "br"),
        (TEXT, "gzip, gzip"),
    ],
)
async def test_what_cannot_be_decoded_is_a_failure(data: bytes, encoding: str) -> None:
    """Damaged, broken off, or packed in a way that nobody asked for."""
    with pytest.raises(FetchFailed):
        await _body(data, encoding, step=1000)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("text/html; charset=UTF-8", ("text/html", "utf-8")),
        ("Text/Plain", ("text/plain", "")),
        ('text/html; x=1; charset="iso-8859-1"', ("text/html", "iso-8859-1")),
        ("", ("", "")),
        ("garbage", ("garbage", "")),
    ],
)
def test_the_type_is_read_from_the_header(header: str, expected: tuple[str, str]) -> None:
    """Nothing is guessed where it says nothing."""
    assert content_type(header) == expected


def test_only_text_is_text() -> None:
    """Types that a model can read, with and without a suffix."""
    readable = ("text/html", "text/x-python", "application/json", "application/ld+json", "application/xhtml+xml")
    more = (
        "application/x-sh",
        "application/x-yaml",
        "application/javascript",
        "application/atom+xml",
        "application/toml",
    )
    others = (
        "image/png",
        "application/zip",
        "application/octet-stream",
        "",
        "garbage",
        "image/svg+xml",
        "application/",
    )
    assert [one for one in (*readable, *more, *others) if is_text(one)] == [*readable, *more]
