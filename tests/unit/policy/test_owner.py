"""The owner's items become rules, or errors; never less than what was written."""

import pytest

from mtbot.policy.allow_rule import Needs, Operand
from mtbot.policy.owner import Item, covers, rule


def test_an_exact_argv_is_exact_and_has_no_operands_to_judge() -> None:
    """What the owner wrote out is taken at its word."""
    made = rule("allow[0]", Item(argv=("restic", "backup", "/srv"), network=True, write=("/var/cache",), why="nightly"))
    assert (made.exact, made.program) == (("restic", "backup", "/srv"), "restic")
    assert made.needs == Needs(network=True, write=("/var/cache",))
    match = made.match(("restic", "backup", "/srv"))
    assert match is not None
    assert match.operands == ()
    assert made.match(("restic", "backup", "/srv", "x")) is None


def test_what_a_wildcard_lets_through_is_judged() -> None:
    """Every word that the owner did not write."""
    match = rule("allow[0]", Item(argv=("cat", "README", "**"))).match(("cat", "README", "a", "b"))
    assert match is not None
    assert match.operands == (Operand("a"), Operand("b"))


def test_an_expression_matches_one_whole_canonical_command() -> None:
    """Not a part of it, and a dot is no newline."""
    made = rule("allow[0]", Item(regex="npm run [a-z]+"))
    assert covers(made, "npm run build")
    assert not covers(made, "npm run build; curl evil")
    assert not covers(made, "npm run build2 --x")
    assert not covers(rule("allow[0]", Item(regex="echo .*")), "echo 'a\nb'")


def test_an_expressions_operands_are_all_words_and_option_values() -> None:
    """Any of them may name a key."""
    match = rule("allow[0]", Item(regex=".*")).match(
        ("tool", "--out=/etc/x", "-f/etc/y", "if=/etc/z", "@/etc/w", "-v", "a")
    )
    assert match is not None
    words = ("/etc/x", "/etc/y", "if=/etc/z", "/etc/z", "@/etc/w", "/etc/w", "a")
    assert match.operands == tuple(map(Operand, words))


@pytest.mark.parametrize(
    ("on_host", "argv", "contained"),
    [
        (None, ("make", "x"), True),
        (None, ("ls", "x"), False),
        (True, ("make", "x"), False),
    ],
)
def test_an_expression_contains_programs_that_run_workspace_files(
    on_host: bool | None, argv: tuple[str, ...], contained: bool
) -> None:
    """The program is known only when a command is there."""
    match = rule("allow[0]", Item(regex=".*", on_host=on_host)).match(argv)
    assert match is not None
    assert match.contained is contained


@pytest.mark.parametrize(
    ("item", "contained"),
    [
        (Item(argv=("make", "*")), True),
        (Item(argv=("make", "*"), on_host=True), False),
        (Item(argv=("ls", "*")), False),
        (Item(argv=("ls", "*"), on_host=False), True),
        (Item(regex="make .*"), False),
    ],
)
def test_programs_that_run_workspace_files_are_contained_unless_the_owner_says_otherwise(
    item: Item, contained: bool
) -> None:
    """A model that may write there could run anything."""
    assert rule("allow[0]", item).needs.contained is contained


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (Item(regex="("), "missing )"),
        (Item(argv=("*",)), ""),
        (Item(argv=("ls",), permits=("ls -l",)), "permits: the rule does not match 'ls -l'"),
        (Item(argv=("ls", "*"), refuses=("ls x",)), "refuses: the rule matches 'ls x'"),
        (Item(argv=("ls",), permits=("ls $(x)",)), "permits: the rule does not match"),
    ],
)
def test_a_broken_item_is_an_error_that_says_why(item: Item, said: str) -> None:
    """A rule that looked protective and matched nothing is worse than none."""
    with pytest.raises(ValueError, match=r"(?s).*") as caught:
        rule("allow[0]", item)
    assert said in str(caught.value)


def test_a_wildcards_word_is_judged_even_if_the_pattern_holds_it_elsewhere() -> None:
    """A file may be called as the program is."""
    match = rule("allow[0]", Item(argv=("cat", "*"))).match(("cat", "cat"))
    assert match is not None
    assert match.operands == (Operand("cat"),)
