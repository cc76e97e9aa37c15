"""Lists in arguments: each item is checked, and how many there are."""

import json

import pytest

from mtbot.gate.arguments import BadArguments, read_arguments

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"paths": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2}},
}


@pytest.mark.parametrize(
    ("paths", "fault"),
    [
        ([], "must have at least 1 item"),
        (["a", "b", "c"], "must have at most 2 items"),
        (["a", 1], "item 2 must be of type string, not integer"),
        ("a", "must be of type array, not string"),
    ],
)
def test_a_list_that_is_not_as_it_should_be_is_named(paths: object, fault: str) -> None:
    """The model is told what to mend."""
    assert read_arguments(json.dumps({"paths": paths}), SCHEMA) == BadArguments(f"argument paths {fault}")


@pytest.mark.parametrize("paths", [["a"], ["a", "b"]])
def test_a_good_list_comes_through(paths: list[str]) -> None:
    """In its order."""
    assert read_arguments(json.dumps({"paths": paths}), SCHEMA) == {"paths": paths}
