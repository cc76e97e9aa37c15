"""Which files a grant is bound to beside its words, and what is told of grants to whoever asks about a command."""

from dataclasses import replace

import pytest

from mtbot.domain.call import MISSING, Decision, Stage, Verdict
from mtbot.domain.grant import Grant
from mtbot.domain.ids import ApprovalId, CallId, Digest
from mtbot.domain.record import Via
from mtbot.policy import grants
from mtbot.policy.effects import MAX_CONTENTS
from mtbot.policy.evaluate import evaluate
from tests.unit.policy.calls import PLACE, prepared_of
from tests.unit.policy.test_grants import CHIEF, HEX, MINUTE, RULES, granted, looked, why_not


def test_the_files_that_a_script_of_the_owner_is_given_are_bound() -> None:
    """Another content, a file where there was none."""
    command = "/srv/deploy.sh conf"
    prepared, facts = looked(command)
    assert facts.contents == {"conf": HEX}
    for content in ("b" * 64, MISSING):
        assert grants.obstacle(prepared, replace(facts, contents={"conf": content})) is None
        changed = replace(facts, contents={"conf": content}, grants=(granted(command),))
        assert evaluate(prepared, changed).verdict is Verdict.ASK
    assert evaluate(prepared, replace(facts, grants=(granted(command),))).verdict is Verdict.RUN


def test_what_of_them_cannot_be_bound_is_not_granted() -> None:
    """A directory, what cannot be read, what nobody looked at, and more files than are looked at."""
    for contents in ({"conf": "(unreadable)"}, {}):
        assert why_not("/srv/deploy.sh conf", contents=contents) == "the content of /srv/work/conf cannot be fixed"
    many = "/srv/deploy.sh " + " ".join(f"f{number}" for number in range(MAX_CONTENTS + 1))
    assert why_not(many) == f"the content of /srv/work/f{MAX_CONTENTS} cannot be fixed"
    assert why_not(many.rpartition(" ")[0]) is None


def test_a_link_is_judged_by_where_it_leads() -> None:
    """Its own name says nothing."""
    leads = {"/srv/touch": "/usr/bin/gcc", "a": "/srv/work/a"}
    said = why_not("/srv/touch a", resolved=leads, operand_digests={"/usr/bin/gcc": HEX})
    assert said is not None
    assert said.startswith("/srv/touch may obey files")
    leads = {"/srv/x": "/usr/bin/touch", "a": "/srv/work/a"}
    assert why_not("/srv/x a", resolved=leads, operand_digests={"/usr/bin/touch": HEX}) is None


def test_what_obeys_its_words_alone_is_bound_to_no_content() -> None:
    """What it writes changes with every run."""
    assert looked("dd if=a of=b")[0].wants.contents == ()


@pytest.mark.parametrize(
    ("command", "granted_for", "same"),
    [
        ("touch  'a'", "touch a", True),
        ("touch a", "touch 'a'", True),
        ("touch a b", "touch 'a b'", False),
        ("touch a 2>&1", "touch a", False),
        ("touch a; touch a", "touch a", False),
        ("touch a", "touch $a", False),
        ("touch a", "touch a; touch b", False),
    ],
)
def test_a_grant_is_known_by_its_words(command: str, granted_for: str, same: bool) -> None:
    """However they are quoted, and never by their text."""
    grant = Grant(
        ApprovalId("K7QD"), CallId("c"), PLACE, CHIEF, CHIEF, Via.BUTTON, granted_for, Digest(HEX), "t", 0, MINUTE
    )
    assert grants.for_these_words(grant, prepared_of(command, RULES)) is same


@pytest.mark.parametrize(
    ("command", "decision", "said"),
    [
        ("touch a", None, "a person can allow exactly this for 15 min"),
        (
            "gcc a",
            None,
            "a person can only approve it once: gcc may obey files whose content can change, so a yes to its words would not fix what it does",
        ),
        ("touch a", Decision(Verdict.CLASSIFY, Stage.MODE, None, ""), "a person can allow exactly this for 15 min"),
        (
            "touch a",
            Decision(Verdict.ASK, Stage.PARSE, None, ""),
            "a person can only approve it once: what asks for this reason asks every time",
        ),
        ("touch a", Decision(Verdict.RUN, Stage.ALLOW, None, ""), ""),
        ("touch a", Decision(Verdict.REFUSE, Stage.DENY, None, ""), ""),
    ],
)
def test_whether_it_could_be_granted_is_told(command: str, decision: Decision | None, said: str) -> None:
    """For `mtclaw policy explain`."""
    prepared, facts = looked(command)
    assert grants.told(prepared, facts, decision or evaluate(prepared, facts)) == said


def test_no_minutes_are_the_reason() -> None:
    """The owner's own setting."""
    prepared, facts = looked("touch a", replace(RULES, grant_minutes=0))
    said = grants.told(prepared, facts, evaluate(prepared, facts))
    assert said == "a person can only approve it once: tools.exec.grant_minutes is 0"
