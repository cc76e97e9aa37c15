"""Values of the readings."""

from mtbot.policy.reading_values import UNKNOWN, Doubt, Readings, Redirect, SimpleCommand, Unread, Word


def _command(text: str) -> SimpleCommand:
    return SimpleCommand(tuple(Word(word) for word in text.split()))


def test_a_command_knows_its_base_name_and_arguments() -> None:
    """Rules look up a program by its base name, whatever path leads to it."""
    command = _command("/bin/rm -rf x")
    assert (command.program, command.arguments, command.text) == ("rm", ("-rf", "x"), "/bin/rm -rf x")


def test_a_command_without_words_has_no_program() -> None:
    """A lone redirect is a command too."""
    command = SimpleCommand((), (Redirect(">", Word("f")),))
    assert (command.program, command.arguments, command.text) == ("", (), "")


def test_what_a_wrapper_runs_lies_one_level_deeper_and_reads_the_same() -> None:
    """The input, the names and the redirects of the wrapper hold for what it runs."""
    outer = SimpleCommand(
        (Word("env"), Word("A=b"), Word("ls")), stdin_from=frozenset({"curl"}), depth=2, via=("sudo",)
    )
    inner = outer.inside((Word("ls"),), "env", (("A", Word("b")),))
    assert inner == SimpleCommand(
        (Word("ls"),), (), (("A", Word("b")),), 3, ("sudo", "env"), frozenset({"curl"}), frozenset()
    )
    assert inner.program == "ls"


def test_an_unknown_piece_is_shown_as_an_ellipsis() -> None:
    """People read the text of a command in a reason."""
    assert SimpleCommand((Word("rm"), Word(UNKNOWN, dynamic=True))).text == "rm …"


def test_redirects_that_write_are_told_from_those_that_read() -> None:
    """`<>` opens for writing as well."""
    assert [Redirect(op, Word("f")).writes for op in (">", ">>", ">|", "&>", "<>", "<", "<<<")] == [
        True, True, True, True, True, False, False,
    ]  # fmt: skip


def test_doubts_are_told_apart() -> None:
    """Each doubt has the questions that it answers."""

    def told(doubt: Doubt) -> tuple[bool, tuple[str, ...], bool, bool]:
        found = Readings("x", "x", (), ((doubt, "why"),), (), Unread("no"))
        return found.well_formed, found.dynamic, found.too_deep, found.too_many

    assert told(Doubt.BROKEN) == (False, (), False, False)
    assert told(Doubt.UNREAD) == (False, (), False, False)
    assert told(Doubt.DYNAMIC) == (True, ("why",), False, False)
    assert told(Doubt.TOO_DEEP) == (True, (), True, False)
    assert told(Doubt.TOO_MANY) == (True, (), False, True)
