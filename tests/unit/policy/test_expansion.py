"""A word's source to the words that bash passes."""

import pytest

from mtbot.policy.expansion import MAX_FIELDS, Expander, Inner, inner_programs, transformed
from mtbot.policy.reading_values import UNKNOWN, Word

VALUES = {"r": "rm", "two": "a b", "HOME": "~", "IFS": " \t\n", "name": "r", "list": "x y z", "none": "", "@": "p q"}


def _texts(source: str) -> list[str]:
    return [
        word.text for word in Expander(VALUES, lambda inside: "out put" if inside == "known" else None).words(source)
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("plain", ["plain"]),
        ("'-del''ete'", ["-delete"]),
        ("r''m", ["rm"]),
        ("r\\m", ["rm"]),
        ("r\\\nm", ["rm"]),
        ('"a b"c', ["a bc"]),
        ('"a\\b\\"c"', ['a\\b"c']),
        ("'a\\b'", ["a\\b"]),
        ("$'\\x72m'", ["rm"]),
        ('$"rm"', ["rm"]),
        ("''", [""]),
        ("$none", []),
        ('"$none"', [""]),
        ("$r", ["rm"]),
        ("${r}x", ["rmx"]),
        ("$two", ["a", "b"]),
        ('"$two"', ["a b"]),
        ("x${two}y", ["xa", "by"]),
        ("rm$IFS-rf${IFS}/", ["rm", "-rf", "/"]),
        ("rm${IFS:0:1}-rf", ["rm", "-rf"]),
        ('"$@"', ["p", "q"]),
        ('"${list[@]}"', ["x", "y", "z"]),
        ("${list[1]}", ["y"]),
        ("${list[9]}", [UNKNOWN]),
        ("${!name}", ["rm"]),
        ("${zzz:-d e}", ["d", "e"]),
        ("${none:-d}", ["d"]),
        ("${none-d}", []),
        ("${r:+d}", ["d"]),
        ("${r:?no}", ["rm"]),
        ("$9", []),
        ("$zzz", [UNKNOWN]),
        ("a$zzz", [f"a{UNKNOWN}"]),
        ("$(known)", ["out", "put"]),
        ('"$(known)"', ["out put"]),
        ("`known`", ["out", "put"]),
        ("$(other)", [UNKNOWN]),
        ("$((1+1))", [UNKNOWN]),
        ("$[1+1]", [UNKNOWN]),
        ("<(other)", [UNKNOWN]),
        ("{a,b}$r", ["arm", "brm"]),
        ("$", ["$"]),
        ("a$", ["a$"]),
        ("'open", ["open"]),
        ("${open", [UNKNOWN]),
    ],
)
def test_a_source_becomes_the_words_that_bash_passes(source: str, expected: list[str]) -> None:
    """Quotes join, values split, what only the running shell knows is marked."""
    assert _texts(source) == expected


def test_unknown_pieces_and_globs_are_flagged() -> None:
    """A dynamic command word asks; a glob may become any file's name."""
    expander = Expander({}, lambda _: None)
    assert expander.words("a$x") == [Word(f"a{UNKNOWN}", dynamic=True)]
    assert expander.words("/bin/r?") == [Word("/bin/r?", glob=True)]
    assert expander.words("'/bin/r?'") == [Word("/bin/r?")]


@pytest.mark.parametrize("source", ["${}", "${ x}", "${%x}", "${&}", "${"])
def test_what_is_no_parameter_is_unknown(source: str) -> None:
    """bash calls it a bad substitution; nothing is made up for it."""
    assert Expander(VALUES, lambda _: None).words(source) == [Word(UNKNOWN, dynamic=True)]


def test_a_value_is_one_word() -> None:
    """Assignments and redirect targets are neither split nor brace-expanded."""
    expander = Expander(VALUES, lambda _: None)
    assert expander.value("$two{a,b}") == Word("a b{a,b}")
    assert expander.value("") == Word("")


def test_a_here_document_keeps_its_quotes_and_expands() -> None:
    """Inside a body a double quote is an ordinary character."""
    assert Expander(VALUES, lambda _: None).body("say \"$r\" '\\$x'\n") == Word("say \"rm\" '$x'\n")


def test_endless_defaults_are_not_followed_for_ever() -> None:
    """Each level is a level of recursion."""
    assert _texts("${a:-" * 5000) == [UNKNOWN]


@pytest.mark.parametrize(
    ("value", "operation", "expected"),
    [
        ("RM", ",,", "rm"),
        ("RM", ",", "rM"),
        ("rm", "^^", "RM"),
        ("rm", "^", "Rm"),
        ("armx", ":1:2", "rm"),
        ("xrm", ":1", "rm"),
        ("rxm", "/x/", "rm"),
        ("rxxm", "//x", "rm"),
        ("rym", "/y/x", "rxm"),
        ("xrm", "#x", "rm"),
        ("rmx", "%x", "rm"),
        ("xxrm", "##??", "rm"),
        ("rmx", "%?", "rm"),
        ("rm", "#*x", None),
        ("rm", "@P", None),
    ],
)
def test_operations_with_a_fixed_result_are_done(value: str, operation: str, expected: str | None) -> None:
    """`${a#x}` and its like are spellings of a constant when the value is one."""
    assert transformed(value, operation) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a$(b c)d", [Inner("$(", "b c", 3)]),
        ('"$(b)"', [Inner("$(", "b", 3)]),
        ("'$(b)'", []),
        ("\\$(b)", []),
        ("`b`", [Inner("`", "b", 1)]),
        ("`b \\`c\\``", [Inner("`", "b `c`", 1)]),
        ("<(b)>(c)", [Inner("<(", "b", 2), Inner(">(", "c", 6)]),
        ('"<(b)"', []),
        ("${x:-$(b)}", [Inner("$(", "b", 7)]),
        ("$(( $(b) ))", [Inner("$(", "b", 6)]),
        ("$((b) | c)", [Inner("$(", "(b) | c", 2)]),
        ("$'$(b)'", []),
        ("$(b", [Inner("$(", "b", 2)]),
    ],
)
def test_programs_inside_a_word_are_found(source: str, expected: list[Inner]) -> None:
    """Wherever bash would run one, and nowhere else."""
    assert list(inner_programs(source)) == expected


def test_single_quotes_protect_nothing_in_a_here_document() -> None:
    """The body of an unquoted here-document expands between any quotes."""
    assert list(inner_programs("'$(b)' \"`c`\"", here=True)) == [Inner("$(", "b", 3), Inner("`", "c", 9)]


def test_words_past_the_bound_are_one_unknown_word() -> None:
    """They may be the program, so they cannot just be left out."""
    words = Expander({"many": "a " * (MAX_FIELDS + 1)}, lambda _: None).words("{$many,rm,-rf}")
    assert words[-1] == Word(UNKNOWN, dynamic=True)
    assert [word.text for word in words[:-1]] == ["a"] * (MAX_FIELDS + 1)


def test_a_value_that_is_split_may_be_a_pattern() -> None:
    """An unquoted value is matched against the files that are there, a quoted one is not."""
    expander = Expander({"any": "r? *"}, lambda _: None)
    assert expander.words("$any") == [Word("r?", glob=True), Word("*", glob=True)]
    assert expander.words('"$any"') == [Word("r? *")]
