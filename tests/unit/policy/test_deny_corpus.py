"""The reviewed commands of tests/corpus: what is refused by which rule, and what is not."""

import json
from pathlib import Path

import pytest

from mtbot.policy import deny

CORPUS = Path(__file__).parents[2] / "corpus"
RULES = deny.compile_rules()


def _rows(name: str) -> list[dict[str, str | None]]:
    rows: list[dict[str, str | None]] = [json.loads(line) for line in (CORPUS / name).read_text("utf-8").splitlines()]
    return rows


@pytest.mark.parametrize("row", _rows("deny.jsonl"), ids=lambda row: str(row["command"]))
def test_a_dangerous_command_is_refused_by_the_rule_that_means_it(row: dict[str, str | None]) -> None:
    """Every way of writing it that a reader can resolve is refused, by the strictest rule that fits."""
    _, outcome = deny.look(str(row["command"]), RULES)
    assert isinstance(outcome, deny.Denial)
    assert (outcome.rule_id, outcome.level.value) == (row["rule"], row["verdict"])


@pytest.mark.parametrize("row", _rows("not_deny.jsonl"), ids=lambda row: str(row["command"]))
def test_a_mention_is_named_and_never_refused(row: dict[str, str | None]) -> None:
    """Dangerous words that no reading shows in command position are at most named."""
    _, outcome = deny.look(str(row["command"]), RULES)
    assert not isinstance(outcome, deny.Denial)
    assert (None if outcome is None else outcome.rule_id) == row["rule"]


def test_every_row_says_why_and_stands_once() -> None:
    """A row without a reason cannot be reviewed; a command stands in one list only."""
    rows = [*_rows("deny.jsonl"), *_rows("not_deny.jsonl")]
    assert [row for row in rows if not row["why"]] == []
    assert len({row["command"] for row in rows}) == len(rows)
