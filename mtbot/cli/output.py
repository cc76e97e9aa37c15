"""Tables and JSON for people and programs; nothing that is printed here can drive the terminal."""

import csv
import json
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo

from mtbot.redaction.display import terminal_safe


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows under headings; columns are as wide as their widest cell, the last one is not padded."""
    cells = [[terminal_safe("" if cell is None else str(cell), table=True) for cell in row] for row in rows]
    widths = [max(len(row[index]) for row in ([*headings], *cells)) for index in range(len(headings))]
    for row in ([*headings], *cells):
        padded = [cell.ljust(width) for cell, width in zip(row[:-1], widths[:-1], strict=True)]
        print("  ".join((*padded, row[-1])).rstrip())


def json_out(value: object) -> None:
    """Print ``value`` as JSON in ASCII, so that no character of it means anything to a terminal."""
    json.dump(value, sys.stdout, ensure_ascii=True, indent=2)
    print()


def csv_out(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows as CSV; control characters are escaped, and a cell that a spreadsheet would run is quoted for it."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(headings)
    for row in rows:
        cells = [terminal_safe("" if cell is None else str(cell), table=True) for cell in row]
        writer.writerow([f"'{cell}" if cell.startswith(("=", "+", "@")) else cell for cell in cells])


def text_out(text: str) -> None:
    """Print stored text over several lines."""
    print(terminal_safe(text, table=False))


def moment(at_ms: int | None, zone: tzinfo) -> str:
    """``2026-11-30 19:36:01``; a dash for no moment."""
    return "-" if at_ms is None else datetime.fromtimestamp(at_ms / 1000, zone).strftime("%Y-%m-%d %H:%M:%S")
