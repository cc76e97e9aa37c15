"""Seeded Markdown documents: from tidy to hostile, with every construct that answers use and many that break parsers."""

from __future__ import annotations

import random
from collections.abc import Callable

SCRAPS = (
    "**", "*", "_", "__", "~~", "`", "``", "```", "~~~", "[", "](", ")", "![", "<", ">", "<b>", "</b>", "<name>", "|", "||",
    "\\", "\\*", "&amp;", "&lt;", "&#10;", "&#x202e;", "&#0;", "&nbsp;", "\n", "\n\n", "  \n", "    ", "\t", " ", "- ", "1. ",
    "# ", "> ", ">> ", "---", "===", "|-|-|", "[x](https://a.example/b)", "[bank.example](https://evil.example/x)",
    "[j](javascript:x)", "[r](../x.md)", "![i](https://i.example/i.png)", "https://h.example/_a_/__b__?q=*c*", "[ ] ", "[x] ",
    "[m](mailto:a@b.example)", "[t](tg://user?id=1)", "[l](http://localhost:1)", "a@b.example", "__init__", "2*3*4",
    "snake_case", "/srv/*/x", "\u200b", "\u200d", "\u0301", "\ufe0f", "\U0001f600", "\U0001f468\u200d\U0001f469",
    "\U0001f1e9\U0001f1ea", "\ud83d", "\ude00", "\x00", "\x1b[0m", "\r\n", "\r", "\u2028", "\u202e", "\ufffc", "\u3000", "\u4e2d\u6587",
    "x" * 40, "lorem ipsum dolor ",
)  # fmt: skip


def document(seed: int) -> str:
    """The document of this seed: the same one on every machine."""
    pick = random.Random(seed)
    blocks = pick.choices((_scraps, _prose, _fence, _items, _quote, _table, _heading), k=pick.randint(1, 4))
    joined = pick.choice(("\n\n", "\n", "")).join(block(pick) for block in blocks)
    return joined * pick.choice((*[1] * 40, 2, 12))


def _scraps(pick: random.Random) -> str:
    return "".join(pick.choices(SCRAPS, k=pick.randint(1, 40)))


def _words(pick: random.Random, most: int) -> str:
    marks = (
        "{}",
        "{}",
        "{}",
        "{}",
        "**{}**",
        "*{}*",
        "`{}`",
        "~~{}~~",
        "***{}***",
        "[{}](https://h.example/p)",
        "_{}_",
    )
    return " ".join(pick.choice(marks).format(_word(pick)) for _ in range(pick.randint(1, most)))


def _word(pick: random.Random) -> str:
    alphabet = pick.choice(("abcdefg", "абвгд", "\u4e2d\u6587\u5b57", "\U0001f600\U0001f1e9\u0301", "a_b*c<&"))
    return "".join(pick.choices(alphabet, k=pick.choice((1, 3, 7, 7, 7, 90))))


def _prose(pick: random.Random) -> str:
    return "\n".join(_words(pick, 16) for _ in range(pick.randint(1, 3)))


def _heading(pick: random.Random) -> str:
    return "#" * pick.randint(1, 6) + " " + _words(pick, 6)


def _fence(pick: random.Random) -> str:
    info = pick.choice(("", "python", "c++", "x" * 90, "sh extra words", "\U0001f600", "&#10;"))
    lines = (
        " " * pick.randint(0, 8) + pick.choice(("", _word(pick), "x" * pick.choice((*[5] * 20, 500, 5000))))
        for _ in range(pick.randint(0, 12))
    )
    return f"```{info}\n" + "\n".join(lines) + pick.choice(("\n```", "\n```", "", "\n~~~"))


def _indented(pick: random.Random, mark: Callable[[], str]) -> str:
    inner = pick.choice((_prose, _prose, _fence, _quote, _table))(pick) if pick.random() < 0.3 else _words(pick, 8)
    first, *rest = (mark() + inner).split("\n")
    return "\n".join([first, *("   " + line for line in rest)])


def _items(pick: random.Random) -> str:
    mark = pick.choice(("- ", "* ", "1. ", "7) ", "- [ ] ", "- [x] "))
    gap = pick.choice(("\n", "\n", "\n\n"))
    return gap.join(_indented(pick, lambda: "  " * pick.randint(0, 3) + mark) for _ in range(pick.randint(1, 7)))


def _quote(pick: random.Random) -> str:
    inner = pick.choice((_prose, _prose, _prose, _fence, _scraps))(pick)
    return "\n".join("> " * pick.randint(1, 3) + line for line in inner.split("\n"))


def _table(pick: random.Random) -> str:
    columns = pick.randint(1, 6)
    tidy = pick.random() < 0.5

    def cell() -> str:
        return _words(pick, 1) if tidy else pick.choice(("", "1", "ab", "\u4e2d", "a b c d e f"))

    rows = ["|".join(cell() for _ in range(columns)) for _ in range(pick.randint(1, 9))]
    rows.insert(1, "|".join(pick.choice(("---", ":-:", "--:")) for _ in range(columns)))
    return "\n".join(f"| {row} |" for row in rows)
