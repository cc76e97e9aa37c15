"""The decision, stage by stage."""

from dataclasses import replace

import pytest

from mtbot.domain.call import Below, CallNeeds, Risk, Stage, TargetKind, ToolDefault, ToolSource, Verdict
from mtbot.policy.deny import compile_rules
from mtbot.policy.effects import MAX_PROGRAMS, MAX_WORDS
from mtbot.policy.owner import Item, rule
from mtbot.policy.readonly import PACKS
from mtbot.policy.ruleset import Mode, Root, RootAccess, RuleSet
from mtbot.policy.sensitive import Places
from tests.unit.policy.calls import FETCH, READ, WRITE, decide, decide_tool, file_at, prepared_of

TOUCH = RuleSet(allow=(rule("allow[0]", Item(argv=("touch", "*"))),))
EVERYTHING = RuleSet(allow=(rule("allow[0]", Item(regex=".*")),), places=Places(home="/home/mtclaw"))
ROOTS = RuleSet(
    roots=(Root("/srv/work"), Root("/srv/work/manual", RootAccess.READ), Root("/srv/work/manual/mine")),
    places=Places(home="/home/mtclaw"),
    denied_paths=("/srv/work/never",),
)


def test_a_nul_is_refused_before_anything_reads_the_text() -> None:
    """No program can be given a NUL."""
    decision = decide("ls a\0b", EVERYTHING)
    assert (decision.verdict, decision.stage, decision.rule) == (Verdict.REFUSE, Stage.INPUT, "input.nul")


def test_half_a_character_is_refused() -> None:
    """A lone surrogate has no bytes."""
    decision = decide("echo \ud83d", EVERYTHING)
    assert (decision.verdict, decision.stage, decision.rule) == (Verdict.REFUSE, Stage.INPUT, "input.encoding")


@pytest.mark.parametrize("command", ["", "   ", "# nothing", "\n"])
def test_a_text_without_a_command_asks(command: str) -> None:
    """There is a verdict and a reason, and never an exception."""
    decision = decide(command, EVERYTHING)
    assert decision.verdict is Verdict.ASK
    assert decision.reason


def test_a_megabyte_is_refused_unread() -> None:
    """Too long to be looked at is too long to be run."""
    decision = decide("ls " + "a" * 1_000_000, EVERYTHING)
    assert (decision.verdict, decision.rule) == (Verdict.REFUSE, "limits.too-long")


def test_mode_off_refuses() -> None:
    """A forged call of a tool that is not there gets a refusal."""
    decision = decide("ls", RuleSet(mode=Mode.OFF))
    assert (decision.verdict, decision.stage, decision.rule) == (Verdict.REFUSE, Stage.MODE, "mode.off")


def test_deny_wins_over_an_allow_rule_that_matches_everything() -> None:
    """No rule lifts a denial."""
    decision = decide("rm -rf x", EVERYTHING)
    assert (decision.verdict, decision.stage, decision.rule) == (Verdict.REFUSE, Stage.DENY, "files.rm-recursive")
    assert decision.permit_hint == "mtclaw policy soften files.rm-recursive"
    assert not decision.hardline


def test_a_hardline_rule_offers_no_way_to_soften_it() -> None:
    """Wiping the root is refused by anybody."""
    decision = decide("rm -rf /", EVERYTHING)
    assert (decision.verdict, decision.hardline, decision.permit_hint) == (Verdict.REFUSE, True, "")


def test_an_owners_expression_refuses_and_names_no_softening() -> None:
    """The owner edits the owner's own list."""
    rules = RuleSet(deny=compile_rules(owner=("secret-tool",)))
    decision = decide("run secret-tool", rules)
    assert (decision.verdict, decision.rule, decision.permit_hint) == (Verdict.REFUSE, "deny[0]", "")


def test_a_softened_rule_asks_even_where_an_allow_rule_matches() -> None:
    """A person may approve it, a rule may not."""
    decision = decide("rm -rf x", replace(EVERYTHING, deny=compile_rules(ask=("files.rm-recursive",))))
    assert (decision.verdict, decision.stage, decision.rule) == (Verdict.ASK, Stage.DENY, "files.rm-recursive")
    assert decision.better.endswith(".")


def test_a_rule_that_is_off_does_not_refuse() -> None:
    """Off means that only the owner's other rules decide."""
    decision = decide("rm -rf x", replace(EVERYTHING, deny=compile_rules(off=("files.rm-recursive",))))
    assert decision.verdict is Verdict.RUN


