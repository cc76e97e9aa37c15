"""Commands that change the user: in which form they are asked about, and that nothing but a person runs them."""

from dataclasses import replace

import pytest

from mtbot.config.tools import DEFAULT_PATH
from mtbot.domain.call import UNCONTAINED, Decision, Stage, Verdict
from mtbot.domain.process import CONTAINED, HOST
from mtbot.domain.turn import SurfaceName
from mtbot.policy import argv_pattern, elevation, owner, readings
from mtbot.policy.allow_rule import AllowRules
from mtbot.policy.deny import compile_rules
from mtbot.policy.effects import prepare
from mtbot.policy.evaluate import evaluate
from mtbot.policy.lexer import lex
from mtbot.policy.readonly import READONLY
from mtbot.policy.ruleset import Mode, RuleSet
from tests.unit.policy.calls import EXEC, call_of, decide, facts_of, prepared_of

LISTED = RuleSet(elevation=(argv_pattern.parse(("sudo", "systemctl", "restart", "*")),))
RULE = owner.rule("allow[0]", owner.Item(argv=("sudo", "apt-get", "update")))
TEXT_RULE = owner.rule("allow[1]", owner.Item(regex=r"sudo .*"))
MODES = [
    RuleSet(),
    RuleSet(mode=Mode.AUTO),
    RuleSet(allow=AllowRules((RULE, TEXT_RULE))),
    RuleSet(mode=Mode.AUTO, allow=AllowRules((RULE, TEXT_RULE, *READONLY)), packs=("readonly",)),
]


def at_night(command: str, rules: RuleSet) -> Decision:
    """What a scheduled job gets, also one whose questions wait for a person."""
    call = call_of("exec", {"command": command})
    job = replace(call, address=replace(call.address, surface=SurfaceName.CRON, label="job:x"))
    prepared = prepare(job, EXEC, rules)
    return evaluate(prepared, facts_of(prepared, attended=True))


@pytest.mark.parametrize("rules", MODES)
@pytest.mark.parametrize(
    "command", ["sudo apt-get update", "sudo ls -l '/a b'", "sudo -- ls", "su -c ls", "doas ls", "pkexec ls", "sudo id"]
)
def test_nothing_but_a_person_runs_it(rules: RuleSet, command: str) -> None:
    """No rule of the owner that names it, no pack, no classifier; and nobody in a job."""
    by_day = decide(command, rules, containment_ready=True)
    assert by_day.verdict in (Verdict.ASK, Verdict.REFUSE)
    assert by_day.runs is None
    by_night = at_night(command, rules)
    assert (by_night.verdict, by_night.rule) == (Verdict.REFUSE, elevation.SCHEDULED)


@pytest.mark.parametrize(
    "command", ["sudo apt-get -y full-upgrade", "sudo id", "sudo env A=1 id", "sudo ssh h sudo id"]
)
def test_the_right_form_is_a_question_for_the_host(command: str) -> None:
    """Without a button, on the host, whatever approved commands are contained in."""
    for profile in (HOST, CONTAINED, UNCONTAINED):
        decision = decide(command, replace(RuleSet(), require_containment=True), profile=profile)
        assert (decision.verdict, decision.rule, decision.stage) == (Verdict.ASK, elevation.HOST, Stage.PERSON)
        assert (decision.elevates, decision.owner_only, decision.profile) == (True, False, HOST)


@pytest.mark.parametrize(
    "command",
    [
        "su -c id",
        "nohup doas id",
        "pkexec id",
        "env runuser -u x id",
        "sudoedit /etc/hosts",
        "ssh h 'sudo id'",
        "ssh h sudo -u x id",
    ],
)
def test_other_ways_are_questions_for_the_host_in_any_wrapper(command: str) -> None:
    """Nobody can approve them in a chat; the person at the host sees them whole."""
    decision = decide(command)
    assert (decision.verdict, decision.rule, decision.elevates) == (Verdict.ASK, elevation.HOST, True)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("sh -c 'sudo id'", "stands first and by its bare name"),
        ("env sudo id", "stands first and by its bare name"),
        ("nohup sudo id", "stands first and by its bare name"),
        ("/usr/bin/sudo id", "stands first and by its bare name"),
        ("timeout 5 sudo id", "stands first and by its bare name"),
        ("sudo id; id", "without a pipe or another command"),
        ("sudo id && sudo ls", "without a pipe or another command"),
        ("cd /srv && sudo id", "without a pipe or another command"),
        ("echo x | sudo tee /srv/x", "without a pipe or another command"),
        ("sudo id 2>/dev/null", "without redirects"),
        ("sudo id > x", "nothing in it is left to a shell"),
        ("sudo ls *", "nothing in it is left to a shell"),
        ("sudo ls $HOME", "nothing in it is left to a shell"),
        ("sudo ls `pwd`", "nothing in it is left to a shell"),
        ("A=1 sudo id", "nothing in it is left to a shell"),
        ("sudo id &", "nothing in it is left to a shell"),
        ("x=sudo; $x id", "nothing in it is left to a shell"),
        ("echo sudo id | sh", "without a pipe or another command"),
        ("'sudo' id", "nothing in it is left to a shell"),
        ("sudo 'unclosed", "nothing in it is left to a shell"),
        ("sudo", "without a program"),
        ("sudo -u deploy id", "no options of its own"),
        ("sudo -n id", "no options of its own"),
        ("sudo -- id", "no options of its own"),
        ("sudo -i", "no options of its own"),
        ("sudo /usr/bin/id", "by its bare name, without a path"),
        ("sudo ./x", "by its bare name, without a path"),
        ("sudo A=1 id", "by its bare name, without a path"),
        ("sudo ''", "by its bare name, without a path"),
        ("sudo ..", "by its bare name, without a path"),
        ("sudo su -", "su inside sudo"),
        ("sudo sudo id", "sudo inside sudo"),
        ("sudo env sudo id", "sudo inside sudo"),
        ("doas sudo id", "sudo inside doas"),
        ("su -c 'doas id'", "doas inside su"),
        ("sudo sh -c 'pkexec id'", "pkexec inside sudo"),
    ],
)
def test_any_other_form_is_refused_with_the_reason(command: str, why: str) -> None:
    """And with the one that is asked about."""
    decision = decide(command)
    assert (decision.verdict, decision.rule) == (Verdict.REFUSE, elevation.FORM)
    assert why in decision.reason
    assert "sudo PROGRAM ARGUMENTS" in decision.better


