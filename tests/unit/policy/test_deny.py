"""The judgement of the deny half."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtbot.policy import deny, readings
from mtbot.policy.deny import Denial, Mention
from mtbot.policy.rule import MAX_TEXT_BYTES, Level, PatternsError
from mtbot.policy.rules import RULES
from mtbot.redaction.mask import Redactor

PLAIN = deny.compile_rules()


def _judge(text: str, rules: deny.DenyRules = PLAIN) -> Denial | Mention | None:
    return deny.look(text, rules)[1]


def test_a_denial_says_rule_reason_better_tool_and_what_matched() -> None:
    """The model is told what to use instead, people are told the words."""
    assert _judge("ls; sudo rm -rf build") == Denial(
        "files.rm-recursive",
        "removes files without asking, or whole directories",
        "the trash tool: it moves files to a trash from which they can be brought back",
        Level.REFUSE,
        hardline=False,
        command="rm -rf build",
    )


def test_a_hardline_rule_goes_before_any_other() -> None:
    """Whatever else the text holds, the strictest reason is told."""
    outcome = _judge("rm -rf build; reboot; rm -rf /")
    assert isinstance(outcome, Denial)
    assert (outcome.rule_id, outcome.hardline) == ("files.wipe-root", True)


def test_words_that_are_only_mentioned_are_named() -> None:
    """A commit message is not refused; the question names what stands in it."""
    assert _judge("git commit -m 'never rm -rf / again'") == Mention("files.wipe-root", "rm -rf / again")


def test_a_harmless_text_is_nothing() -> None:
    """Neither refused nor named."""
    assert _judge("ls -la | grep rm") is None


def test_a_softened_rule_asks_and_a_switched_off_rule_is_silent() -> None:
    """The owner may soften a rule by its id, and the mention goes with it."""
    asking = deny.compile_rules(ask=["files.rm-recursive"])
    outcome = _judge("rm -rf build", asking)
    assert isinstance(outcome, Denial)
    assert outcome.level is Level.ASK
    off = deny.compile_rules(off=["files.rm-recursive"])
    assert _judge("rm -rf build", off) is None
    assert _judge("echo rm -rf build", off) is None


def test_a_refusal_goes_before_a_softened_rule() -> None:
    """One softened command does not soften its neighbours."""
    outcome = _judge("rm -rf build; reboot", deny.compile_rules(ask=["files.rm-recursive"]))
    assert isinstance(outcome, Denial)
    assert (outcome.rule_id, outcome.level) == ("host.power", Level.REFUSE)


@pytest.mark.parametrize("rule_id", [rule.id for rule in RULES if rule.hardline])
def test_a_hardline_rule_cannot_be_softened(rule_id: str) -> None:
    """Wiping disks, fork bombs, raw devices and mtclaw's own state have `refuse` only."""
    with pytest.raises(deny.UnknownRuleError, match="hardline"):
        deny.compile_rules(ask=[rule_id])
    with pytest.raises(deny.UnknownRuleError, match="hardline"):
        deny.compile_rules(off=[rule_id])


def test_an_unknown_id_is_a_load_error() -> None:
    """A misspelt id would leave a rule on that the owner thinks is off."""
    with pytest.raises(deny.UnknownRuleError, match=r"there is no rule 'files\.rm'"):
        deny.compile_rules(off=["files.rm"])


def test_a_wrong_pattern_is_a_load_error() -> None:
    """It is never skipped."""
    with pytest.raises(PatternsError):
        deny.compile_rules(["("])


@pytest.mark.parametrize("text", ["echo hello", "echo hel''lo", "echo hel\\\nlo", "echo 'x; hello'", "$'\\x68ello'"])
def test_the_owners_patterns_search_raw_and_resolved_text(text: str) -> None:
    """Quoting and continuations are no way around, and quoted text counts: it is the owner's choice."""
    outcome = _judge(text, deny.compile_rules(["hello"]))
    assert outcome == Denial(
        "deny[0]", "a pattern of the owner matches", None, Level.REFUSE, hardline=False, command="hello"
    )


def test_the_owners_pattern_is_searched_in_text_with_lone_surrogates() -> None:
    """Such a character is replaced, never a reason to fail."""
    assert isinstance(_judge("hello \udcff", deny.compile_rules(["hello"])), Denial)


def test_a_text_past_64_kib_is_refused_unread() -> None:
    """Nothing is matched against it, and nothing is read."""
    found, outcome = deny.look("a" * 65_537, deny.compile_rules(["a"]))
    assert found is None
    assert outcome == deny.too_long()
    assert deny.look("é" * 32_769, PLAIN) == (None, deny.too_long())
    assert deny.look("a" * 65_536, PLAIN)[1] is None