def test_a_denied_command_is_refused_by_the_file_that_would_run() -> None:
    """Under whatever name it is called."""
    rules = replace(EVERYTHING, denied_commands=frozenset({"/usr/bin/nc.openbsd"}))
    decision = decide("nc host 1", rules, programs={"x": "/usr/bin/x", "nc": "/usr/bin/nc.openbsd"})
    assert (decision.verdict, decision.rule) == (Verdict.REFUSE, "denied_command")


def test_a_denied_command_is_refused_by_its_word() -> None:
    """Also where the file cannot be found."""
    rules = replace(EVERYTHING, denied_commands=frozenset({"/opt/x"}))
    decision = decide("/opt/x", rules, programs={"/opt/x": "(none)"})
    assert (decision.verdict, decision.rule) == (Verdict.REFUSE, "denied_command")


def test_a_word_that_leads_into_a_denied_path_is_refused() -> None:
    """Relative spelling and links do not help: what counts is where it leads."""
    rules = replace(EVERYTHING, denied_paths=("/srv/vault",))
    decision = decide("cat ../vault/key", rules, resolved={"../vault/key": "/srv/vault/key", "cat": "/srv/work/cat"})
    assert (decision.verdict, decision.rule) == (Verdict.REFUSE, "denied_path")


@pytest.mark.parametrize("command", ["sudo ls", "nohup doas ls", "su -c ls", "pkexec ls"])
def test_a_change_of_user_asks_and_only_the_host_can_answer(command: str) -> None:
    """No rule lets it run, and the question shows no Approve button."""
    decision = decide(command, EVERYTHING)
    assert (decision.verdict, decision.rule, decision.elevates) == (Verdict.ASK, "elevation", True)


def test_a_broken_text_asks_and_never_runs() -> None:
    """What no reader understands goes to a person."""
    decision = decide("ls 'unclosed", EVERYTHING)
    assert (decision.verdict, decision.stage) == (Verdict.ASK, Stage.PARSE)


def test_a_computed_command_word_asks() -> None:
    """What would run is known only while it runs."""
    decision = decide("$TOOL x", EVERYTHING)
    assert (decision.verdict, decision.stage) == (Verdict.ASK, Stage.PARSE)


def test_a_mention_outside_the_literal_subset_is_named_in_the_question() -> None:
    """It is not refused, and the person is told."""
    decision = decide('echo "$X rm -rf /" > notes', EVERYTHING)
    assert (decision.verdict, decision.stage) == (Verdict.ASK, Stage.PARSE)
    assert "mentions what" in decision.reason


def test_a_mention_in_literal_text_is_data() -> None:
    """A commit message about rm runs by its rule."""
    decision = decide("git commit -m 'never rm -rf /'", EVERYTHING)
    assert decision.verdict is Verdict.RUN


def test_an_allowed_command_runs_in_canonical_form() -> None:
    """What runs is the re-quoted text, and which rule let it."""
    decision = decide("touch   'a b'", TOUCH)
    assert (decision.verdict, decision.stage, decision.rule) == (Verdict.RUN, Stage.ALLOW, "allow[0]")
    assert decision.runs == "touch 'a b'"
    assert decision.commands == (("touch", "a b"),)


def test_a_sensitive_operand_asks() -> None:
    """The owner's wildcard does not cover keys."""
    decision = decide("touch x", TOUCH, resolved={"x": "/home/mtclaw/.ssh/authorized_keys"})
    assert decision.verdict is Verdict.ASK


def test_a_recursive_reader_above_something_unknown_asks() -> None:
    """What nobody looked through may hold a key."""
    rules = RuleSet(allow=PACKS["readonly"])
    assert decide("grep -r x .", rules, below={".": Below.UNKNOWN}).verdict is Verdict.ASK


def test_what_no_rule_allows_asks_and_says_what_would_permit_it() -> None:
    """The reason names program and sub-command, the hint the command on the host."""
    decision = decide("docker compose -f /srv/x.yml pull web")
    assert (decision.verdict, decision.stage) == (Verdict.ASK, Stage.MODE)
    assert decision.reason == 'no rule allows "docker compose pull"'
    assert decision.permit_hint == "mtclaw policy allow 'docker compose -f /srv/x.yml pull web'"


def test_text_outside_the_subset_offers_no_rule() -> None:
    """No rule could allow it, so none is proposed."""
    decision = decide("ls *.txt", EVERYTHING)
    assert (decision.verdict, decision.permit_hint) == (Verdict.ASK, "")


def test_auto_mode_classifies_plain_quiet_commands() -> None:
    """Where a person is there and containment is ready."""
    decision = decide("uname -a", RuleSet(mode=Mode.AUTO), profile="contained", containment_ready=True)
    assert decision.verdict is Verdict.CLASSIFY


