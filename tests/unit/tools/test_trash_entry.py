"""Manifests: what is written is read back, and nothing else is taken for one."""

import json

import pytest

from mtbot.domain.ids import CallId
from mtbot.tools.trash_entry import Entry, Item, Reason

ENTRY = Entry(
    "ABCDEF",
    Reason.OVERWRITTEN,
    CallId("c1"),
    1000,
    2000,
    (
        Item("/srv/ops/ä b.txt", directory=False, mode=0o640, uid=1, gid=2, files=1, size=5, sha256="ab"),
        Item("/srv/ops/old", directory=True, mode=0o755, uid=1, gid=2, files=3, size=70),
    ),
)


def test_a_manifest_is_read_back_as_it_was_written() -> None:
    """Every field, and the sums over the items."""
    assert Entry.from_json("ABCDEF", ENTRY.to_json()) == ENTRY
    assert (ENTRY.files, ENTRY.size, ENTRY.paths) == (4, 75, ("/srv/ops/ä b.txt", "/srv/ops/old"))


@pytest.mark.parametrize(
    "changed",
    [
        {"version": 2},
        {"reason": "deleted"},
        {"items": [{"path": "relative"}]},
        {"items": [{**json.loads(ENTRY.to_json())["items"][0], "path": "old"}]},
        {"items": [{**json.loads(ENTRY.to_json())["items"][0], "size": "5"}]},
        {"items": None},
        {"at_ms": None},
    ],
)
def test_what_is_no_manifest_is_a_fault(changed: dict[str, object]) -> None:
    """A later version, an unknown reason, a path that leads anywhere, fields of another kind."""
    text = json.dumps({**json.loads(ENTRY.to_json()), **changed})
    with pytest.raises(ValueError, match=r"manifest|Reason|int"):
        Entry.from_json("ABCDEF", text)


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_what_is_no_mapping_is_a_fault(text: str) -> None:
    """An empty or cut file."""
    with pytest.raises(ValueError, match=r"manifest|Expecting"):
        Entry.from_json("ABCDEF", text)
