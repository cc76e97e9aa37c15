"""Every rule about the code holds in every file, and every rule sees what it is there for."""

import pytest

from tests.architecture.border_rules import BORDER_RULES
from tests.architecture.rule import CodeRule
from tests.architecture.size_rules import SIZE_RULES
from tests.architecture.sources import Source, sources
from tests.architecture.writing_rules import WRITING_RULES

RULES = (*SIZE_RULES, *BORDER_RULES, *WRITING_RULES)

every_rule = pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])


@every_rule
def test_no_file_breaks_the_rule(rule: CodeRule) -> None:
    """The whole project keeps each rule."""
    faults = rule.faults(*sources())
    if faults:
        pytest.fail(f"{rule.name}:\n" + "\n".join(faults), pytrace=False)


@every_rule
def test_the_rule_sees_what_breaks_it(rule: CodeRule) -> None:
    """Each rule objects once to each planted sample, by its place."""
    seen = [[fault.partition(":")[0] for fault in rule.faults(Source(*sample))] for sample in rule.planted]
    assert seen == [[path] for path, _ in rule.planted]


@every_rule
def test_the_rule_spares_what_keeps_it(rule: CodeRule) -> None:
    """No rule objects to the nearest thing that is in order."""
    assert rule.faults(*(Source(*sample) for sample in rule.spared)) == []


def test_rules_have_names_of_their_own() -> None:
    """A rule is reported under a name that no other has."""
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_all_four_trees_are_read() -> None:
    """The rules see the product, the tests and the migrations."""
    assert {"mtbot/gate/gate.py", "tests/conftest.py", "migrations/env.py"} <= {source.path for source in sources()}
