"""Long tables of plain names, written as running text so that a reader sees the whole table at once."""


def words(text: str) -> frozenset[str]:
    """The blank-separated words of `text` as a set."""
    return frozenset(text.split())
