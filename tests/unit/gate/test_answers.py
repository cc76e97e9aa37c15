"""What the model reads instead of a result ends the attempt and never says how to get around it."""

import pytest

from mtbot.domain.call import Decision, Stage, Verdict
from mtbot.domain.record import ApprovalState, Ruling, Via
from mtbot.domain.turn import SYSTEM, Actor, ActorKind
from mtbot.gate import answers

END = "Do not try to reach the same end by other means; say to the person what was not done."
CHIEF = Actor(ActorKind.TELEGRAM, 1001, "Chief")


def decision(better: str = "", rule: str | None = "files.rm-recursive") -> Decision:
    """A refusal with a hint for people in it."""
    return Decision(
        Verdict.REFUSE,
        Stage.DENY,
        rule,
        "recursive or forced delete",
        better=better,
        permit_hint="mtclaw policy soften files.rm-recursive",
    )


def ruled(state: ApprovalState, via: Via = Via.BUTTON, reason: str = "") -> str:
    """The answer after a ruling."""
    return answers.ruled_out(Ruling(state, CHIEF, via, 0, reason))


ALL = {
    "refused": (
        answers.refused(decision("The trash tool.")),
        (
            "Refused by policy (rule files.rm-recursive): recursive or forced delete. "
            f"This cannot be approved or rephrased. Better: The trash tool. {END}"
        ),
    ),
    "refused without a rule": (
        answers.refused(decision(rule=None)),
        f"Refused by policy: recursive or forced delete. This cannot be approved or rephrased. {END}",
    ),
    "nobody to ask": (
        answers.nobody_to_ask(Decision(Verdict.ASK, Stage.MODE, None, "no rule allows it.")),
        f"Not run: this needs a person's approval (no rule allows it) and nobody can be asked here. {END}",
    ),
    "cannot ask": (
        answers.cannot_ask("nobody has decided"),
        f"Not run: the person could not be asked (nobody has decided). {END}",
    ),
    "denied": (ruled(ApprovalState.DENIED), f"Not run: the person denied it. {END}"),
    "denied with a reason": (
        ruled(ApprovalState.DENIED, Via.REPLY, 'only "security" updates,\nand the list first'),
        f'Not run: the person denied it. They said: "only "security" updates,\nand the list first" {END}',
    ),
    "stopped": (ruled(ApprovalState.DENIED, Via.STOP), "Not run: the person stopped this turn."),
    "revoked": (ruled(ApprovalState.REVOKED), f"Not run: the approval was revoked. {END}"),
    "expired": (
        answers.ruled_out(Ruling(ApprovalState.EXPIRED, SYSTEM, Via.EXPIRY, 0, "timeout")),
        f"Not run: nobody answered in time, so the request expired. {END}",
    ),
    "changed": (
        answers.changed("what it would run"),
        (
            "Not run: what it would run changed between the question and the approval. "
            "Propose the call again if it is still wanted."
        ),
    ),
    "unknown tool": (
        answers.unknown_tool("exce", ("exec", "read_file")),
        "There is no tool 'exce' here, or it is switched off. Tools: exec, read_file.",
    ),
    "no tools": (
        answers.unknown_tool("x" * 999, ()),
        f"There is no tool '{'x' * 64}' here, or it is switched off. Tools: none.",
    ),
    "bad arguments": (
        answers.bad_arguments("exec", "missing argument command"),
        "Nothing was run: exec: missing argument command.",
    ),
    "no record": (
        answers.no_record("the disk is full"),
        (
            "Not run: the record cannot be written (the disk is full), and nothing runs without its record. "
            "Tell the person."
        ),
    ),
}


@pytest.mark.parametrize(("said", "words"), ALL.values(), ids=list(ALL))
def test_the_words_are_these(said: str, words: str) -> None:
    """Rule and better tool, a person's own words, and what to do next."""
    assert said == words


@pytest.mark.parametrize("said", [said for said, _ in ALL.values()], ids=list(ALL))
def test_none_says_how_a_rule_could_be_changed(said: str) -> None:
    """That is for people only."""
    assert "mtclaw policy" not in said
    assert "soften" not in said


@pytest.mark.parametrize("said", [said for said, _ in ALL.values()], ids=list(ALL))
def test_each_counts_as_a_call_that_came_to_nothing(said: str) -> None:
    """So that a model that goes in circles is stopped."""
    assert answers.came_to_nothing(said)


def test_a_result_counts_as_something() -> None:
    """However it ended."""
    assert not answers.came_to_nothing("exit_code: 1\nduration_ms: 3\noutput:\nNot run: just words")
    assert not answers.came_to_nothing("")
