"""A decision in words."""

import pytest

from mtbot.policy.effects import prepare
from mtbot.policy.evaluate import evaluate
from mtbot.policy.explain import card_lines, explained, short_name
from mtbot.policy.readonly import PACKS
from mtbot.policy.ruleset import RuleSet
from tests.unit.policy.calls import WRITE, call_of, facts_of, prepared_of


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        ((), ""),
        (("ls", "-l", "x"), "ls"),
        (("/usr/bin/git", "commit", "-m", "x"), "git commit"),
        (("docker", "compose", "-f", "/srv/x.yml", "pull", "web"), "docker compose pull"),
        (("systemctl", "restart", "nginx"), "systemctl restart nginx"),
        (("git", "-C", "/srv", "log"), "git log"),
        (("docker", "run", "7"), "docker run"),
    ],
)
def test_a_command_is_named_by_program_and_subcommand(argv: tuple[str, ...], name: str) -> None:
    """Short enough for one line of a question."""
    assert short_name(argv) == name


def test_a_question_counts_and_names_the_commands() -> None:
    """More than six names are counted."""
    prepared = prepared_of("; ".join(f"prog{number}" for number in range(8)))
    (line,) = card_lines(prepared, facts_of(prepared))
    assert line == "8 commands: prog0, prog1, prog2, prog3, prog4, prog5 and 2 more"


@pytest.mark.parametrize(("arguments", "mode"), [({}, "overwrite"), ({"mode": "append"}, "append")])
def test_a_question_about_a_file_says_how_it_is_written(arguments: dict[str, str], mode: str) -> None:
    """What is there already is lost unless the text is appended."""
    call = call_of("write_file", {"path": "a.txt", "content": "x", **arguments})
    prepared = prepare(call, WRITE, RuleSet())
    assert card_lines(prepared, facts_of(prepared)) == (f"mode: {mode}",)


def test_a_question_says_what_is_bound_and_what_is_not() -> None:
    """Script content, unreadable scripts, build programs, text from outside."""
    prepared = prepared_of("make")
    facts = facts_of(
        prepared,
        operand_digests={"/srv/a.sh": "4e1c09aa", "/srv/b.sh": "(unreadable)"},
        unbound=("make",),
        tainted=True,
    )
    assert card_lines(prepared, facts) == (
        "script content fixed at 4e1c09 (a.sh)",
        "can't read /srv/b.sh",
        "What make will run is in files that may still change.",
        "This turn has read text from outside (a page, a file or what a command fetched), which may have asked for this.",
    )


def test_the_whole_story_names_wrappers_redirects_doubts_and_the_way_to_permit() -> None:
    """A line each."""
    prepared = prepared_of("nohup sudo sh -c 'ls > out'")
    facts = facts_of(prepared)
    story = "\n".join(explained(prepared, facts, evaluate(prepared, facts)))
    assert "verdict: refuse (stage person)" in story
    assert "rule: elevation.form" in story
    assert "(inside nohup > sudo" in story
    assert "redirect: > out" in story
    assert "changes the user: sudo" in story


def test_the_story_of_text_outside_the_subset_says_where_it_leaves_it() -> None:
    """The character is counted from one."""
    prepared = prepared_of("ls *")
    story = explained(prepared, facts_of(prepared), evaluate(prepared, facts_of(prepared)))
    assert (
        "outside the literal subset: it holds a character that the shell expands or acts on (at character 4)" in story
    )


def test_the_story_of_a_literal_command_shows_what_would_run_and_how_to_permit_it() -> None:
    """Canonical form, look-ups, hint."""
    prepared = prepared_of("certbot renew", RuleSet(denied_paths=("/vault",)))
    facts = facts_of(prepared)
    story = explained(prepared, facts, evaluate(prepared, facts))
    assert "canonical: certbot renew" in story
    assert "touches: renew -> /srv/work/renew" in story
    assert "to permit it: mtclaw policy allow 'certbot renew'" in story


def test_the_story_of_a_refusal_names_the_better_tool_and_that_of_a_run_its_text() -> None:
    """Both ends of the policy."""
    refused = prepared_of("rm -rf x")
    story = explained(refused, facts_of(refused), evaluate(refused, facts_of(refused)))
    assert any(line.startswith("better: ") for line in story)
    allowed = prepared_of("uname -a", RuleSet(allow=PACKS["readonly"]))
    assert "runs: uname -a" in explained(allowed, facts_of(allowed), evaluate(allowed, facts_of(allowed)))


def test_a_doubt_is_told() -> None:
    """Why neither rule nor classifier may decide."""
    prepared = prepared_of("$X")
    assert any(
        line.startswith("doubt: ")
        for line in explained(prepared, facts_of(prepared), evaluate(prepared, facts_of(prepared)))
    )


def test_a_text_that_was_not_read_has_a_story_too() -> None:
    """It ends after the reason."""
    prepared = prepared_of("x" * 70_000)
    story = explained(prepared, facts_of(prepared), evaluate(prepared, facts_of(prepared)))
    assert story[0] == "verdict: refuse (stage deny)"
