"""How often one person may do something: defaults, none, and what is no number."""

from pathlib import Path

import pytest

from tests.unit.config.sample import SMALL, fault, read


def test_the_defaults_are_there_without_the_section(tmp_path: Path) -> None:
    """Sixty of each in an hour; 0 is none."""
    limits = read(tmp_path, SMALL).limits
    assert (limits.turns_per_hour, limits.questions_per_hour) == (60, 60)
    limits = read(tmp_path, f"{SMALL}limits: {{turns_per_hour: 0}}\n").limits
    assert (limits.turns_per_hour, limits.questions_per_hour) == (0, 60)


@pytest.mark.parametrize("value", ["-1", "1001", "many", "1.5", "true"])
def test_what_is_no_limit_is_refused(tmp_path: Path, value: str) -> None:
    """Whole numbers from 0 to 1000."""
    assert fault(tmp_path, "limits.turns_per_hour", f"limits: {{turns_per_hour: {value}}}")
