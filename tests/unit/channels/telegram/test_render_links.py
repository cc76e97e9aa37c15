"""Links: what may be one, and when the true host is shown."""

from __future__ import annotations

import pytest

from mtbot.channels.telegram.render import Entity, EntityType, Part, render
from mtbot.channels.telegram.render_links import MAX_LABEL, MAX_URL, linkable, note_for


@pytest.mark.parametrize(
    ("url", "taken"),
    [
        ("https://h.example/p?q#f", True), ("http://10.0.0.1:8080/", True), ("HTTPS://H.example", True), ("http://[::1]/", True),
        ("tg://user?id=1", True), ("mailto:a@b.example", True), ("https://h.example/" + "p" * (MAX_URL - 18), True),
        ("https://h.example/" + "p" * (MAX_URL - 17), False), ("http://localhost:80", False), ("http://h.:1", False), ("javascript:x", False),
        ("ftp://h.example", False), ("docs/a.md", False), ("//h.example", False), ("#a", False), ("", False), ("mailto:nobody", False),
        ("http://h.example:port/", False), ("http://[::1", False), ("tg://a.b", False), ("https://h.example/a b", False), ("tg:", False),
    ],
)  # fmt: skip
def test_only_addresses_that_the_server_takes_become_links(url: str, taken: bool) -> None:
    """Four schemes, and a host with a dot."""
    assert linkable(url) is taken


@pytest.mark.parametrize(
    ("label", "url", "note"),
    [
        ("here", "https://evil.example/x", None),
        ("https://bank.example", "https://evil.example", "evil.example"),
        ("bank.example/login", "https://evil.example", "evil.example"),
        ("see bank.example", "https://evil.example", "evil.example"),
        ("bank.example", "https://www.bank.example/login", None),
        ("WWW.Bank.Example", "https://bank.example", None),
        ("https://bank.example", "https://bank.example.evil.example", "bank.example.evil.example"),
        ("https://bank.example", "https://bank.example@evil.example/", "evil.example"),
        ("here", "https://bank.example@evil.example/", "evil.example"),
        ("b\u0430nk.example", "https://bank.example", "bank.example"),
        ("bank\uff0eexample", "https://evil.example", "evil.example"),
        ("bank\u3002example", "https://evil.example", "evil.example"),
        ("bank\u200b.exa\u200dmple", "https://evil.example", "evil.example"),
        ("10.0.0.1", "https://10.0.0.2/", "10.0.0.2"),
        ("http://intranet/x", "https://evil.example", "evil.example"),
        ("version 1.2.3", "https://h.example", None),
        ("x" * (MAX_LABEL + 1), "https://h.example", "h.example"),
        ("write me", "mailto:a@b.example", "a@b.example"),
        ("A@b.example", "mailto:a@b.example", None),
        ("t.example", "tg://user?id=1", "tg://user"),
        ("you", "tg://user?id=1", None),
        ("x", "http://[::1", None),
    ],
)
def test_the_true_host_is_noted_when_the_label_looks_like_another_address(
    label: str, url: str, note: str | None
) -> None:
    """A reader decides by what is shown."""
    assert note_for(label, url) == note


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("[t](docs/a.md)", "t (docs/a.md)"),
        ("[t](http://localhost:80)", "t (http://localhost:80)"),
        ("[t](ftp://h.example)", "t (ftp://h.example)"),
        ("[ftp://h.example](ftp://h.example)", "ftp://h.example"),
        ("[t]()", "t"),
        ("[](https://h.example)", "https://h.example"),
        ("[t](javascript:x)", "[t](javascript:x)"),
        ("![alt](https://h.example/i.png)", "alt (https://h.example/i.png)"),
        ("![](https://h.example/i.png)", "https://h.example/i.png"),
        ("![alt]()", "alt"),
    ],
)
def test_what_does_not_become_a_link_keeps_its_address_as_text(markdown: str, shown: str) -> None:
    """Nothing that the model wrote is hidden or lost."""
    assert render(markdown) == (Part(shown),)


def test_the_note_stands_behind_the_link_and_is_not_part_of_it() -> None:
    """Otherwise it would be one more label."""
    link = Entity(EntityType.TEXT_LINK, 0, 20, url="https://evil.example/a")
    assert render("[https://bank.example](https://evil.example/a)!") == (
        Part("https://bank.example (evil.example)!", (link,)),
    )


def test_styles_around_a_link_go_on_inside_it_and_code_in_it_is_text() -> None:
    """The server would split them so, and code can't link."""
    url = "https://h.example"
    assert render(f"**a [b `c`]({url}) d**") == (
        Part(
            "a b c d",
            (
                Entity(EntityType.BOLD, 0, 1),
                Entity(EntityType.TEXT_LINK, 2, 3, url=url),
                Entity(EntityType.BOLD, 2, 3),
                Entity(EntityType.BOLD, 6, 1),
            ),
        ),
    )
