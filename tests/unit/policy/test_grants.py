"""What may be granted, what a grant is bound to, and when it holds; pure, so that each condition is tried both ways."""

from dataclasses import replace

import pytest

from mtbot.domain.call import UNCONTAINED, Below, Decision, Facts, Stage, Verdict
from mtbot.domain.grant import Grant, rule_of
from mtbot.domain.ids import ApprovalId, BotName, CallId, ChatId, Digest, ThreadId, UserId
from mtbot.domain.record import ApprovalState, Offer, Ruling, Via
from mtbot.domain.turn import SYSTEM, Actor, ActorKind, SurfaceName
from mtbot.policy import allow, grants
from mtbot.policy.effects import Prepared
from mtbot.policy.evaluate import evaluate
from mtbot.policy.lexer import Literal, lex
from mtbot.policy.people import Approvers, BotPeople, Deciders, GroupPeople, People
from mtbot.policy.reading_values import Doubt
from mtbot.policy.readonly import READONLY
from mtbot.policy.ruleset import Mode, Root, RootAccess, RuleSet
from mtbot.policy.sensitive import Places
from tests.unit.policy.calls import PLACE, facts_of, prepared_of

RULES = RuleSet(
    places=Places(home="/home/mtclaw", own=("/srv/work/state",)),
    roots=(Root("/srv/work"), Root("/srv/data", RootAccess.READ)),
    grant_minutes=15,
)
MINUTE = 60_000
CHIEF = Actor(ActorKind.TELEGRAM, 1001, "Chief")
HEX = "a" * 64


def looked(command: str, rules: RuleSet = RULES, **changes: object) -> tuple[Prepared, Facts]:
    """A call and its facts; each program is found, each script has its content."""
    prepared = prepared_of(command, rules)
    programs = {word: f"/usr/bin/{word}" for word in prepared.wants.programs}
    facts = facts_of(prepared, **{"programs": programs, **changes})
    if "contents" not in changes:
        facts = replace(facts, contents=dict.fromkeys(prepared.wants.contents, HEX))
    if facts.operand_digests == {} and "operand_digests" not in changes:
        facts = replace(facts, operand_digests={facts.resolved.get(word, word): HEX for word in prepared.wants.scripts})
    return prepared, facts


def why_not(command: str, rules: RuleSet = RULES, **changes: object) -> str | None:
    """What keeps it from being granted."""
    return grants.obstacle(*looked(command, rules, **changes))


@pytest.mark.parametrize(
    "command",
    [
        "touch a",
        "mkdir -p a/b",
        "cp a b",
        "rm a",
        "dd if=a of=b",
        "touch a 2>&1",
        "dd if=a of=/dev/null >/dev/null",
        "/usr/bin/touch a",
        "/srv/deploy.sh now",
        "/srv/deploy.sh a --x=b -oc 2>&1",
        "/srv/deploy.sh /dev/null",
        "systemctl restart jellyfin",
        "cat /etc/hosts",
        "df -h",
        "uptime",
    ],
)
def test_what_may_be_granted(command: str) -> None:
    """Plain, fixed, and inside the workspace, or known to look only."""
    assert why_not(command) is None
    prepared, facts = looked(command)
    offer = grants.offer(prepared, facts, evaluate(prepared, facts))
    assert offer == Offer(grants.binding(prepared, facts), 15 * MINUTE)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("bash x", "only one plain command"),
        ("touch a; touch b", "only one plain command"),
        ("curl http://x/", "curl can send data out"),
        ("openssl s_client", "openssl may obey files whose content can change"),
        ("gcc -o x x.c", "gcc may obey files"),
        ("gcc @options", "gcc may obey files"),
        ("pandoc --filter=f a.md", "pandoc may obey files"),
        ("ffmpeg -i a b", "ffmpeg may obey files"),
        ("some-program", "some-program may obey files"),
        ("/usr/bin/gcc @options", "/usr/bin/gcc may obey files"),
        ("/usr/local/bin/some-program a", "/usr/local/bin/some-program may obey files"),
        ("/usr/bin/cat a", "/usr/bin/cat may obey files"),
        ("systemctl stop x", "of systemctl only starting and restarting"),
        ("systemctl restart", "of systemctl only starting and restarting"),
        ("systemctl restart --user x", "of systemctl only starting and restarting"),
        ("cp -r a b", "of cp only plain copies"),
        ("zpool scrub tank", "zpool may obey files"),
        ("tar xf a", "tar can change things outside the workspace"),
        ("unzip a", "unzip can change things outside the workspace"),
        ("split a", "split can change things outside the workspace"),
        ("touch /etc/x", "/etc/x is outside the workspace"),
        ("touch /srv/data/x", "/srv/data/x is outside the workspace"),
        ("/srv/deploy.sh -o/etc/x", "/etc/x is outside the workspace"),
        ("touch /home/mtclaw/.ssh/id_rsa", "/home/mtclaw/.ssh/id_rsa is sensitive"),
        ("/srv/deploy.sh .env", "/srv/work/.env is sensitive"),
        ("touch .git", "/srv/work/.git is sensitive"),
        ("/srv/deploy.sh /home/mtclaw", "something sensitive lies below /home/mtclaw"),
        ("/srv/work/deploy.sh", "/srv/work/deploy.sh lies where files can be written"),
        ("/opt/bin/bash x", "only one plain command"),
        ("touch 'a=~/b'", "only one plain command"),
        ("journalctl -u nginx", "it asks other machines, or only looks in an environment of its own"),
        ("ping -c 1 x", "ping can send data out"),
        ("grep -r x sub", "what lies below"),
        ("gunicorn app:app", "only one plain command"),
        ("latexmk a", "only one plain command"),
        ("nginx -c a", "nginx may obey files"),
        ("dbus-send a", "dbus-send may obey files"),
        ("yt-dlp x", "yt-dlp may obey files"),
    ],
)
def test_what_may_not(command: str, reason: str) -> None:
    """Each for its own reason, which decides alone."""
    below = {"sub": Below.UNKNOWN}
    found = why_not(command, below=below)
    assert found is not None
    assert found.startswith(reason)
    prepared, facts = looked(command, below=below)
    asking = Decision(Verdict.ASK, Stage.MODE, None, "")
    assert grants.offer(prepared, facts, asking) is None


