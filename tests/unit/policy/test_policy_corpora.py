"""Six thousand commands of everyday use and of attack, each with the verdict that was reviewed for it.

Rows come from what other guards are tested with; `labels` is what those guards' tests expect of the command, `verdict`
and `rule` are what mtclaw says under the default deny rules with the read-only pack switched on, `why` is the review.
A change of the policy that moves a row has to move it here too, where a reader of the change sees it.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from mtbot.domain.call import Decision, Verdict
from mtbot.policy.evaluate import evaluate
from mtbot.policy.lexer import Literal, lex
from mtbot.policy.readonly import READONLY
from mtbot.policy.ruleset import RuleSet
from mtbot.policy.sensitive import Places
from tests.unit.policy.calls import facts_of, prepared_of

CORPUS = Path(__file__).parents[2] / "corpus"
RULES = RuleSet(allow=READONLY, packs=("readonly",), places=Places(home="/home/mtclaw"))

REFUSED_ON_PURPOSE = "files.rm-recursive"
"""The one built-in rule that other guards knowingly do not have."""


@dataclass(frozen=True, slots=True)
class Row:
    """One reviewed command."""

    command: str
    labels: tuple[str, ...]
    verdict: Verdict
    rule: str | None
    why: str


@cache
def rows(verdict: Verdict) -> tuple[Row, ...]:
    """The rows of one verdict, as they were reviewed."""
    lines = (CORPUS / f"reviewed_{verdict.value}.jsonl").read_text("utf-8").splitlines()
    read = (json.loads(line) for line in lines)
    return tuple(
        Row(one["command"], tuple(one["labels"]), Verdict(one["verdict"]), one["rule"], one["why"]) for one in read
    )


def every_row() -> Iterable[Row]:
    """The rows of all verdicts."""
    return (row for verdict in (Verdict.RUN, Verdict.ASK, Verdict.REFUSE) for row in rows(verdict))


def decide(command: str) -> Decision:
    """The decision in /srv/work, where every word leads below it or to where it says, and nothing sensitive lies below."""
    prepared = prepared_of(command, RULES)
    resolved = {word: posixpath.normpath(posixpath.join("/srv/work", word)) for word in prepared.wants.paths}
    return evaluate(prepared, facts_of(prepared, resolved=resolved))


@pytest.mark.parametrize("verdict", [Verdict.RUN, Verdict.ASK, Verdict.REFUSE])
def test_every_command_gets_the_verdict_that_was_reviewed(verdict: Verdict) -> None:
    """Verdict and rule are as they stand in the row."""
    moved = []
    for row in rows(verdict):
        decision = decide(row.command)
        if (decision.verdict, decision.rule) != (verdict, row.rule) or row.verdict is not verdict:
            moved.append((row.command, row.rule, decision.verdict.value, decision.rule, decision.reason))
    assert moved == []


def test_nothing_that_another_guard_stops_runs() -> None:
    """No command that any of those projects denies or asks about is run by the pack."""
    assert [row for row in rows(Verdict.RUN) if set(row.labels) != {"allow"}] == []


def test_what_others_allow_is_hardly_ever_refused() -> None:
    """A refusal of such a command names its rule and reason, and beside recursive removal they are fewer than one in 200."""
    allowed = [row for row in every_row() if "allow" in row.labels]
    refused = [row for row in allowed if row.verdict is Verdict.REFUSE]
    assert [row for row in refused if not row.rule] == []
    others = [row for row in refused if row.rule != REFUSED_ON_PURPOSE]
    assert {row.rule for row in others} == {"git.force-push", "files.find-delete", "elevation.form"}
    assert len(others) <= 0.005 * len(allowed)


def test_seven_tenths_of_what_others_allow_run_without_a_question() -> None:
    """Of the literal commands that those projects allow, at least 70 in 100 run by the pack."""
    literal = [row for row in every_row() if "allow" in row.labels and isinstance(lex(row.command), Literal)]
    ran = [row for row in literal if row.verdict is Verdict.RUN]
    assert len(literal) > 3000
    assert len(ran) >= 0.7 * len(literal)


def test_every_row_says_why_and_stands_once() -> None:
    """A row without a reason cannot be reviewed, and a command has one verdict."""
    everything = list(every_row())
    assert [row for row in everything if not row.why or not row.labels] == []
    assert len({row.command for row in everything}) == len(everything) > 6000


def test_a_row_can_fail() -> None:
    """The comparison has eyes: without the pack the rows that run do not."""
    prepared = prepared_of("git status", RuleSet())
    assert evaluate(prepared, facts_of(prepared)).verdict is Verdict.ASK
