"""YAML to a tree: words stay words, every value knows its line, and faults are found and not guessed away."""

import pytest
import yaml

from mtbot.config.problems import Place
from mtbot.config.yaml_marks import MAX_DEPTH, MAX_NODES, Leaf, Table, find, parse, plain


def messages(text: str) -> list[str]:
    """What is wrong with the text."""
    return [problem.render("f") for problem in parse(text)[1]]


def value(text: str) -> object:
    """What a plain word means."""
    tree, problems = parse(f"a: {text}")
    assert tree is not None
    assert problems == []
    leaf = tree.get("a")
    assert isinstance(leaf, Leaf)
    return leaf.value


@pytest.mark.parametrize(
    "word", ["off", "on", "yes", "no", "True", "FALSE", "y", "n", "0x1f", "010", "1_000", "1:30", "2024-01-01", "1e"]
)
def test_words_that_other_readers_turn_into_something_else_stay_words(word: str) -> None:
    """``mode: off`` is the word off, and an id with a leading zero is no octal number."""
    assert value(word) == word


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("true", True),
        ("false", False),
        ("12", 12),
        ("-1001112223334", -1001112223334),
        ("+3", 3),
        ("0", 0),
        ("1.5", 1.5),
        ("1e9", 1e9),
        ("'true'", "true"),
        ('"12"', "12"),
        ("~", None),
        ("null", None),
        ("", None),
    ],
)
def test_what_a_word_means(word: str, expected: object) -> None:
    """Two booleans, decimal numbers, and quotes that make text of everything."""
    found = value(word)
    assert found == expected
    assert type(found) is type(expected)


def test_values_and_keys_know_where_they_stand() -> None:
    """Line and column count from 1; ``find`` gives the place of the deepest thing that was written."""
    tree, _ = parse("a:\n  - b: 1\n    c: 2\n")
    assert tree is not None
    assert find(tree, ("a", 0, "c")) == (Place(3, 8), ("a", 0, "c"))
    assert find(tree, ("a", 0, "c"), at_key=True) == (Place(3, 5), ("a", 0, "c"))
    assert find(tree, ("a", 0, "d", "e")) == (Place(2, 5), ("a", 0, "d", "e"))
    assert find(tree, ("a", 5)) == (Place(2, 3), ("a",))
    assert plain(tree) == {"a": [{"b": 1, "c": 2}]}


def test_a_key_given_twice_is_a_fault_at_the_second_and_the_first_value_stays() -> None:
    """The last of two equal keys must not win in silence; quotes make no difference."""
    tree, problems = parse('a: 1\nb: {x: 1, "x": 2}\n"a": 2\n')
    assert tree is not None
    assert [problem.render("f") for problem in problems] == [
        "f:2:11: b.x: is given twice, first at line 2",
        "f:3:1: a: is given twice, first at line 1",
    ]
    assert plain(tree) == {"a": 1, "b": {"x": 1}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["f:1:1: the file is empty"]),
        ("# only a comment\n", ["f:1:1: the file is empty"]),
        ("---\n", ["f:2:1: the file is empty"]),
        ("~", ["f:1:1: the file is empty"]),
        ("- 1", ["f:1:1: the file must hold a mapping of keys"]),
        ("word", ["f:1:1: the file must hold a mapping of keys"]),
        ("a: 1\n---\nb: 2\n", ["f:3:1: a second YAML document; one file holds one configuration"]),
        (
            "a: !!python/object:os.system x",
            ["f:1:4: a: tags such as !!python/object:os.system are not understood here"],
        ),
        ("a: !secret x", ["f:1:4: a: tags such as !secret are not understood here"]),
        ("[1, 2]: x", ["f:1:1: a key must be a single word or number"]),
        ("a: &x [*x]", ["f:1:4: a[0]: an alias that contains itself"]),
        ("a: *b", ["f:1:4: not YAML: found undefined alias"]),
        ("a: 1\nb: \x01\n", ["f:2:4: not YAML: a character that YAML does not permit"]),
    ],
)
def test_what_is_no_configuration(text: str, expected: list[str]) -> None:
    """Each with the place where it shows."""
    assert messages(text) == expected


def test_broken_yaml_says_what_the_parser_saw_and_where() -> None:
    """The one fault that hides all others, because nothing after it can be read."""
    assert messages("a: [1\nb: 2\n") == [
        "f:2:2: not YAML: while parsing a flow sequence did not find expected ',' or ']'"
    ]


def test_deep_nesting_and_multiplied_aliases_end_in_a_fault() -> None:
    """Neither a stack nor the memory is used up by a small file."""
    assert "nest" in messages("a: " + "[" * 5000)[0]
    assert messages("a: " + "[" * 500 + "]" * 500) == [f"f:1:{MAX_DEPTH + 4}: a: nested too deep"]
    assert messages("a: " + "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1)) == []
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    tree, problems = parse("\n".join(lines))
    assert tree is None
    assert problems[0].message == f"more than {MAX_NODES} values, aliases counted as often as they are used"


def test_an_alias_is_the_value_that_it_stands_for() -> None:
    """Aliases are ordinary YAML and work."""
    tree, problems = parse("a: &x {b: 1}\nc: *x\n")
    assert isinstance(tree, Table)
    assert (plain(tree), problems) == ({"a": {"b": 1}, "c": {"b": 1}}, [])


def test_without_libyaml_the_meaning_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML may be built without its C part; positions, words and limits hold all the same."""
    monkeypatch.delattr(yaml, "CBaseLoader")
    tree, problems = parse("a: off\nb: [1, '1']\n")
    assert tree is not None
    assert (plain(tree), problems, find(tree, ("b", 1))) == ({"a": "off", "b": [1, "1"]}, [], (Place(2, 8), ("b", 1)))
    assert messages("a: " + "[" * 5000) == ["f:1:1: nested too deep"]
    assert messages("a: 1\nb: \x01\n") == ["f:2:4: not YAML: a character that YAML does not permit"]
