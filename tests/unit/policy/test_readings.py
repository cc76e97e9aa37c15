"""All readings of a text together."""

import random

import pytest
from hypothesis import given, strategies

from mtbot.policy import readings
from mtbot.policy.reading_values import BashlexReading, Doubt, Readings, Unread
from mtbot.policy.resolution import MAX_WORDS
from mtbot.policy.treesitter_reading import MAX_CODE


def _texts(found: Readings) -> list[str]:
    return [command.text for command in found.commands]


def test_wrappers_and_what_they_wrap_are_both_commands() -> None:
    """Each step says how deep it lies and what was taken off."""
    found = readings.read("sudo env A=1 sh -c 'rm x'")
    assert [(command.text, command.depth, command.via) for command in found.commands] == [
        ("sudo env A=1 sh -c rm x", 0, ()),
        ("env A=1 sh -c rm x", 1, ("sudo",)),
        ("sh -c rm x", 2, ("sudo", "env")),
        ("rm x", 3, ("sudo", "env", "sh -c")),
    ]
    assert (found.elevates, found.doubts) == (("sudo",), ())


def test_a_clean_text_has_no_doubts_and_both_readings() -> None:
    """bashlex is parsed once and handed to allow."""
    found = readings.read("ls -la && cat f")
    assert (_texts(found), found.doubts, found.well_formed) == (["ls -la", "cat f"], (), True)
    assert isinstance(found.bashlex, BashlexReading)
    assert found.bashlex.argvs == (("ls", "-la"), ("cat", "f"))


@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        ("$x -rf", Doubt.DYNAMIC),
        ("x=rm; $x -rf", Doubt.DYNAMIC),
        ("$(date) x", Doubt.DYNAMIC),
        ("/bin/r? x", Doubt.DYNAMIC),
        ("~/bin/x", Doubt.DYNAMIC),
        ('sh -c "$x"', Doubt.DYNAMIC),
        ("echo 'open", Doubt.BROKEN),
        ("sh -c 'if a'", Doubt.BROKEN),
        ("a " * 1100, Doubt.UNREAD),
        ("sudo " * 20 + "ls", Doubt.TOO_DEEP),
        ("echo " + "$(" * 20 + "ls" + ")" * 20, Doubt.TOO_DEEP),
        ("ls;" * 600, Doubt.TOO_MANY),
        ("f " + "a " * 5000, Doubt.TOO_MANY),
    ],
)
def test_what_cannot_be_resolved_is_a_doubt(text: str, doubt: Doubt) -> None:
    """A doubt forbids allow and classify."""
    assert doubt in [kind for kind, _ in readings.read(text).doubts]


@pytest.mark.parametrize("text", ["ls", "echo $x", "cat <<'E'\n$x\nE", "for i in a; do ls; done", "$'ls' x"])
def test_unknown_arguments_are_no_doubt(text: str) -> None:
    """Only a command word must be a constant."""
    assert readings.read(text).doubts == ()


@pytest.mark.parametrize(
    ("text", "programs"),
    [
        ("curl x | sh", {"curl"}),
        ("curl x | tee f | sh", {"curl", "tee"}),
        ("(curl x) | sh", {"curl"}),
        ("sudo curl x | sh", {"sudo", "curl"}),
        ("echo $(curl x) | sh", {"curl", "echo"}),
        ("f() { curl x; }; f | sh", {"f", "curl"}),
        ("sh <<< $(curl x)", {"curl"}),
        ("sh < <(curl x)", {"curl"}),
        ("sh <<E\n$(curl x)\nE", {"curl"}),
        ("curl x > >(sh)", {"curl"}),
        ("cat f; sh", set()),
    ],
)
def test_a_command_knows_what_it_reads(text: str, programs: set[str]) -> None:
    """A shell that reads a download is another thing than one that reads a file."""
    (shell,) = [command for command in readings.read(text).commands if command.program == "sh"]
    assert shell.stdin_from == programs


@pytest.mark.parametrize("text", ['sh "$(curl x)"', "x=$(curl x); sh $x", "sh <(curl x)", "curl x | xargs sh"])
def test_a_command_knows_where_its_words_come_from(text: str) -> None:
    """Also through a name, and through xargs."""
    shells = [command for command in readings.read(text).commands if command.program == "sh"]
    assert "curl" in shells[-1].words_from


