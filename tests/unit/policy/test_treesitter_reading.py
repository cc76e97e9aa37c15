"""tree-sitter as the main reader: commands at any depth, what feeds them, what it may have missed."""

import pytest

from mtbot.policy import treesitter_reading
from mtbot.policy.reading_values import RawReading, Unread


def _read(text: str) -> RawReading:
    reading = treesitter_reading.read(text)
    assert isinstance(reading, RawReading)
    return reading


def _words(text: str) -> list[list[str]]:
    return [[text[span.start : span.end] for span in raw.words] for raw in _read(text).commands]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b; c && d | e &", [["a", "b"], ["c"], ["d"], ["e"]]),
        ("(a; b) | { c; }", [["a"], ["b"], ["c"]]),
        ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("while a; do b; done", [["a"], ["b"]]),
        ("for i in x; do a; done", [["a"]]),
        ("case x in x) a;; esac", [["a"]]),
        ("f() { a; }", [["a"]]),
        ("! a b", [["a", "b"]]),
        ("echo $(a) `b` <(c)", [["echo", "$(a)", "`b`", "<(c)"], ["a"], ["b"], ["c"]]),
        ("x=$(a) b", [["b"], ["a"]]),
        ("[[ -f $(a) ]]", [["a"]]),
        ("echo $(( $(a) ))", [["echo", "$(( $(a) ))"], ["a"]]),
        ("export A=b", [["export", "A=b"]]),
        ("rm > /dev/null -rf x", [["rm", "-rf", "x"]]),
        ("true && rm > /dev/null -rf x", [["true"], ["rm", "-rf", "x"]]),
        ("cat <<E | sh\nx\nE\n", [["cat"], ["sh"]]),
        ("rm$IFS-rf$IFS/", [["rm$IFS-rf$IFS/"]]),
    ],
)
def test_every_command_is_found_with_its_words(text: str, expected: list[list[str]]) -> None:
    """Whatever stands around a command, its words are its own; words behind a redirect belong to it."""
    assert sorted(_words(text)) == sorted(expected)


def test_a_stage_is_fed_by_the_stages_before_it() -> None:
    """A shell in a pipeline runs what comes from anywhere left of it."""
    text = "a | b | c; d"
    fed = {text[raw.start]: raw.fed and text[raw.fed.start : raw.fed.end] for raw in _read(text).commands}
    assert fed == {"a": None, "b": "a | ", "c": "a | b | ", "d": None}


def test_an_output_process_substitution_is_fed_by_its_host() -> None:
    """`a > >(b)` pipes a into b."""
    text = "a > >(b)"
    assert {text[raw.start]: raw.fed and text[raw.fed.start : raw.fed.end] for raw in _read(text).commands} == {
        "a": None,
        "b": "a > ",
    }


def test_redirects_belong_to_the_last_command_of_a_list() -> None:
    """tree-sitter gives them to the whole list."""
    text = "true && cat x > /dev/sda"
    assert [[(op, text[s.start : s.end]) for op, s in raw.redirects] for raw in _read(text).commands] == [
        [],
        [(">", "/dev/sda")],
    ]


def test_a_redirect_of_a_group_stands_alone() -> None:
    """What a group writes to counts although the group has no words."""
    text = "{ a; } > f"
    assert [(len(raw.words), [text[s.start : s.end] for _, s in raw.redirects]) for raw in _read(text).commands] == [
        (0, ["f"]),
        (1, []),
    ]


@pytest.mark.parametrize(("mark", "quoted"), [("E", False), ("'E'", True), ('"E"', True), ("\\E", True)])
def test_a_here_document_says_whether_its_delimiter_is_quoted(mark: str, quoted: bool) -> None:
    """Only an unquoted one expands."""
    text = f"sh <<{mark}\nls\nE\n"
    ((span, was_quoted),) = _read(text).commands[0].bodies
    assert (text[span.start : span.end], was_quoted) == ("ls\n", quoted)


def test_names_that_the_text_defines_are_told() -> None:
    """Assignments (appending ones marked), functions with their bodies, loop variables with each word."""
    text = "a=b; a+=c; f() { x; }; for i in p q; do y; done"
    reading = _read(text)
    assert [(name, text[s.start : s.end]) for name, s in reading.assignments] == [("a", "b"), ("a+", "c")]
    assert [(name, text[s.start : s.end]) for name, s in reading.functions] == [("f", "{ x; }")]
    assert [(name, text[s.start : s.end]) for name, s in reading.loops] == [("i", "p"), ("i", "q")]


def test_offsets_are_characters_whatever_the_alphabet() -> None:
    """Readings are laid over each other by offset."""
    assert _words("echo 'ü€𝄞' ls; ü x") == [["echo", "'ü€𝄞'", "ls"], ["ü", "x"]]


@pytest.mark.parametrize("text", ["echo 'x", "if a", "a )", "echo $(a", "a ||| b", "&& a"])
def test_an_error_anywhere_makes_the_text_broken(text: str) -> None:
    """Nothing broken is run by rule or classified."""
    assert _read(text).broken is not None


@pytest.mark.parametrize("text", ["echo ${x:-`a`}", "cat <<E\n`a`\nE", "echo ${x#$(a)}", "echo `b \\`a\\``"])
def test_places_where_commands_are_missed_are_loose(text: str) -> None:
    """These were seen to hide commands; they are handed on to be looked through."""
    reading = _read(text)
    assert any("a" in text[span.start : span.end] for span in reading.loose)


def test_more_code_than_the_limit_is_not_parsed() -> None:
    """Its worst case is quadratic and was seen to take 38 s at 60 KiB; data of one piece does not count."""
    text = "a " * 1100
    assert treesitter_reading.read(text) == Unread("more than 2048 characters of shell code")
    assert isinstance(treesitter_reading.read(text, code=10), RawReading)


def test_more_commands_than_the_limit_are_not_taken() -> None:
    """Each command costs work in every rule."""
    assert treesitter_reading.read("a;" * 600) == Unread("more commands than are looked at one by one")


def test_a_here_string_behind_a_here_document_is_read_too() -> None:
    """bash gives the command the last of both; whoever judges sees both."""
    text = "cat <<E <<<x\nb\nE\n"
    (raw,) = _read(text).commands
    assert [(operator, text[span.start : span.end]) for operator, span in raw.redirects] == [("<<<", "x")]
    assert [text[span.start : span.end] for span, _ in raw.bodies] == ["b\n"]


def test_a_here_document_of_a_group_belongs_to_its_commands() -> None:
    """The group itself is no command; what reads in it reads the document."""
    text = "{ a; b; } <<E\nx\nE\n"
    found = [(text[raw.start], [text[span.start : span.end] for span, _ in raw.bodies]) for raw in _read(text).commands]
    assert found == [("a", ["x\n"]), ("b", ["x\n"])]


def test_a_parser_that_fails_leaves_the_text_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a foreign library: that it fails is the answer, and it asks."""

    class Failing:
        def parse(self, source: bytes) -> object:
            raise ValueError(f"{len(source)} bytes")

    monkeypatch.setattr(treesitter_reading, "_PARSER", Failing())
    assert treesitter_reading.read("ls") == Unread("ValueError: 2 bytes")
