"""The literal subset: what it reads, what it refuses, and the one spelling that runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtbot.policy.lexer import (
    MAX_BYTES,
    RESERVED_WORDS,
    LexedCommand,
    Literal,
    NotLiteral,
    NotLiteralReason,
    Redirect,
    Separator,
    lex,
    quote,
)


def test_reads_words_quotes_separators_and_redirects_exactly() -> None:
    """One text with everything that the subset has is read into exact values."""
    text = "git log --format='%h it'\"'\"'s' 2>/dev/null | head -n 5 >/dev/null 2>&1 && ls; pwd || id\nwc \"a b\"\n"
    assert lex(text) == Literal(
        (
            LexedCommand(("git", "log", "--format=%h it's"), (Redirect.ERR_TO_NULL,)),
            LexedCommand(("head", "-n", "5"), (Redirect.OUT_TO_NULL, Redirect.ERR_TO_OUT), Separator.PIPE),
            LexedCommand(("ls",), (), Separator.AND),
            LexedCommand(("pwd",), (), Separator.SEMICOLON),
            LexedCommand(("id",), (), Separator.OR),
            LexedCommand(("wc", "a b"), (), Separator.NEWLINE),
        )
    )


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("ls", "ls"),
        ("  ls   -la\t/srv ", "ls -la /srv"),
        ("echo 'a'", "echo a"),
        ('echo "a b"', "echo 'a b'"),
        ('echo "it\'s"', "echo 'it'\"'\"'s'"),
        ("echo ''", "echo ''"),
        ("echo a''b", "echo ab"),
        ("echo '*' '?' '~' '$x'", "echo '*' '?' '~' '$x'"),
        ("a;b", "a; b"),
        ("a ; b ;", "a; b"),
        ("a\n\n\nb\n", "a\nb"),
        ("a &&\n\n b", "a && b"),
        ("a|b", "a | b"),
        ("a ||b", "a || b"),
        ("ls 2>/dev/null -l", "ls -l 2>/dev/null"),
        ("ls 2>&1|wc", "ls 2>&1 | wc"),
        ("cd /srv && ls", "cd /srv && ls"),
        ("cd '/srv/a b'&&ls|wc", "cd '/srv/a b' && ls | wc"),
        ("echo 'a\nb'", "echo 'a\nb'"),
        ("echo a=b --x=y", "echo a=b --x=y"),
    ],
)
def test_writes_one_spelling(text: str, canonical: str) -> None:
    """Blanks, quotes and blank lines have one canonical form, and reading that again changes nothing."""
    literal = lex(text)
    assert isinstance(literal, Literal)
    assert literal.canonical() == canonical
    again = lex(canonical)
    assert isinstance(again, Literal)
    assert (again.canonical(), again.argvs()) == (canonical, literal.argvs())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", NotLiteralReason.EMPTY),
        (" \n\t", NotLiteralReason.EMPTY),
        ("x" * (MAX_BYTES + 1), NotLiteralReason.TOO_LONG),
        ("ls é", NotLiteralReason.CHARACTER),
        ("ls \r", NotLiteralReason.CHARACTER),
        ("ls \0", NotLiteralReason.CHARACTER),
        ("ls \x7f", NotLiteralReason.CHARACTER),
        ("ls \u202e", NotLiteralReason.CHARACTER),
        ("ls $x", NotLiteralReason.EXPANSION),
        ("ls `x`", NotLiteralReason.EXPANSION),
        ("ls a\\b", NotLiteralReason.EXPANSION),
        ("ls *.py", NotLiteralReason.EXPANSION),
        ("ls ?", NotLiteralReason.EXPANSION),
        ("ls [a]", NotLiteralReason.EXPANSION),
        ("ls {a,b}", NotLiteralReason.EXPANSION),
        ("ls ~", NotLiteralReason.EXPANSION),
        ("ls a~b", NotLiteralReason.EXPANSION),
        ("ls # x", NotLiteralReason.EXPANSION),
        ("ls !x", NotLiteralReason.EXPANSION),
        ("(ls)", NotLiteralReason.EXPANSION),
        ("ls 'a", NotLiteralReason.QUOTE_OPEN),
        ('ls "a', NotLiteralReason.QUOTE_OPEN),
        ('ls "$x"', NotLiteralReason.QUOTE_EXPANDS),
        ('ls "`x`"', NotLiteralReason.QUOTE_EXPANDS),
        ('ls "a\\b"', NotLiteralReason.QUOTE_EXPANDS),
        ('ls "a!b"', NotLiteralReason.QUOTE_EXPANDS),
        ("ls > f", NotLiteralReason.REDIRECT),
        ("ls >f", NotLiteralReason.REDIRECT),
        ("ls >>/dev/null", NotLiteralReason.REDIRECT),
        ("ls < f", NotLiteralReason.REDIRECT),
        ("ls >/dev/nullx", NotLiteralReason.REDIRECT),
        ("ls >/dev/null/../x", NotLiteralReason.REDIRECT),
        ("ls 2>&11", NotLiteralReason.REDIRECT),
        ("ls 12>/dev/null", NotLiteralReason.REDIRECT),
        ("ls a2>/dev/null", NotLiteralReason.REDIRECT),
        ("ls>/dev/null", NotLiteralReason.REDIRECT),
        ("ls 2>/dev/null'x'", NotLiteralReason.REDIRECT),
        (">/dev/null ls", NotLiteralReason.REDIRECT),
        ("2>&1 A=1 ls", NotLiteralReason.REDIRECT),
        ("ls && >/dev/null", NotLiteralReason.REDIRECT),
        ("ls &", NotLiteralReason.BACKGROUND),
        ("ls & rm x", NotLiteralReason.BACKGROUND),
        ("ls |& wc", NotLiteralReason.BACKGROUND),
        ("ls 2>&1& rm x", NotLiteralReason.BACKGROUND),
        ("ls;;", NotLiteralReason.SEPARATOR),
        ("; ls", NotLiteralReason.SEPARATOR),
        ("ls &&", NotLiteralReason.SEPARATOR),
        ("ls ||", NotLiteralReason.SEPARATOR),
        ("ls |", NotLiteralReason.SEPARATOR),
        ("ls | | wc", NotLiteralReason.SEPARATOR),
        ("ls && && wc", NotLiteralReason.SEPARATOR),
        ("ls\n; wc", NotLiteralReason.SEPARATOR),
        ("ls &&\n", NotLiteralReason.SEPARATOR),
        ("'ls'", NotLiteralReason.PROGRAM_QUOTED),
        ('l"s" x', NotLiteralReason.PROGRAM_QUOTED),
        ("''", NotLiteralReason.PROGRAM_QUOTED),
        ("A=1 ls", NotLiteralReason.ASSIGNMENT),
        ("a+=1", NotLiteralReason.ASSIGNMENT),
        ("ls && A=1 ls", NotLiteralReason.ASSIGNMENT),
        ("-x", NotLiteralReason.PROGRAM_NAME),
        ("%1", NotLiteralReason.PROGRAM_NAME),
        ("+x", NotLiteralReason.PROGRAM_NAME),
        ("a:b", NotLiteralReason.PROGRAM_NAME),
        ("a@b", NotLiteralReason.PROGRAM_NAME),
        (":", NotLiteralReason.PROGRAM_NAME),
        ("^a^b", NotLiteralReason.PROGRAM_NAME),
        ("if", NotLiteralReason.RESERVED),
        ("time ls", NotLiteralReason.RESERVED),
        ("coproc ls", NotLiteralReason.RESERVED),
        ("ls && do", NotLiteralReason.RESERVED),
    ],
)
def test_refuses_with_the_first_reason(text: str, reason: NotLiteralReason) -> None:
    """Everything else lies outside, and the answer says why."""
    answer = lex(text)
    assert isinstance(answer, NotLiteral)
    assert answer.reason is reason


def test_tells_where_the_text_leaves_the_subset() -> None:
    """The offset points at the character that was not understood."""
    assert lex("ls -l $x") == NotLiteral(NotLiteralReason.EXPANSION, 6)


def test_refuses_every_reserved_word_as_a_program() -> None:
    """A bare word of the shell's grammar is never a program, also after a separator."""
    for word in RESERVED_WORDS:
        assert isinstance(lex(f"{word} x"), NotLiteral), word
        assert isinstance(lex(f"ls; {word} x"), NotLiteral), word