def test_deny_rules_come_first() -> None:
    """No form and no list lifts them."""
    everything = RuleSet(elevation=(argv_pattern.parse(("sudo", "shutdown", "now")),))
    assert decide("sudo rm -rf /").rule == "files.wipe-root"
    assert decide("sudo shutdown now", everything).verdict is Verdict.REFUSE
    assert decide("sudo id", RuleSet(deny=compile_rules(owner=("sudo",)))).rule == "deny[0]"
    assert decide("sudo id", RuleSet(mode=Mode.OFF)).rule == "mode.off"


def test_what_is_listed_may_be_approved_by_the_owner_in_a_chat() -> None:
    """Exactly that: one word more, another program, another spelling of the form is not."""
    decision = decide("sudo systemctl restart nginx", LISTED, profile=CONTAINED)
    assert (decision.verdict, decision.rule) == (Verdict.ASK, elevation.CHAT)
    assert (decision.elevates, decision.owner_only, decision.profile) == (False, True, HOST)
    for command in ("sudo systemctl stop nginx", "sudo systemctl restart a b", "sudo systemctl restart -f", "su -c x"):
        assert decide(command, LISTED).rule == elevation.HOST
    assert decide("env sudo systemctl restart nginx", LISTED).rule == elevation.FORM
    assert decide("sudo systemctl restart ng*", LISTED).rule == elevation.FORM
    assert at_night("sudo systemctl restart nginx", LISTED).rule == elevation.SCHEDULED


def test_both_readers_have_to_see_what_is_listed() -> None:
    """A text that is read in two ways is for the host."""
    literal = lex("sudo systemctl restart nginx")
    patterns = LISTED.elevation
    assert elevation.chat_may_approve(patterns, literal, [("sudo", "systemctl", "restart", "nginx")])
    assert not elevation.chat_may_approve(patterns, literal, None)
    assert not elevation.chat_may_approve(patterns, literal, [("sudo", "systemctl", "restart", "other")])
    two = lex("sudo systemctl restart nginx; id")
    assert not elevation.chat_may_approve(patterns, two, [("sudo", "systemctl", "restart", "nginx"), ("id",)])


def test_a_text_that_was_not_lexed_has_no_form() -> None:
    """Whatever the readings show."""
    assert elevation.form_fault(readings.read("sudo id"), None) is not None
    assert elevation.form_fault(readings.read("id"), None) is None
    assert prepared_of("sudo id").literal is not None


def test_the_default_path_has_no_place_of_the_users_own() -> None:
    """A bare name is looked up where only root writes."""
    assert all(place.startswith(("/usr/", "/sbin", "/bin")) for place in DEFAULT_PATH)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["sudo", "id"], None),
        (["sudo", "systemctl", "restart", "*"], None),
        (["sudo", "apt-get", "**"], None),
        ([], "the list is empty"),
        (["sudo", "**", "x"], "** may only be the last word"),
        (["ls"], "must begin with sudo"),
        (["sudo"], "sudo without a program runs nothing"),
        (["sudo", "*"], "must write out the program that sudo runs"),
        (["sudo", "-u"], "sudo takes no options of its own here"),
        (["sudo", "doas", "id"], "doas inside sudo: the user is changed once"),
    ],
)
def test_a_pattern_is_of_the_form_that_is_asked_about(words: list[str], why: str | None) -> None:
    """Otherwise the owner would list what never matches."""
    assert elevation.pattern_fault(words) == why
