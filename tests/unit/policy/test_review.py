"""Rules looked over, and rules proposed."""

import pytest

from mtbot.policy.owner import Item, rule
from mtbot.policy.review import Remark, argvs_to_allow, example_results, lint, suggestions


def remarks(items: tuple[Item, ...], deny: tuple[str, ...] = (), seen: tuple[str, ...] = ()) -> list[str]:
    """The texts of all remarks."""
    rules = tuple(rule(f"allow[{index}]", item) for index, item in enumerate(items))
    return [f"{remark.key}: {remark.text}" for remark in lint(items, rules, deny, seen)]


def test_a_rule_that_matches_everything_is_remarked() -> None:
    """It also names interpreters, which it never matches."""
    assert remarks((Item(regex=".*"),)) == [
        "tools.exec.allow[0]: matches everything",
        "tools.exec.allow[0]: names a program that can run anything (sh); it never matches by pattern",
    ]


def test_an_interpreter_by_pattern_is_remarked() -> None:
    """An added argument adds authority."""
    (found,) = remarks((Item(argv=("python3", "*")),))
    assert "names a program that can run anything (python3" in found


@pytest.mark.parametrize("regex", ["awk .*", "sed -n .*", "sed -i.*", "(ls|ssh) .*", "less .*", "vim .*"])
def test_an_expression_over_a_program_that_runs_what_it_is_given_is_remarked(regex: str) -> None:
    """Nothing runs by it, and whoever wrote it should know that it is no rule at all."""
    (found,) = remarks((Item(regex=regex),))
    assert "it never matches by pattern" in found


def test_an_expression_that_names_none_of_them_is_not_remarked() -> None:
    """Nor is one whole command."""
    assert remarks((Item(regex="(ls|wc) .*"), Item(argv=("sed", "-n", "1p", "/srv/x")))) == []


def test_workspace_files_on_the_bare_host_are_remarked() -> None:
    """The owner said so, and is told what it means."""
    assert remarks((Item(argv=("make", "test"), on_host=True),)) == [
        "tools.exec.allow[0]: runs make, which executes files of the workspace, on the bare host"
    ]


def test_rules_that_match_nothing_on_record_are_remarked() -> None:
    """Only where there is a record."""
    items = (Item(argv=("lss",)), Item(argv=("ls",)))
    assert remarks(items) == []
    assert remarks(items, ("^rmm ", "^ls"), ("ls", "rm x")) == [
        "tools.exec.allow[0]: covers no command on record",
        "tools.exec.deny[0]: matches no command on record; check its spelling with `mtclaw policy explain`",
    ]


def test_a_deny_expression_that_matches_everything_is_remarked() -> None:
    """Nothing would run any more."""
    assert remarks((), ("",)) == ["tools.exec.deny[0]: refuses everything"]


def test_examples_are_run_both_ways() -> None:
    """(key, example, wanted, found)."""
    items = (Item(argv=("ls", "*"), permits=("ls a",), refuses=("ls -l",)),)
    rules = (rule("allow[0]", items[0]),)
    assert example_results(items, rules) == (
        ("tools.exec.allow[0]", "ls a", True, True),
        ("tools.exec.allow[0]", "ls -l", False, False),
    )


def test_a_command_becomes_the_argvs_that_must_be_allowed() -> None:
    """Each once; a leading cd needs no rule."""
    assert argvs_to_allow("cd /srv && git status && git status | wc -l") == (("git", "status"), ("wc", "-l"))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("ls *", "no rule can allow it"),
        ("ls '*'", "wildcard"),
        ("ls '**'", "wildcard"),
        ("cd /a; ls", "cd can only lead"),
        ("'l s'", "no rule can allow it"),
    ],
)
def test_what_no_rule_could_express_is_said(command: str, said: str) -> None:
    """Instead of a rule that means something else."""
    with pytest.raises(ValueError, match=said):
        argvs_to_allow(command)


def test_suggestions_are_for_what_was_approved_often_and_is_not_covered() -> None:
    """Never for interpreters, wrappers or masked values."""
    approved = (
        ["certbot renew --dry-run"] * 4
        + ["df -h"] * 3
        + ["python3 x.py"] * 9
        + ["sudo ls"] * 9
        + ["ls *"] * 9
        + ["tool ‹secret:3f9a›"] * 9
        + ["tool '‹secret:3f9a›'"] * 9
        + ["rare"] * 2
    )
    covered = (rule("allow[0]", Item(argv=("df", "-h"))), rule("allow[1]", Item(regex="nothing")))
    assert suggestions(approved, covered) == ((("certbot", "renew", "--dry-run"), 4),)


def test_a_remark_is_a_value() -> None:
    """Two of the same are equal."""
    assert Remark("a", "b") == Remark("a", "b")