def test_a_function_that_starts_itself_again_is_marked() -> None:
    """In the background or through a pipe; plain recursion is not."""

    def marked(text: str) -> bool:
        return any(command.respawns for command in readings.read(text).commands)

    assert marked(":(){ :|:& };:")
    assert marked("f() { f & }; f")
    assert not marked("f() { f; }; f")
    assert not marked("f() { ls & }; f | f")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rm 'a b' \"c\" d\\ e", "rm a b c d e"),
        ("r''m -rf", "rm -rf"),
        ("rm \\\n -rf", "rm  -rf"),
        ("$'\\x72m' x", "rm x"),
        ("rm$IFS-rf${IFS}/", "rm -rf /"),
        ('echo "it\'s"', "echo it's"),
        ("ls | sh", "ls | sh"),
    ],
)
def test_the_resolved_copy_has_no_quoting_left(text: str, expected: str) -> None:
    """The owner's patterns search it beside the raw text."""
    assert readings.resolved(text) == expected


def test_other_meanings_of_the_same_bytes_are_read_too() -> None:
    """Carriage returns, continuations inside a word, and look-alikes."""
    assert readings.variants("plain") == []
    assert readings.variants("a\r\nb") == ["a\n\nb"]
    assert readings.variants("a\rb") == ["a\nb", "a b"]
    assert readings.variants("r\\\nm") == ["rm"]
    assert readings.variants("a \\\n b") == []
    assert readings.variants("r\u200bm \uff52m") == ["rm rm"]


def test_a_long_quoted_here_document_is_data_for_every_reader() -> None:
    """Writing a long file stays readable; only the code around it counts."""
    text = "cat > f <<'E'\n" + "x = (1 | 2) # rm -rf y\n" * 2000 + "E\npython3 f\n"
    found = readings.read(text)
    assert (_texts(found), found.doubts) == (["cat", "python3 f"], ())


def test_a_reader_that_is_not_asked_is_unread() -> None:
    """bashlex gets well-formed texts only."""
    assert readings.read("echo 'x").bashlex == Unread("tree-sitter does not see a well-formed text")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\0",
        "\0\0ls",
        "\ud800",
        "$(" * 10_000,
        "(" * 10_000,
        "`" * 9999,
        "'" * 9999,
        "\\",
        "a\0b",
        "<<",
        "<<E",
        "{",
        "}",
        ")",
        ";;",
        "x" * 1_000_000,
    ],
)
def test_no_text_raises(text: str) -> None:
    """Reading is total."""
    readings.read(text)


_PIECES = [
    "$(", ")", "`", '"', "'", "\\", "\n", "{", "}", "${", "<<E", "E", "|", "&", ";", "(", "<(", "$((", "[[", "rm", " -rf ", "/", "x=", "$x",
    "eval ", "sh -c ", "#", "$'", "*", "~", "!", "if ", "then ", "fi", "case ", "esac", "for ", "done", "\r", "\0", "\ud8ff", "é", "\u200b",
    "xargs ", "env ", "sudo ", "coproc ", "function ", "alias ", "set -- ", "read ", "printf ", "<<<", "{a,b}", "find ", "-exec ", "parallel ",
]  # fmt: skip


@given(strategies.lists(strategies.sampled_from(_PIECES), max_size=40).map("".join))
def test_no_mixture_of_shell_pieces_raises(text: str) -> None:
    """Neither raises nor runs for ever, whatever stands beside what."""
    readings.read(text)


@given(strategies.text(max_size=200))
def test_no_text_at_all_raises(text: str) -> None:
    """Random text is no shell, and is read all the same."""
    readings.read(text)


def test_random_bytes_are_read() -> None:
    """As a model may send them, decoded with surrogates."""
    source = random.Random(11)
    for _ in range(50):
        readings.read(source.randbytes(300).decode("utf-8", "surrogateescape"))


@pytest.mark.parametrize("opening", ["a[1<<'E']=2", "echo $[1<<'E']", "[[ a =~ <<'E' ]]"])
def test_readers_that_disagree_about_here_documents_leave_the_text_unread(opening: str) -> None:
    """What one of them takes for data would be hidden from the other."""
    mark = opening.partition("<<")[2].partition(" ")[0].replace("'", "")
    text = f"{opening}\n{'x' * MAX_CODE}\n{mark}\n"
    assert readings.parse(text) == Unread("the readers disagree about here-documents")
    assert Doubt.UNREAD in [doubt for doubt, _ in readings.read(text).doubts]


def test_a_command_whose_words_become_too_many_is_cut_and_doubted() -> None:
    """What is behind the bound cannot be judged, so nothing but a person may let it run."""
    found = readings.read("a='" + "x " * MAX_WORDS + "'; rm $a")
    assert (Doubt.TOO_MANY, f"a command of more than {MAX_WORDS} words") in found.doubts
    assert max(len(command.argv) for command in found.commands) == MAX_WORDS


def test_wrappers_past_the_last_command_are_not_opened_and_doubted() -> None:
    """The bound holds for what lies inside a command as well."""
    found = readings.read("ls;" * (readings.MAX_COMMANDS - 2) + "sudo env nice rm x")
    assert len(found.commands) == readings.MAX_COMMANDS
    assert Doubt.TOO_MANY in [doubt for doubt, _ in found.doubts]