def test_what_the_world_says_may_stand_against_it() -> None:
    """A program that is not there, content that cannot be fixed, a link to a shell, a word nobody looked at."""
    assert why_not("touch a", programs={"touch": "(none)"}) == "touch is no program that was found"
    assert why_not("touch a", programs={}) == "touch is no program that was found"
    assert why_not("/srv/x", operand_digests={"/srv/x": "(unreadable)"}) == "the content of /srv/x cannot be fixed"
    assert why_not("/srv/x", resolved={"/srv/x": "/bin/bash"}, operand_digests={"/bin/bash": HEX}) == "bash is a shell"
    assert (
        why_not("/srv/x", resolved={"/srv/x": "/bin/curl"}, operand_digests={"/bin/curl": HEX})
        == "curl can send data out"
    )
    assert why_not("touch a", resolved={}) == "nobody looked where a leads"
    assert why_not("touch a", unbound=("touch",)) == "the content of what touch runs cannot be fixed"
    assert why_not("touch a", resolved={"a": "/etc/a"}) is not None


def test_where_and_when_it_is_never_granted() -> None:
    """Nobody there, text from outside, no minutes, a rule that is about it."""
    assert why_not("touch a", attended=False) == "nobody is there"
    assert why_not("touch a", tainted=True) == "text from outside is in this turn"
    prepared, facts = looked("touch a", replace(RULES, grant_minutes=0))
    assert grants.offer(prepared, facts, Decision(Verdict.ASK, Stage.MODE, None, "")) is None
    assert why_not("cat a", replace(RULES, allow=READONLY)) is not None


def test_a_doubt_or_a_second_reader_stands_against_it() -> None:
    """All readers must see the one command."""
    prepared, facts = looked("touch a")
    readings = prepared.readings
    assert readings is not None
    unsure = "it is not certain that it is one command"
    for changed in (
        replace(readings, doubts=((Doubt.BROKEN, "x"),)),
        replace(readings, elevates=("sudo",)),
        replace(readings, commands=()),
        replace(readings, commands=(*readings.commands, *readings.commands)),
    ):
        assert grants.obstacle(replace(prepared, readings=changed), facts) == unsure
    blind = replace(prepared, readings=replace(readings, bashlex=None))  # type: ignore[arg-type] # none could read it
    assert grants.obstacle(blind, facts) == "a second reader of the text does not find the same words"
    assert grants.obstacle(replace(prepared, readings=None), facts) is not None


@pytest.mark.parametrize(
    "decision",
    [
        Decision(Verdict.RUN, Stage.MODE, None, ""),
        Decision(Verdict.REFUSE, Stage.MODE, None, ""),
        Decision(Verdict.ASK, Stage.DENY, "files.rm-recursive", ""),
        Decision(Verdict.ASK, Stage.PARSE, None, ""),
        Decision(Verdict.ASK, Stage.PERSON, "elevation", "", elevates=True),
        Decision(Verdict.ASK, Stage.MODE, None, "", elevates=True),
        Decision(Verdict.ASK, Stage.MODE, None, "", owner_only=True),
        Decision(Verdict.ASK, Stage.TOOL, None, ""),
    ],
)
def test_only_what_no_rule_knows_is_offered(decision: Decision) -> None:
    """A softened rule, root and a doubtful text ask each time."""
    assert grants.offer(*looked("touch a"), decision) is None


