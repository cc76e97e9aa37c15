"""Arguments are read as they are or not at all; what is wrong is one sentence."""

import json

import pytest

from mtbot.gate.arguments import BadArguments, read_arguments, texts_in

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "description": "The command."},
        "depth": {"type": "integer", "minimum": 1, "maximum": 8},
        "ratio": {"type": "number", "minimum": 0.5},
        "force": {"type": "boolean"},
        "mode": {"type": "string", "enum": ["append", "overwrite"]},
        "names": {"type": "array", "items": {"type": "string"}},
        "anything": {"type": "array"},
        "map": {"type": "object"},
    },
    "required": ["command"],
    "additionalProperties": False,
}


def reason(raw: str, schema: dict[str, object] | None = None) -> str:
    """Why these arguments cannot be used."""
    found = read_arguments(raw, SCHEMA if schema is None else schema)
    assert isinstance(found, BadArguments)
    return found.reason


def test_good_arguments_come_through_unchanged() -> None:
    """Every type, with blanks around them."""
    value = {
        "command": "ls  -l\n'ё'",
        "depth": 8,
        "ratio": 0.5,
        "force": False,
        "mode": "append",
        "names": ["a", "b"],
        "anything": [1, None, {}],
        "map": {"x": [1]},
    }
    assert read_arguments(f"\n {json.dumps(value)} ", SCHEMA) == value
    assert read_arguments('{"command": "x", "ratio": 2}', SCHEMA) == {"command": "x", "ratio": 2}


@pytest.mark.parametrize("raw", ["", "  \n", "{}"])
def test_nothing_at_all_is_no_arguments(raw: str) -> None:
    """Some models send an empty text to a tool that needs none."""
    assert read_arguments(raw, {"type": "object", "properties": {}}) == {}
    assert reason(raw) == "missing argument command"


@pytest.mark.parametrize(
    "raw",
    [
        '{"command": "ls',
        '{"command": "rm -rf /tmp/build"',
        "{'command': 'ls'}",
        '{"command": "ls"} and more',
        '{"command": "ls",}',
        '{"command": NaN}',
        '{"command": Infinity}',
        "[" * 100_000,
        '{"command": ' + "9" * 5000 + "}",
    ],
)
def test_what_is_no_json_is_never_mended(raw: str) -> None:
    """A repaired command would be another command."""
    assert reason(raw) == "the arguments are no valid JSON; send the call again with valid JSON"


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ('"ls -l"', "the arguments are a string and not an object; send a JSON object"),
        ("[1]", "the arguments are not a JSON object"),
        ("5", "the arguments are not a JSON object"),
        ("null", "the arguments are not a JSON object"),
        (
            '{"command": "ls", "command": "rm x"}',
            "argument 'command' stands there twice; send the call again with it once",
        ),
        (
            '{"command": "x", "map": {"a": 1, "a": 2}}',
            "argument 'a' stands there twice; send the call again with it once",
        ),
        (
            '{"command": "ls \\udcff"}',
            "the arguments hold half a character (a lone surrogate); send the call again without it",
        ),
        (
            '{"command": "x", "map": {"\\ud800": 1}}',
            "the arguments hold half a character (a lone surrogate); send the call again without it",
        ),
        ('{"command": 5}', "argument command must be of type string, not integer"),
        ('{"command": null}', "argument command must be of type string, not null"),
        ('{"command": 1.5}', "argument command must be of type string, not number"),
        ('{"command": ["ls"]}', "argument command must be of type string, not array"),
        ('{"command": {}}', "argument command must be of type string, not object"),
        ('{"command": true}', "argument command must be of type string, not boolean"),
        ('{"command": "x", "depth": true}', "argument depth must be of type integer, not boolean"),
        ('{"command": "x", "depth": 2.0}', "argument depth must be of type integer, not number"),
        ('{"command": "x", "depth": "2"}', "argument depth must be of type integer, not string"),
        ('{"command": "x", "force": 1}', "argument force must be of type boolean, not integer"),
        ('{"command": "x", "depth": 0}', "argument depth must be at least 1"),
        ('{"command": "x", "depth": 9}', "argument depth must be at most 8"),
        ('{"command": "x", "ratio": 1e999}', "argument ratio must be a number that is finite"),
        ('{"command": "x", "ratio": 0.25}', "argument ratio must be at least 0.5"),
        ('{"command": "x", "mode": "delete"}', "argument mode must be one of append, overwrite"),
        ('{"command": "x", "names": ["a", 2]}', "argument names item 2 must be of type string, not integer"),
        ('{"command": "x", "names": "a"}', "argument names must be of type array, not string"),
        (
            '{"command": "x", "comand": "y"}',
            "unknown argument 'comand' (known: anything, command, depth, force, map, mode, names, ratio)",
        ),
        (
            '{"depth": 0, "force": 1}',
            "missing argument command; argument depth must be at least 1; argument force must be of type boolean, not integer",
        ),
    ],
)
def test_every_fault_is_named(raw: str, words: str) -> None:
    """All at once, so that the model can mend them in one go."""
    assert reason(raw) == words