def test_takes_reserved_words_as_arguments() -> None:
    """A word of the grammar is data behind a program."""
    literal = lex("echo if then time")
    assert isinstance(literal, Literal)
    assert literal.argvs() == (("echo", "if", "then", "time"),)


def test_takes_exactly_the_limit() -> None:
    """The limit counts bytes and includes itself."""
    assert isinstance(lex("x" * MAX_BYTES), Literal)


@pytest.mark.parametrize(
    "text",
    [
        "cd /srv && ls; pwd",
        "cd /srv && ls\npwd",
        "cd /srv && ls || pwd",
        "cd /srv; ls",
        "cd /srv || ls",
        "cd /srv | ls",
        "cd /srv",
        "cd && ls",
        "cd a b && ls",
        "cd - && ls",
        "cd -P /srv && ls",
        "cd '' && ls",
        "cd a/../b && ls",
        "cd ../a/.. && ls",
        "cd /srv 2>/dev/null && ls",
        "ls && cd /srv && ls",
    ],
)
def test_keeps_a_cd_that_could_fail_or_mislead_as_a_command(text: str) -> None:
    """Only a leading `cd DIR &&` whose failure stops everything is taken out; any other stays where no rule matches it."""
    literal = lex(text)
    assert isinstance(literal, Literal)
    assert literal.cd is None
    assert any(command.argv[0] == "cd" for command in literal.commands)


