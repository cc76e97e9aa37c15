"""Who runs where: what the owner named, what the pack knows, what the classifier passed, what a person approved."""

from dataclasses import replace

import pytest

from mtbot.domain.call import CallNeeds, Verdict
from mtbot.policy.allow_rule import AllowRule
from mtbot.policy.classify import floor, read_verdict
from mtbot.policy.owner import Item, rule
from mtbot.policy.readonly import ON_HOST, PACKS
from mtbot.policy.ruleset import Mode, RuleSet
from mtbot.policy.sensitive import Places
from tests.unit.policy.calls import decide, facts_of, prepared_of

PACK = PACKS["readonly"]
MIXED = RuleSet(
    allow=(
        rule("allow[0]", Item(argv=("restic", "backup"))),
        rule("allow[1]", Item(argv=("make", "*"))),
        rule("allow[2]", Item(argv=("npm", "ci"), on_host=True)),
        rule("allow[3]", Item(argv=("report",), on_host=False)),
        *PACK,
    ),
    places=Places(home="/home/mtclaw"),
)
REQUIRED = replace(MIXED, require_containment=True)


@pytest.mark.parametrize(
    ("command", "profile"),
    [
        ("restic backup", "host"),
        ("make all", "contained"),
        ("npm ci", "host"),
        ("report", "contained"),
        ("uptime", "contained"),
        ("docker ps", "host"),
        ("uptime; df -h", "contained"),
        ("uptime; docker ps", "host"),
        ("restic backup | tail -n 3", "host"),
        ("make all | tail -n 3", "contained"),
        ("make all; docker ps", "contained"),
        ("make all; restic backup", "contained"),
    ],
)
def test_where_a_text_runs(command: str, profile: str) -> None:
    """Contained if one rule must be; else on the host if one cannot be."""
    decision = decide(command, MIXED, containment_ready=True)
    assert (decision.verdict, decision.profile) == (Verdict.RUN, profile)


@pytest.mark.parametrize(
    ("command", "needs"),
    [
        ("uptime", CallNeeds(look=("/srv/work",), looks=True)),
        ("cat notes.txt", CallNeeds(look=("/srv/work", "/srv/work/notes.txt"), looks=True)),
        ("grep -r word src", CallNeeds(look=("/srv/work",), read=("/srv/work/src",), looks=True)),
        ("git status", CallNeeds(look=("/srv/work",), repository="/srv/work", looks=True)),
        ("make all", CallNeeds(look=("/srv/work", "/srv/work/all"))),
        ("make all | tail -n 3", CallNeeds(look=("/srv/work", "/srv/work/all"))),
    ],
)
def test_what_it_is_granted(command: str, needs: CallNeeds) -> None:
    """What the rule judged, and no right to write for what only looks."""
    assert decide(command, MIXED, containment_ready=True).needs == needs


@pytest.mark.parametrize("command", ["make all", "uptime", "report"])
def test_missing_is_said_or_refused(command: str) -> None:
    """Never silent."""
    said, refused = decide(command, MIXED), decide(command, REQUIRED)
    assert (said.verdict, said.profile) == (Verdict.RUN, "host, NOT CONTAINED")
    assert (refused.verdict, refused.rule, refused.runs) == (Verdict.REFUSE, "containment.required", None)


@pytest.mark.parametrize("command", ["restic backup", "npm ci", "docker ps"])
def test_what_runs_on_the_host_needs_no_containment(command: str) -> None:
    """Whatever is required."""
    assert decide(command, REQUIRED).profile == "host"


@pytest.mark.parametrize(
    ("profile", "ready", "verdict", "shown"),
    [
        ("host", False, Verdict.ASK, "host"),
        ("contained", True, Verdict.ASK, "contained"),
        ("host, NOT CONTAINED", False, Verdict.REFUSE, "host"),
    ],
)
def test_an_approval_runs_where_the_owner_said(profile: str, ready: bool, verdict: Verdict, shown: str) -> None:
    """The decision names it; where it is required and missing, nobody is asked."""
    decision = decide("touch x", REQUIRED, profile=profile, containment_ready=ready)
    assert (decision.verdict, decision.profile) == (verdict, shown)


def test_an_approval_that_cannot_be_contained_is_still_asked_for_unless_it_must_be() -> None:
    """With its profile saying so."""
    decision = decide("touch x", MIXED, profile="host, NOT CONTAINED")
    assert (decision.verdict, decision.profile) == (Verdict.ASK, "host, NOT CONTAINED")


def test_the_classifier_passes_nothing_uncontained() -> None:
    """The floor says it last, so that a better reason is not hidden; required, it is a refusal."""
    auto = replace(MIXED, allow=(), mode=Mode.AUTO)
    asked = decide("uname -a", auto)
    assert (asked.verdict, asked.reason.split(":")[0], asked.profile) == (Verdict.ASK, "NOT CONTAINED", "host")
    refused = decide("uname -a", replace(auto, require_containment=True))
    assert (refused.verdict, refused.rule) == (Verdict.REFUSE, "containment.required")
    other = decide("curl x", replace(auto, require_containment=True))
    assert (other.verdict, other.reason) == (Verdict.ASK, "curl can send data out")


def test_a_profile_that_is_called_contained_is_not_enough() -> None:
    """What approved commands get says nothing about whether this host can do it."""
    prepared = prepared_of("uname -a", RuleSet(mode=Mode.AUTO))
    assert floor(prepared, facts_of(prepared, profile="contained", containment_ready=False)) is not None


def test_what_the_classifier_passed_gets_the_directory_to_look_at() -> None:
    """And no network."""
    prepared = prepared_of("uname -a", RuleSet(mode=Mode.AUTO))
    answer = '{"risk": "none", "categories": [], "reason": "looks"}'
    decision = read_verdict(answer, prepared, facts_of(prepared, containment_ready=True), RuleSet())
    assert (decision.verdict, decision.profile, decision.needs) == (
        Verdict.RUN,
        "contained",
        CallNeeds(look=("/srv/work",)),
    )


def test_no_entry_of_the_pack_with_the_network_is_contained() -> None:
    """It would run without the owner's accounts in HOME; and what is listed as on the host is."""

    def wrong(entry: AllowRule) -> bool:
        return entry.needs.confinable and (entry.needs.network or entry.program in ON_HOST)

    assert [entry.id for entry in PACK if wrong(entry)] == []
    assert {entry.program for entry in PACK} >= ON_HOST