@pytest.mark.parametrize("command", ["curl x", "python3 x.py", "rm x", "./x", "make", "ls > f", "bash -c ls"])
def test_auto_mode_never_classifies_below_the_floor(command: str) -> None:
    """Network, interpreters, writes, workspace files and anything unclear go to a person."""
    decision = decide(command, RuleSet(mode=Mode.AUTO), profile="contained", containment_ready=True)
    assert decision.verdict is Verdict.ASK


def test_auto_mode_counts_as_asking_where_nobody_is_there() -> None:
    """Cron never reaches the classifier."""
    decision = decide("uname -a", RuleSet(mode=Mode.AUTO), attended=False, containment_ready=True)
    assert (decision.verdict, decision.stage) == (Verdict.ASK, Stage.MODE)


# --- other tools


def test_a_read_inside_a_root_runs() -> None:
    """Nothing to ask about."""
    decision = decide_tool(READ, {"path": "a"}, ROOTS, file_at("/srv/work/a"))
    assert (decision.verdict, decision.stage, decision.rule) == (Verdict.RUN, Stage.TOOL, "tool.read_file")


def test_a_path_outside_the_roots_is_refused() -> None:
    """No override is offered."""
    decision = decide_tool(READ, {"path": "/etc/passwd"}, ROOTS, file_at("/etc/passwd"))
    assert (decision.verdict, decision.rule) == (Verdict.REFUSE, "root.outside")


def test_a_write_into_a_read_only_root_is_refused_by_longest_match() -> None:
    """The nested root decides, in both directions."""
    inner = decide_tool(WRITE, {"path": "x"}, ROOTS, file_at("/srv/work/manual/x", write=True))
    mine = decide_tool(WRITE, {"path": "x"}, ROOTS, file_at("/srv/work/manual/mine/x", write=True))
    assert (inner.verdict, inner.rule) == (Verdict.REFUSE, "workspace-root")
    assert mine.verdict is Verdict.RUN


def test_a_device_or_pipe_is_refused() -> None:
    """Only files and directories."""
    decision = decide_tool(READ, {"path": "p"}, ROOTS, file_at("/srv/work/p", kind=TargetKind.OTHER))
    assert (decision.verdict, decision.rule) == (Verdict.REFUSE, "path.special")


def test_a_denied_path_is_refused_inside_a_root_too() -> None:
    """It is never approvable."""
    decision = decide_tool(READ, {"path": "never/x"}, ROOTS, file_at("/srv/work/never/x"))
    assert (decision.verdict, decision.rule) == (Verdict.REFUSE, "denied_path")


def test_a_sensitive_file_asks() -> None:
    """In every mode."""
    decision = decide_tool(READ, {"path": ".env"}, ROOTS, file_at("/srv/work/.env"))
    assert (decision.verdict, decision.rule) == (Verdict.ASK, "path.sensitive")


def test_writes_ask_where_the_owner_says_so() -> None:
    """``tools.filesystem.write: ask``."""
    asking = replace(ROOTS, write=ToolDefault.ASK)
    assert decide_tool(WRITE, {"path": "a"}, asking, file_at("/srv/work/a", write=True)).rule == "tool.asks"
    assert decide_tool(WRITE, {"path": "a"}, ROOTS, file_at("/srv/work/a", write=True)).verdict is Verdict.RUN


@pytest.mark.parametrize(
    "spec",
    [
        replace(READ, source=ToolSource.PLUGIN),
        replace(READ, source=ToolSource.MCP, risk=Risk.READ),
        replace(READ, path_args=()),
        replace(WRITE, path_args=()),
        replace(READ, name="other", risk=Risk.EXEC),
    ],
)
def test_a_tool_without_valid_metadata_asks(spec: object) -> None:
    """Whatever it claims of itself."""
    decision = decide_tool(spec, {}, ROOTS)  # type: ignore[arg-type] # parametrised specs
    assert (decision.verdict, decision.rule) == (Verdict.ASK, "tool.metadata")


def test_a_tool_that_denies_by_default_is_refused() -> None:
    """Its own metadata says so."""
    decision = decide_tool(replace(READ, default=ToolDefault.DENY), {"path": "a"}, ROOTS, file_at("/srv/work/a"))
    assert (decision.verdict, decision.rule) == (Verdict.REFUSE, "tool.denied")