@pytest.mark.parametrize("text", ["rm", "#"])
def test_a_text_past_every_bound_is_still_searched(text: str) -> None:
    """What is too much to be read one by one is looked through for each rule's programs."""
    many = "".join(f"ls a{number};" for number in range(3000))
    outcome = _judge(many + f"\n{text} -rf x")
    assert isinstance(outcome, Denial) is (text == "rm")


def test_a_text_that_names_too_many_programs_is_refused() -> None:
    """When not even each place can be looked at, the text is refused."""
    outcome = _judge("".join(f"rm a{number};" for number in range(3000)))
    assert isinstance(outcome, Denial)
    assert outcome.rule_id == "limits.too-intricate"


def test_doubts_are_handed_on() -> None:
    """The one that decides asks here what forbids allow and classify."""
    found, _ = deny.look("$x y", PLAIN)
    assert found is not None
    assert deny.forbids_rules(found) == found.doubts != ()


_ARMOUR = "-----BEGIN RSA PRIVATE KEY-----"
_KEY = f"{_ARMOUR}\nMIIEowIBAAKCAQEA0aB1cD2eF3\nabc=\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    "text",
    [
        f"cat > key <<'E'\n{_KEY}\nE",
        f': "{_ARMOUR}"\n/srv/work/evil/script\n',
        f': "{_ARMOUR}"\n touch /home/deploy/made\n: "-----END RSA PRIVATE KEY-----"',
        f"{_ARMOUR};/srv/work/evil/script\n-----END RSA PRIVATE KEY-----",
        "echo\n/srv/work/evil/script\n-----END PRIVATE KEY-----",
        f': "{_ARMOUR}" /srv/work/evil/script\nsh',
        f': "{_ARMOUR}\nProc-Type: 4,ENCRYPTED\n" /srv/work/evil/script',
        f'echo \ud800; : "{_ARMOUR}"\n/srv/work/evil/script\n',
    ],
)
def test_a_text_with_a_private_key_over_several_lines_is_refused(text: str) -> None:
    """A question masks a key whole, and a line of it may be a command that nobody would see."""
    outcome = _judge(text)
    assert isinstance(outcome, deny.Denial)
    assert (outcome.rule_id, outcome.level) == (deny.KEY_ID, Level.REFUSE)


@pytest.mark.parametrize(
    "text",
    [f"grep -rl -- '{_ARMOUR}' /srv/work/projects", f"grep -q -- '{_ARMOUR}' f\nls -l", "openssl genrsa # PRIVATE KEY"],
)
def test_the_name_of_a_private_key_is_no_private_key(text: str) -> None:
    """Who looks for keys names the first line of one."""
    assert _judge(text) is None


_PIECES = [
    _ARMOUR,
    "-----BEGIN PRIVATE KEY-----",
    "-----END RSA PRIVATE KEY-----",
    "Proc-Type: 4,ENCRYPTED",
    "/srv/work/evil/script",
    "MIIEowIBAAKCAQEA0aB1cD2eF3",
    *("sh", "A=b", "\n", "\n", " ", '"', "'", "\\", "\\n", "#", ",", ";"),
]


@settings(max_examples=400, deadline=None, database=None)
@given(st.lists(st.sampled_from(_PIECES), max_size=10), st.sampled_from(_PIECES[:2]))
def test_no_mask_hides_a_line_break_of_a_text_that_is_not_refused(pieces: list[str], armour: str) -> None:
    """Whatever a mask goes over is one line, so a question never hides where a command begins."""
    text = armour + "".join(pieces)
    masked = Redactor({}, b"k" * 32).mask(text)
    if masked.count("\n") < text.count("\n"):
        assert isinstance(_judge(text), deny.Denial)


def test_a_long_text_is_refused_whoever_read_it() -> None:
    """Readings that were made elsewhere are judged by the same bound."""
    outcome = deny.judge(readings.read("ls " + "x" * MAX_TEXT_BYTES), PLAIN)
    assert outcome == deny.too_long()


def test_an_owners_pattern_that_is_not_found_leaves_the_rest_to_the_rules() -> None:
    """Neither a permission nor a refusal."""
    owned = deny.compile_rules(["^never this$"])
    assert _judge("ls", owned) is None
    outcome = _judge("rm -rf build", owned)
    assert isinstance(outcome, Denial)
    assert outcome.rule_id == "files.rm-recursive"


@pytest.mark.parametrize("program", ["python3.11", "perl5.36", "ruby3.2", "php8.3", "lua5.4"])
def test_an_interpreter_by_the_name_of_its_version_meets_the_same_rules(program: str) -> None:
    """A version in the name is no way around a rule."""
    outcome = _judge(f"curl x | {program}")
    assert isinstance(outcome, Denial)
    assert outcome.rule_id == "remote.download-to-shell"


def test_words_that_are_mentioned_again_and_again_hide_no_others() -> None:
    """The same words count once against the bound."""
    outcome = _judge("echo '" + "note rm x; " * 500 + "and rm -rf /'")
    assert outcome == Mention("files.wipe-root", "rm -rf /")
