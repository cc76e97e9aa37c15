"""Tables: aligned while they fit, records when they don't, and as written when they are no proper table."""

from __future__ import annotations

from mtbot.channels.telegram.render import Entity, EntityType, Part, render
from mtbot.channels.telegram.render_tables import MAX_WIDTH, Align, Grid, aligned, width


def test_columns_are_aligned_by_the_width_that_a_screen_gives_them() -> None:
    """Ideographs take two columns, accents none."""
    grid = Grid((Align.LEFT, Align.RIGHT, Align.CENTER), (("a", "n", "mid"), ("日本", "12", "x"), ("e\u0301", "3", "")))
    assert aligned(grid) == "a    │  n │ mid\n─────┼────┼────\n日本 │ 12 │  x\ne\u0301    │  3 │"


def test_a_table_is_as_wide_as_allowed_and_no_wider() -> None:
    """One column more, and it would wrap in the middle of every line."""
    fits = Grid((Align.LEFT, Align.LEFT), (("a" * (MAX_WIDTH - 4), "b"),))
    assert width((aligned(fits) or "").split("\n")[0]) == MAX_WIDTH
    assert aligned(Grid((Align.LEFT, Align.LEFT), (("a" * (MAX_WIDTH - 3), "b"),))) is None


def test_a_narrow_table_is_one_block_of_fixed_width() -> None:
    """Marks inside cells are dropped, since a block holds no formats."""
    assert render("| a | b |\n|:--|--:|\n| **x** | `12` |\n| | 3 |") == (
        Part("a │  b\n──┼───\nx │ 12\n  │  3", (Entity(EntityType.PRE, 0, 27),)),
    )


def test_a_wide_table_becomes_a_record_for_each_row() -> None:
    """The first cell of a row is its title."""
    long = "w" * 50
    (part,) = render(f"| name | text | |\n|---|---|---|\n| a | {long} | z |\n| b | | |")
    assert part.text == f"name: a\ntext: {long}\nz\n\nname: b\ntext:"
    assert [(entity.type, entity.offset, entity.length) for entity in part.entities] == [
        (EntityType.BOLD, 0, 7),
        (EntityType.BOLD, 68, 7),
    ]


def test_a_table_with_links_becomes_records_so_that_the_links_stay() -> None:
    """A block of fixed width could not hold them."""
    (part,) = render("| n | l |\n|---|---|\n| a | [x](https://h.example) |")
    assert part.text == "n: a\nl: x"
    assert part.entities[1] == Entity(EntityType.TEXT_LINK, 8, 1, url="https://h.example")


def test_a_head_without_rows_is_shown() -> None:
    """Wide or not, a head alone is content."""
    assert render("| " + "a" * 30 + " | " + "b" * 30 + " |\n|---|---|")[0].text == "a" * 30 + "\n" + "b" * 30


def test_a_row_with_more_cells_than_the_head_keeps_them_all() -> None:
    """The parser would drop the last cell; a command with a bare pipe in it looks like this."""
    source = "| a | b |\n|---|---|\n| ps | grep x | 1 |"
    assert render(source) == (Part(source, (Entity(EntityType.PRE, 0, len(source)),)),)
    assert render("> " + source.replace("\n", "\n> "))[0].text.endswith("| ps | grep x | 1 |")


def test_an_escaped_pipe_is_no_further_cell() -> None:
    """It belongs to the cell's text."""
    assert render("| a |\n|---|\n| x \\| y |")[0].text == "a\n─────\nx | y"