def test_what_the_classifier_asked_about_may_be_offered() -> None:
    """A person knows better."""
    assert grants.offer(*looked("touch a"), Decision(Verdict.ASK, Stage.CLASSIFIER, None, "")) is not None


def granted(command: str = "touch a") -> Grant:
    """A grant for what that command is."""
    binding = grants.binding(*looked(command))
    return Grant(
        ApprovalId("K7QD"), CallId("c0"), PLACE, SYSTEM, CHIEF, Via.BUTTON, command, binding, "tok", 0, 15 * MINUTE
    )


class TestCovering:
    """A grant and a call."""

    def test_the_same_call_runs_in_its_canonical_form(self) -> None:
        """However its words are quoted; the decision names the grant."""
        grant = granted("touch 'a' \"b c\"")
        prepared, facts = looked("  touch a   'b c'", grants=(granted("touch z"), grant))
        decision = evaluate(prepared, facts)
        assert (decision.verdict, decision.stage, decision.rule) == (Verdict.RUN, Stage.GRANT, "grant.K7QD")
        assert (decision.runs, decision.grant, decision.profile) == ("touch a 'b c'", grant, "host")

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("touch a", "touch a b"),
            ("touch 'a b'", "touch a b"),
            ("some-program -m 'a b'", "some-program -m a b"),
            ("touch a", "touch a 2>&1"),
            ("touch a", "touch A"),
            ("touch a", "touch a; touch a"),
            ("touch a", "X=1 touch a"),
        ],
    )
    def test_other_words_ask(self, first: str, second: str) -> None:
        """Also those that are the same text when joined."""
        prepared, facts = looked(second, grants=(granted(first),))
        assert evaluate(prepared, facts).verdict is Verdict.ASK

    def test_words_are_bound_as_a_list(self) -> None:
        """Even if nothing that was looked up told them apart."""
        first, facts = looked("touch 'a b'")
        second, _ = looked("touch a b")
        bare = replace(facts, resolved={})
        assert grants.binding(first, bare) != grants.binding(second, bare)

    @pytest.mark.parametrize(
        "changes",
        [
            {"directory": "/srv/work/sub"},
            {"env_names": ("A",)},
            {"profile": "contained"},
            {"programs": {"touch": "/opt/touch"}},
            {"operand_digests": {"/srv/x": "b" * 64}},
            {"resolved": {"a": "/srv/work/b"}},
        ],
    )
    def test_another_world_asks(self, changes: dict[str, object]) -> None:
        """Everything that was looked up is bound."""
        prepared, facts = looked("touch a", RULES, **{**changes, "grants": (granted(),)})
        assert evaluate(prepared, facts).verdict is Verdict.ASK

    @pytest.mark.parametrize(
        "changes",
        [
            {"cwd": "/srv/work/sub"},
            {"shell": ("/bin/zsh", "-c")},
            {"requester": CHIEF},
            {"arguments": {"command": "touch a", "background": True}},
            {"address": replace(PLACE, chat=ChatId(1002))},
            {"address": replace(PLACE, bot=BotName("ops"))},
            {"address": replace(PLACE, thread=ThreadId(7))},
            {"address": replace(PLACE, surface=SurfaceName.TERMINAL, label="x")},
        ],
    )
    def test_another_call_asks(self, changes: dict[str, object]) -> None:
        """Directory, shell, person, chat, topic, bot, and whatever else the tool is told."""
        prepared, facts = looked("touch a", grants=(granted(),))
        prepared = replace(prepared, call=replace(prepared.call, **changes))  # type: ignore[arg-type] # test values by name
        assert evaluate(prepared, facts).verdict is Verdict.ASK

    def test_a_script_that_changed_asks(self) -> None:
        """Its content is bound."""
        grant = granted("/srv/x")
        prepared, facts = looked("/srv/x", grants=(grant,))
        assert evaluate(prepared, facts).verdict is Verdict.RUN
        prepared, facts = looked("/srv/x", grants=(grant,), operand_digests={"/srv/x": "c" * 64})
        assert evaluate(prepared, facts).verdict is Verdict.ASK

    def test_what_stands_against_it_now_wins(self) -> None:
        """Taint, absence, deny rules, denied paths and the owner's wish for containment; and mode off."""
        grant = granted()
        assert evaluate(*looked("touch a", grants=(grant,), tainted=True)).verdict is Verdict.ASK
        assert evaluate(*looked("touch a", grants=(grant,), attended=False)).verdict is Verdict.ASK
        assert evaluate(*looked("touch a", replace(RULES, mode=Mode.OFF), grants=(grant,))).verdict is Verdict.REFUSE
        denied = replace(RULES, denied_paths=("/srv/work/a",))
        assert evaluate(*looked("touch a", denied, grants=(grant,))).verdict is Verdict.REFUSE
        prepared, facts = looked("touch a", replace(RULES, require_containment=True), profile=UNCONTAINED)
        bare = replace(grant, binding=grants.binding(prepared, facts))
        decision = evaluate(prepared, replace(facts, grants=(bare,)))
        assert (decision.verdict, decision.stage, decision.rule) == (
            Verdict.REFUSE,
            Stage.GRANT,
            "containment.required",
        )

    def test_auto_mode_does_not_ask_its_classifier_again(self) -> None:
        """A person has said yes to it."""
        rules = replace(RULES, mode=Mode.AUTO)
        assert evaluate(*looked("touch a", rules, grants=(granted(),))).stage is Stage.GRANT


