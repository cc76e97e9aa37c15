"""The classifier's answer is read strictly, and the floor holds whatever it says."""

import json

import pytest

from mtbot.domain.call import Verdict
from mtbot.policy.classify import MAX_ANSWER, floor, question, read_verdict
from mtbot.policy.ruleset import RuleSet
from tests.unit.policy.calls import facts_of, prepared_of

CALM = json.dumps({"risk": "low", "categories": [], "reason": "looks only"})


def answer(risk: str = "low", categories: object = (), reason: object = "r") -> str:
    """An answer text."""
    return json.dumps(
        {
            "risk": risk,
            "categories": list(categories) if isinstance(categories, tuple) else categories,
            "reason": reason,
        }
    )


def judged(text: str, command: str = "uname -a", rules: RuleSet | None = None, **changes: object) -> Verdict:
    """The verdict on an answer; containment is ready unless changed."""
    prepared = prepared_of(command, rules)
    facts = facts_of(prepared, **{"profile": "contained", "containment_ready": True, **changes})
    return read_verdict(text, prepared, facts, rules or RuleSet()).verdict


def test_a_calm_answer_runs_the_canonical_form_contained() -> None:
    """none and low, without a category."""
    prepared = prepared_of("uname   -a")
    facts = facts_of(prepared, containment_ready=True)
    decision = read_verdict(CALM, prepared, facts, RuleSet())
    assert (decision.verdict, decision.runs, decision.profile) == (Verdict.RUN, "uname -a", "contained")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "low",
        "[]",
        "{}",
        "x" * (MAX_ANSWER + 1),
        "[" * 3000,
        '{"risk": "low", "categories": []}',
        '{"risk": "low", "categories": [], "reason": "r", "more": 1}',
        answer("medium"),
        answer(reason=5),
        answer(categories="network"),
        answer(categories=("gardening",)),
        answer("high"),
        answer(categories=("network",)),
        answer(categories=(" Secret Access ",)),
        "```json\n" + CALM + "\n```",
    ],
)
def test_every_doubt_asks(text: str) -> None:
    """Anything but the one clean shape goes to a person."""
    assert judged(text) is Verdict.ASK


def test_a_category_that_the_owner_does_not_confirm_may_pass() -> None:
    """confirm_on decides."""
    assert judged(answer(categories=("network",)), rules=RuleSet(confirm_on=frozenset({"destructive"}))) is Verdict.RUN


@pytest.mark.parametrize("command", ["ls *", "curl x", "touch x", "./x", "python3 x", "sudo ls", "make", "'"])
def test_no_answer_lifts_the_floor(command: str) -> None:
    """Not even a calm one."""
    assert judged(CALM, command) is Verdict.ASK


def test_a_tainted_turn_is_below_the_floor() -> None:
    """Text from outside may have written the command."""
    assert judged(CALM, tainted=True) is Verdict.ASK


def test_without_containment_nothing_passes() -> None:
    """What no person saw must not run on the bare host."""
    assert judged(CALM, profile="host", containment_ready=False) is Verdict.ASK


def test_the_floor_is_silent_for_a_plain_quiet_command() -> None:
    """Otherwise auto mode would never do anything."""
    prepared = prepared_of("uname -a")
    assert floor(prepared, facts_of(prepared, containment_ready=True)) is None


def test_a_text_that_was_not_read_is_below_the_floor() -> None:
    """Too long is not plain."""
    prepared = prepared_of("x" * 70_000)
    assert floor(prepared, facts_of(prepared, containment_ready=True)) is not None


def test_the_question_holds_command_cwd_and_shell_and_nothing_else() -> None:
    """A page cannot speak to the classifier."""
    system, user = question("ls", "/srv", ("/bin/bash", "-c"))
    assert json.loads(user) == {"command": "ls", "cwd": "/srv", "shell": ["/bin/bash", "-c"]}
    assert "destructive, privileged, network, secret_access" in system
