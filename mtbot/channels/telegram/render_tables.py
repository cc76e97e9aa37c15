"""Tables for a screen that has none: aligned columns when they fit a phone, otherwise one record a row.

Telegram knows no tables. A fixed-width block keeps a narrow one readable; a wide one would wrap in the middle of
every line, so its rows become `header: value` lines.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from enum import Enum

__all__ = ["MAX_WIDTH", "Align", "Grid", "aligned", "width"]

MAX_WIDTH = 48
"""Widest aligned table, in columns of a fixed-width font."""


class Align(Enum):
    """Where a cell's text stands in its column."""

    LEFT = "left"
    RIGHT = "right"
    CENTER = "center"


@dataclass(frozen=True, slots=True)
class Grid:
    """A table as plain text: the first row is the head, all rows have as many cells as `aligns`."""

    aligns: tuple[Align, ...]
    rows: tuple[tuple[str, ...], ...]


def width(text: str) -> int:
    """Columns that a text takes in a fixed-width font."""
    columns = 0
    for char in text:
        if unicodedata.combining(char) or unicodedata.category(char) in {"Cf", "Mn", "Me"}:
            continue
        columns += 2 if unicodedata.east_asian_width(char) in "WF" else 1
    return columns


def aligned(grid: Grid) -> str | None:
    """The table as lines of equal columns with a rule below the head; None when it is wider than MAX_WIDTH."""
    columns = [max(1, *(width(row[index]) for row in grid.rows)) for index in range(len(grid.aligns))]
    if sum(columns) + 3 * (len(columns) - 1) > MAX_WIDTH:
        return None
    lines = [
        " │ ".join(
            _pad(cell, size, align) for cell, size, align in zip(row, columns, grid.aligns, strict=True)
        ).rstrip()
        for row in grid.rows
    ]
    lines.insert(1, "─┼─".join("─" * size for size in columns))
    return "\n".join(lines)


def _pad(cell: str, size: int, align: Align) -> str:
    missing = size - width(cell)
    before = {Align.LEFT: 0, Align.RIGHT: missing, Align.CENTER: missing // 2}[align]
    return " " * before + cell + " " * (missing - before)