def test_lifts_a_leading_cd() -> None:
    """The directory is told apart, and still stands first in what runs and in what a second reader must find."""
    literal = lex("cd ../x && git status | wc")
    assert literal == Literal(
        (LexedCommand(("git", "status")), LexedCommand(("wc",), (), Separator.PIPE)),
        "../x",
    )
    assert literal.canonical() == "cd ../x && git status | wc"
    assert literal.argvs() == (("cd", "../x"), ("git", "status"), ("wc",))


def test_canonical_of_one_command_leaves_out_redirects() -> None:
    """What owner's patterns match against is the words alone."""
    literal = lex("ls 'a b' 2>/dev/null")
    assert isinstance(literal, Literal)
    assert literal.commands[0].canonical() == "ls 'a b'"


@given(st.text(alphabet=st.characters(min_codepoint=0, max_codepoint=0x2FF), max_size=60))
def test_never_raises(text: str) -> None:
    """Any text gets an answer."""
    assert isinstance(lex(text), Literal | NotLiteral)


@given(st.text(alphabet="ab '\"\\;|&><$2/=-\n\t#~*1nulde.v", max_size=40))
def test_canonical_form_is_a_fixed_point(text: str) -> None:
    """Whatever is read keeps its commands through the canonical form, and a second pass changes nothing."""
    literal = lex(text)
    if isinstance(literal, Literal):
        again = lex(literal.canonical())
        assert again == literal
        assert isinstance(again, Literal)
        assert again.canonical() == literal.canonical()


@given(st.text(alphabet=st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=30))
def test_quoted_word_is_read_back_as_itself(word: str) -> None:
    """Any printable word survives quoting."""
    assert lex(f"echo {quote(word)}") == Literal((LexedCommand(("echo", word)),))


@pytest.mark.parametrize("word", ["'~'", "'~/x'", '"~op/x"'])
def test_a_quoted_tilde_is_no_directory_to_lift(word: str) -> None:
    """Bash enters a directory of that very name, so the cd stays a command that no rule covers."""
    literal = lex(f"cd {word} && ls")
    assert isinstance(literal, Literal)
    assert (literal.cd, literal.commands[0].argv) == (None, ("cd", word[1:-1]))