def test_a_pair_of_surrogates_is_a_character() -> None:
    """That is how JSON writes an emoji."""
    assert read_arguments('{"command": "echo \\ud83d\\ude00"}', SCHEMA) == {"command": "echo \U0001f600"}


def test_too_much_is_not_even_read() -> None:
    """Two million characters."""
    assert reason('{"command": "' + "x" * 2_000_000 + '"}') == "the arguments are too long"
    assert not isinstance(read_arguments('{"command": "' + "x" * 1_000_000 + '"}', SCHEMA), BadArguments)


def test_names_of_any_length_do_not_flood_the_answer() -> None:
    """A mangled call can have a page as a name."""
    name = "x" * 5000
    assert len(reason(json.dumps({"command": "x", name: 1}))) < 200
    assert len(reason(f'{{"{name}": 1, "{name}": 2}}')) < 200


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": []},
        {"properties": {}, "required": "command"},
        {"properties": {}, "anyOf": []},
    ],
)
def test_a_schema_that_is_not_understood_makes_the_tool_unusable(schema: dict[str, object]) -> None:
    """Unchecked would be worse."""
    assert reason("{}", schema) == "this tool's schema cannot be checked, so it cannot be used"


@pytest.mark.parametrize(
    "rule",
    [
        {},
        {"type": "null"},
        {"type": ["string", "null"]},
        {"type": "string", "pattern": "^a"},
        {"type": "array", "items": {"type": "string", "maxLength": 3}},
        {"type": "array", "items": [{"type": "string"}]},
    ],
)
def test_an_argument_with_a_rule_that_is_not_understood_is_refused(rule: dict[str, object]) -> None:
    """A constraint that nobody checks is no constraint."""
    value = ["x"] if rule.get("type") == "array" else "x"
    words = reason(json.dumps({"a": value}), {"properties": {"a": rule}})
    assert words.startswith("argument a ")
    assert words.endswith("has a schema that cannot be checked")


def test_a_tool_without_arguments_says_so() -> None:
    """Instead of an empty list."""
    assert reason('{"a": 1}', {}) == "unknown argument 'a' (known: none)"


def test_a_name_is_masked_before_it_is_shortened() -> None:
    """Half a secret is none that anybody could mask later."""

    def mask(text: str) -> str:
        return text.replace("swordfish9", "***")

    long = "x" * 58 + "swordfish9"
    unknown = read_arguments(json.dumps({"command": "x", long: 1}), SCHEMA, mask)
    twice = read_arguments(f'{{"{long}": 1, "{long}": 2}}', SCHEMA, mask)
    for found in (unknown, twice):
        assert isinstance(found, BadArguments)
        assert f"{'x' * 58}***" in found.reason


def test_every_text_in_arguments_is_found() -> None:
    """At any depth, names too."""
    assert list(texts_in({"a": ["b", {"c": 1, "d": ("e",)}, None]})) == ["a", "b", "c", "d", "e"]
