"""The owner's argv patterns: literal words, `*` and `**`, and no option through a wildcard."""

import pytest

from mtbot.policy.argv_pattern import ArgvPattern, PatternError, PatternFault, parse


@pytest.mark.parametrize(
    ("pattern", "argv", "matches"),
    [
        ("restic backup /srv", "restic backup /srv", True),
        ("restic backup /srv", "restic backup /srv x", False),
        ("restic backup /srv", "restic backup", False),
        ("restic backup /srv", "./restic backup /srv", False),
        ("restic backup /srv", "/usr/bin/restic backup /srv", False),
        ("git log *", "git log main", True),
        ("git log *", "git log", False),
        ("git log *", "git log a b", False),
        ("git log *", "git log --output=f", False),
        ("git log *", "git log -", False),
        ("git log **", "git log", True),
        ("git log **", "git log a b c", True),
        ("git log **", "git log a --output=f", False),
        ("git log **", "git log -p", False),
        ("git log --oneline **", "git log --oneline a b", True),
        ("git log --oneline **", "git log a --oneline", False),
        ("git log --oneline **", "git log --oneline --oneline", False),
        ("git * --stat", "git diff --stat", True),
        ("git * --stat", "git -p --stat", False),
        ("git **", "git", True),
        ("git **", "git commit x", True),
        ("/opt/deploy *", "/opt/deploy web", True),
        ("/opt/deploy *", "deploy web", False),
        ("tar **", "tar xfI a ./x", False),
        ("tar *", "tar x", False),
        ("/usr/bin/tar * a", "/usr/bin/tar tf a", False),
        ("tar tf *", "tar tf a", True),
        ("tar **", "tar", True),
        ("tar -tf *", "tar -tf a", True),
    ],
)
def test_matches_a_whole_argv(pattern: str, argv: str, matches: bool) -> None:
    """A pattern covers every word or nothing, and a wildcard is never an option."""
    assert parse(tuple(pattern.split())).matches(tuple(argv.split())) is matches


def test_empty_word_is_a_word() -> None:
    """An empty argument is matched by one star, not skipped."""
    assert parse(("echo", "*")).matches(("echo", ""))


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ((), PatternFault.EMPTY),
        (("*",), PatternFault.PROGRAM),
        (("**",), PatternFault.PROGRAM),
        (("gi*", "x"), PatternFault.PROGRAM),
        (("",), PatternFault.PROGRAM),
        (("git status",), PatternFault.PROGRAM),
        (("git", "**", "x"), PatternFault.REST_NOT_LAST),
    ],
)
def test_refuses_what_is_no_pattern(words: tuple[str, ...], fault: PatternFault) -> None:
    """A program must be written out, and the rest comes last."""
    with pytest.raises(PatternError) as caught:
        parse(words)
    assert caught.value.fault is fault


def test_knows_the_one_argv_that_it_names() -> None:
    """Only a pattern without wildcards names an exact argv."""
    assert ArgvPattern(("bash", "x.sh")).exact == ("bash", "x.sh")
    assert ArgvPattern(("bash", "*")).exact is None
    assert ArgvPattern(("bash", "**")).exact is None
    assert ArgvPattern(("bash", "x.sh")).program == "bash"


@pytest.mark.parametrize(
    ("pattern", "argv", "free"),
    [
        ("cat *", "cat cat", ("cat",)),
        ("cp a *", "cp a a", ("a",)),
        ("tar * x **", "tar tar x x tar", ("tar", "x", "tar")),
        ("cat a", "cat a", ()),
    ],
)
def test_what_a_wildcard_let_through_is_told_by_its_place(pattern: str, argv: str, free: tuple[str, ...]) -> None:
    """A word that also stands elsewhere in the pattern was still not written there by the owner."""
    assert parse(tuple(pattern.split())).free(tuple(argv.split())) == free