def test_a_tool_that_asks_by_default_asks() -> None:
    """Even inside a root."""
    decision = decide_tool(replace(READ, default=ToolDefault.ASK), {"path": "a"}, ROOTS, file_at("/srv/work/a"))
    assert (decision.verdict, decision.rule) == (Verdict.ASK, "tool.asks")


def test_a_clean_turn_may_fetch() -> None:
    """Nothing from outside can have steered it yet."""
    assert decide_tool(FETCH, {"url": "https://example.org/"}, ROOTS).verdict is Verdict.RUN


def test_a_tainted_turn_asks_before_it_fetches() -> None:
    """Text from outside may have named the address."""
    decision = decide_tool(FETCH, {"url": "https://evil.example/?q=x"}, ROOTS, tainted=True)
    assert (decision.verdict, decision.rule) == (Verdict.ASK, "web.tainted")


@pytest.mark.parametrize(
    ("url", "named", "hosts"),
    [
        ("https://example.org/page", ("https://example.org/page",), ()),
        ("https://docs.example.org/x", (), ("docs.example.org",)),
    ],
)
def test_a_tainted_turn_fetches_what_a_person_named_or_the_owner_listed(
    url: str, named: tuple[str, ...], hosts: tuple[str, ...]
) -> None:
    """The exact address, or the host."""
    decision = decide_tool(FETCH, {"url": url}, replace(ROOTS, hosts=hosts), tainted=True, named_urls=named)
    assert decision.verdict is Verdict.RUN


def test_a_fetch_without_a_text_address_is_not_known() -> None:
    """A number is no address that somebody named."""
    assert decide_tool(FETCH, {"url": 5}, ROOTS, tainted=True).rule == "web.tainted"


def test_what_runs_workspace_files_runs_contained_where_that_is_ready() -> None:
    """By a rule's argv or by an expression; elsewhere it runs on the host and the record says so."""
    rules = RuleSet(allow=(rule("allow[0]", Item(argv=("make", "*"), network=True, write=("/var/x",))),))
    ready = decide("make test", rules, containment_ready=True)
    assert (ready.verdict, ready.profile, ready.needs) == (
        Verdict.RUN,
        "contained",
        CallNeeds(network=True, write=("/var/x",), look=("/srv/work", "/srv/work/test")),
    )
    assert decide("make test", rules).profile == "host, NOT CONTAINED"
    assert decide("make test", EVERYTHING, containment_ready=True).profile == "contained"


def test_more_words_than_are_looked_up_are_refused_where_paths_are_denied() -> None:
    """A denied path behind many others would not be seen."""
    rules = RuleSet(denied_paths=("/srv/vault",))
    words = " ".join(f"a{number}" for number in range(MAX_WORDS - 1))
    assert decide(f"cat {words}", rules).verdict is Verdict.ASK
    decision = decide(f"cat {words} /srv/vault/x", rules)
    assert (decision.verdict, decision.rule) == (Verdict.REFUSE, "denied_path")
    assert decision.reason == "it holds too many words to look up for tools.denied_path"
    assert decide(f"cat {words} b c").verdict is Verdict.ASK


def test_more_programs_than_are_looked_up_are_refused_where_commands_are_denied() -> None:
    """A denied command behind many others would not be seen."""
    programs = "; ".join(f"a{number}" for number in range(MAX_PROGRAMS))
    rules = RuleSet(denied_commands=frozenset({"restic"}))
    assert decide(programs, rules).verdict is Verdict.ASK
    decision = decide(f"{programs}; restic", rules)
    assert (decision.verdict, decision.rule) == (Verdict.REFUSE, "denied_command")


def test_no_tree_is_looked_at_for_a_text_that_is_refused_for_its_length() -> None:
    """A tree beyond the bound has no resolved path to look below."""
    rules = RuleSet(allow=PACKS["readonly"], denied_paths=("/srv/vault",))
    wants = prepared_of("du " + " ".join(f"a{number}" for number in range(MAX_WORDS + 1)), rules).wants
    assert (wants.cut, wants.trees, len(wants.paths)) == (True, (), MAX_WORDS)


@pytest.mark.parametrize("kind", [TargetKind.FILE, TargetKind.MISSING])
def test_a_file_that_points_git_elsewhere_is_written_after_a_yes(kind: TargetKind) -> None:
    """Reading it is harmless."""
    path = "/srv/work/sub/.git"
    asked = decide_tool(WRITE, {"path": path}, ROOTS, file_at(path, write=True, kind=kind))
    assert (asked.verdict, asked.rule) == (Verdict.ASK, "path.sensitive")
    assert decide_tool(READ, {"path": path}, ROOTS, file_at(path)).verdict is Verdict.RUN