class TestHolds:
    """The people and the minutes of the moment."""

    GRANT = Grant(
        ApprovalId("K7QD"),
        CallId("c0"),
        replace(PLACE, surface=SurfaceName.GROUP, chat=ChatId(-100)),
        Actor(ActorKind.TELEGRAM, 1002, "Deploy"),
        CHIEF,
        Via.BUTTON,
        "touch a",
        Digest(HEX),
        "tok",
        given_ms=1000,
        until_ms=1000 + 15 * MINUTE,
    )

    def people(self, *listed: int, approvers: Approvers | None = None) -> People:
        """A group with those people."""
        everybody = frozenset(map(UserId, listed))
        group = GroupPeople(everybody, approvers=approvers or Approvers())
        return People(bots={PLACE.bot: BotPeople(everybody, groups={ChatId(-100): group})})

    @pytest.mark.parametrize(
        ("now", "minutes", "holds"),
        [
            (1000, 15, True),
            (999, 15, False),
            (1000 + 15 * MINUTE - 1, 15, True),
            (1000 + 15 * MINUTE, 15, False),
            (1000 + 15 * MINUTE, 60, False),
            (1000 + 5 * MINUTE - 1, 5, True),
            (1000 + 5 * MINUTE, 5, False),
            (1000, 0, False),
        ],
    )
    def test_its_time(self, now: int, minutes: int, *, holds: bool) -> None:
        """The shorter of what was given and what the configuration permits by now."""
        assert grants.holds(self.GRANT, self.people(1001, 1002), now, minutes) is holds

    @pytest.mark.parametrize(
        ("people", "holds"),
        [
            ((1001, 1002), True),
            ((1002,), False),
            ((1001,), False),
        ],
    )
    def test_its_people(self, people: tuple[int, ...], *, holds: bool) -> None:
        """Who gave it may still approve, who asked is still listed."""
        assert grants.holds(self.GRANT, self.people(*people), 1000, 15) is holds

    def test_a_changed_circle_of_approvers(self) -> None:
        """Chief may not decide any more; somebody of the host, whom a rule about the asker cannot judge, may."""
        only = Approvers(Deciders.LISTED, frozenset({UserId(1002)}))
        assert grants.holds(self.GRANT, self.people(1001, 1002, approvers=only), 1000, 15) is False
        local = replace(self.GRANT, giver=Actor(ActorKind.LOCAL, 1000, "uid"))
        other = Approvers(Deciders.NOT_REQUESTER)
        assert grants.holds(local, self.people(1001, 1002, approvers=other), 1000, 15) is True

    def test_one_that_was_revoked(self) -> None:
        """For good."""
        gone = replace(self.GRANT, revoked=Ruling(ApprovalState.REVOKED, CHIEF, Via.CLI, 1001))
        assert grants.holds(gone, self.people(1001, 1002), 1002, 15) is False


def test_a_grant_knows_its_chat_and_its_rule() -> None:
    """Whatever the topic."""
    grant = granted()
    assert grant.rule == rule_of(grant.id) == "grant.K7QD"
    assert grant.concerns(replace(PLACE, thread=ThreadId(9)))
    assert not grant.concerns(replace(PLACE, chat=ChatId(2)))


def test_rules_that_are_about_a_command() -> None:
    """Be it that they let it run or not."""
    known, unknown = lex("ls"), lex("some-program")
    assert isinstance(known, Literal)
    assert isinstance(unknown, Literal)
    assert allow.covers(known, READONLY)
    assert not allow.covers(unknown, READONLY)
