"""What a text says about names."""

import pytest

from mtbot.policy import treesitter_reading
from mtbot.policy.names import MAX_VALUES, Context, Names
from mtbot.policy.reading_values import UNKNOWN, RawReading, SimpleCommand, Word
from mtbot.policy.unwrap_code import InnerText


def _names(text: str) -> Names:
    reading = treesitter_reading.read(text)
    assert isinstance(reading, RawReading)
    return Names(text, reading, Context())


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("x=rm", "x", ("rm",)),
        ("x=r; x+=m", "x", ("r", "rm")),
        ("x=ls; x=rm", "x", ("ls", "rm")),
        ("x=r; y=${x}m", "y", ("rm",)),
        ("export x=rm", "x", ("rm",)),
        ("declare -x x=rm", "x", ("rm",)),
        ("x=(rm -rf 'a')", "x", ("rm -rf a",)),
        ("for x in ls rm; do :; done", "x", ("ls", "rm")),
        ("read x y <<< 'rm -rf z'", "y", ("-rf z",)),
        ("printf -v x r%s m", "x", ("rm",)),
        ("set -- rm -rf", "1", ("rm",)),
        ("set -- rm -rf", "@", ("rm -rf",)),
        ("f() { :; }; f rm -rf", "@", ("rm -rf",)),
        (": ${x:=rm}", "x", ("rm",)),
        ("x=$(date)", "x", (UNKNOWN,)),
        ("x=$(echo rm)", "x", ("rm",)),
        ("ls", "HOME", ("~",)),
    ],
)
def test_a_name_has_every_value_that_the_text_gives_it(text: str, name: str, expected: tuple[str, ...]) -> None:
    """Whatever gives it: an assignment, a loop, a builtin, a call."""
    assert dict(_names(text).environment())[name] == expected


def test_every_combination_of_values_is_tried() -> None:
    """Flow-insensitive: what could run is asked, not what will."""
    names = _names("a=ls; a=rm; b=-l; b=-rf")
    tried = [
        [word.text for word in expander.words(["$a", "$b"][0]) + expander.words("$b")]
        for expander in names.expanders("$a $b")
    ]
    assert tried == [["ls", "-l"], ["ls", "-rf"], ["rm", "-l"], ["rm", "-rf"]]


def test_combinations_and_values_are_bounded() -> None:
    """Each is work for every command that mentions the names."""
    names = _names("; ".join(f"{name}={value}" for name in "abcdef" for value in range(20)))
    assert len(list(names.expanders("$a$b$c$d$e$f"))) == 16
    assert len(dict(names.environment())["a"]) == 8


@pytest.mark.parametrize(
    ("text", "aliases"), [("alias", {}), ("alias x", {}), ("alias x y=rm z='ls -l'", {"y": "rm", "z": "ls -l"})]
)
def test_an_alias_that_is_only_shown_is_none(text: str, aliases: dict[str, str]) -> None:
    """A word without a value asks what it stands for."""
    assert _names(text).aliases == aliases


def test_aliases_and_functions_are_known() -> None:
    """Both make a new command word."""
    names = _names("alias ls='rm -rf' x=y; f() { :; }")
    assert names.aliases == {"ls": "rm -rf", "x": "y"}
    assert list(names.functions) == ["f"]


def test_an_inner_text_inherits_names_input_and_its_own_parameters() -> None:
    """`sh -c TEXT a b` gives TEXT its positional parameters."""
    command = SimpleCommand(
        (Word("sh"),), (), (("A", Word("b")),), 2, ("sudo",), frozenset({"curl"}), frozenset({"wget"})
    )
    context = Context().inner(command, InnerText(Word("x"), "sh -c", ("zero", "one", "two")))
    environment = dict(context.environment)
    assert (context.depth, context.via, context.stdin_from, context.words_from) == (
        3, ("sudo", "sh -c"), frozenset({"curl"}), frozenset({"wget"}),
    )  # fmt: skip
    assert (environment["0"], environment["1"], environment["@"], environment["A"]) == (
        ("zero",), ("one",), ("one two",), ("b",),
    )  # fmt: skip


def test_assignments_inside_assignments_are_learnt_up_to_a_bound() -> None:
    """A name past the bound has no value, and a word without a value is unknown."""
    text = "a1=$(" * 60 + "x=rm" + ")" * 60 + "; last=rm"
    assert "last" not in dict(_names(text).environment())


def test_of_too_many_values_the_last_one_is_kept() -> None:
    """It is what the name holds in the end."""
    text = "; ".join(f"x=a{number}" for number in range(MAX_VALUES + 4)) + "; x=rm"
    assert dict(_names(text).environment())["x"] == (*(f"a{number}" for number in range(MAX_VALUES - 1)), "rm")


@pytest.mark.parametrize(
    ("text", "aliases"),
    [
        ("cp /bin/rm d/x", {"x": "/bin/rm"}),
        ("ln -s /usr/bin/rm ./x", {"x": "/usr/bin/rm"}),
        ("hash -p /bin/rm x y", {"x": "/bin/rm", "y": "/bin/rm"}),
        ("cp /bin/rm .", {}),
        ("cp /bin/rm d/", {}),
        ("cp /bin/rm ..", {}),
        ("cp rm x", {}),
    ],
)
def test_a_copy_of_a_program_is_known_by_its_new_name(text: str, aliases: dict[str, str]) -> None:
    """A directory gives it no new name."""
    assert _names(text).aliases == aliases


@pytest.mark.parametrize(
    ("text", "values"), [("read x < f", None), ("read x <<< rm > f", ("rm",)), ("read -r x y <<< 'rm z' 2> f", ("rm",))]
)
def test_only_a_here_string_gives_read_a_constant(text: str, values: tuple[str, ...] | None) -> None:
    """Its other redirects hold no value."""
    assert dict(_names(text).environment()).get("x") == values
