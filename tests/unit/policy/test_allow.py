"""The judge of allow rules: every command in full, seen alike by a second reader, with operands that were looked at."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from mtbot.domain.call import Below
from mtbot.policy import allow, bashlex_reading
from mtbot.policy.allow import AllowContext, Allowed, NotAllowed, PathFact, Wanted, WhyNot
from mtbot.policy.allow_rule import AllowRule, Argv, Match, Needs, Operand, Role
from mtbot.policy.lexer import Literal, lex
from mtbot.policy.reading_values import BashlexReading
from mtbot.policy.sensitive import Places

PLACES = Places(home="/home/op")


def anything(program: str | None = None, **more: object) -> AllowRule:
    """A rule that covers every argv of one program, or of all."""
    made = AllowRule(id=f"any:{program}", match=lambda _: Match(), program=program)
    return replace(made, **more)  # type: ignore[arg-type]  # the callers name fields of the rule


def on_paths(program: str, role: Role = Role.PATH, **more: object) -> AllowRule:
    """A rule whose operands are all words after the program."""
    made = AllowRule(
        id=f"paths:{program}",
        match=lambda argv: Match(tuple(Operand(word, role) for word in argv[1:])),
        program=program,
    )
    return replace(made, **more)  # type: ignore[arg-type]  # the callers name fields of the rule


def judge(text: str, *rules: AllowRule, **facts: object) -> Allowed | NotAllowed:
    """Judge a literal text with bashlex as the second reader."""
    literal = lex(text)
    assert isinstance(literal, Literal)
    reading = bashlex_reading.read(text)
    assert isinstance(reading, BashlexReading)
    context = replace(AllowContext("/srv/app", PLACES, repository_keys=frozenset()), **facts)  # type: ignore[arg-type]  # as above
    return allow.judge(literal, reading.argvs, rules, context)


def kind_of(answer: Allowed | NotAllowed) -> WhyNot | None:
    """The kind of a refusal."""
    return answer.kind if isinstance(answer, NotAllowed) else None


def test_allows_a_list_whose_every_command_has_a_rule() -> None:
    """What runs is the canonical text, with one rule for each command."""
    git, wc = anything("git"), anything("wc")
    assert judge("git  log 2>/dev/null|wc -l", git, wc) == Allowed(
        "git log 2>/dev/null | wc -l", (git, wc), {}, Needs(), None
    )


@pytest.mark.parametrize("joint", [";", "\n", "&&", "||", "|"])
def test_one_command_without_a_rule_fails_the_whole(joint: str) -> None:
    """No separator lets a second command ride on the rule of the first."""
    answer = judge(f"git status {joint} rm x", anything("git"))
    assert answer == NotAllowed(WhyNot.NO_RULE, "no rule covers: rm x", ("rm", "x"))


def test_needs_the_second_reader_to_agree() -> None:
    """Words that another parser reads otherwise, or cannot read, are not allowed."""
    literal = lex("ls -l")
    assert isinstance(literal, Literal)
    context = AllowContext("/srv", PLACES)
    rule = anything("ls")
    for reading in (None, (), (("ls",),), (("ls", "-l"), ("rm",)), (("ls", "-la"),)):
        answer = allow.judge(literal, reading, (rule,), context)
        assert kind_of(answer) is WhyNot.SECOND_READER, reading
    assert isinstance(allow.judge(literal, (("ls", "-l"),), (rule,), context), Allowed)


@pytest.mark.parametrize("program", ["./ls", "/bin/ls", "bin/ls", "lsx"])
def test_a_program_with_a_slash_is_not_its_bare_name(program: str) -> None:
    """A rule for a name never covers a path that ends like it."""
    assert kind_of(judge(f"{program} x", anything("ls"))) is WhyNot.NO_RULE


def test_a_bare_name_is_not_a_program_given_by_path() -> None:
    """A rule for a path covers that path alone."""
    assert kind_of(judge("deploy x", anything("/opt/deploy"))) is WhyNot.NO_RULE
    assert isinstance(judge("/opt/deploy x", anything("/opt/deploy")), Allowed)


@pytest.mark.parametrize(
    "text",
    [
        "eval ls",
        "exec ls",
        "source x",
        ". x",
        "trap x EXIT",
        "command ls",
        "builtin cd",
        "alias a=b",
        "test -v x",
        "printf -v x y",
        "declare -i x=1",
        "let x=1",
        "read x",
        "mapfile -C x",
        "compgen -C x",
        "unset x",
        "kill 1",
        "bash x.sh",
        "/bin/sh -c x",
        "python3 x.py",
        "env ls",
        "sudo ls",
        "xargs rm",
        "nohup ls",
        "timeout 1 ls",
        "ssh h x",
    ],
)
def test_closed_list_is_never_matched_by_a_pattern(text: str) -> None:
    """Even rules for everything do not let these run; a rule with the exact argv does."""
    argv = tuple(text.split())
    assert kind_of(judge(text, anything(), anything(argv[0]))) is WhyNot.NEVER_BY_RULE
    assert isinstance(judge(text, anything(argv[0], exact=argv)), Allowed)
    assert kind_of(judge(f"{text} more", anything(argv[0], exact=argv))) is WhyNot.NEVER_BY_RULE


def test_a_matcher_that_reads_code_stands_before_the_closed_list() -> None:
    """The pack's grammar over a program's code needs no exact argv."""
    assert isinstance(judge("awk 1", anything("awk", reads_code=True)), Allowed)


@pytest.mark.parametrize("text", ["cd /srv", "cd /srv; ls", "ls && cd /srv && ls", "pushd /srv"])
def test_a_change_of_directory_is_never_allowed_in_the_middle(text: str) -> None:
    """Not even by an exact rule: what follows would be judged in the wrong place."""
    rules = (anything(), anything("cd", exact=("cd", "/srv")), anything("pushd", exact=("pushd", "/srv")))
    assert kind_of(judge(text, *rules)) is WhyNot.NEVER_BY_RULE


def test_a_leading_cd_is_carried_along() -> None:
    """What follows runs there, and the text says so."""
    answer = judge("cd /srv/web && ls", anything("ls"), directory="/srv/web")
    assert isinstance(answer, Allowed)
    assert (answer.runs, answer.cwd_word) == ("cd /srv/web && ls", "/srv/web")


def test_a_sensitive_directory_is_not_worked_in() -> None:
    """Relative operands would all lie in the sensitive set."""
    answer = judge("cd /home/op/.ssh && ls", anything("ls"), directory="/home/op/.ssh")
    assert answer == NotAllowed(WhyNot.OPERAND, "/home/op/.ssh is sensitive", operand="/home/op/.ssh")


def test_operands_are_judged_by_what_they_resolve_to() -> None:
    """A harmless name that leads to a key is refused, and so is one that nobody looked at."""
    cat = on_paths("cat")
    key = {"notes": PathFact("/home/op/.ssh/id_rsa")}
    assert judge("cat notes", cat, paths=key) == NotAllowed(
        WhyNot.OPERAND, "/home/op/.ssh/id_rsa is sensitive", ("cat", "notes"), "notes"
    )
    assert judge("cat notes", cat) == NotAllowed(
        WhyNot.OPERAND, "nobody looked where notes leads", ("cat", "notes"), "notes"
    )
    assert isinstance(judge("cat notes", cat, paths={"notes": PathFact("/srv/app/notes")}), Allowed)


def test_a_tilde_is_not_taken_for_a_home() -> None:
    """A quoted ~ reaches the program as it is, so what it leads to is not what a look-up of the home would say."""
    answer = judge("cat '~/key'", on_paths("cat"), paths={"~/key": PathFact("/home/op/key")})
    assert kind_of(answer) is WhyNot.OPERAND


@pytest.mark.parametrize("word", ["HEAD:.env", "HEAD:deploy/id_rsa", "host:/root/.ssh/x", "HEAD:a:.env"])
def test_names_inside_something_else_are_judged_too(word: str) -> None:
    """REVISION:PATH leads nowhere on the disk, but names a file."""
    answer = judge(f"show {word}", on_paths("show"), paths={word: PathFact(f"/srv/app/{word}x")})
    assert kind_of(answer) is WhyNot.OPERAND


@pytest.mark.parametrize(
    ("role", "path", "below", "allowed"),
    [
        (Role.PATH, "/srv/app", Below.UNKNOWN, True),
        (Role.NAMES_BELOW, "/srv/app", Below.NOTHING, True),
        (Role.NAMES_BELOW, "/srv/app", Below.REPOSITORY, True),
        (Role.NAMES_BELOW, "/srv/app", Below.SENSITIVE, False),
        (Role.NAMES_BELOW, "/srv/app", Below.UNKNOWN, False),
        (Role.CONTENT_BELOW, "/srv/app", Below.NOTHING, True),
        (Role.CONTENT_BELOW, "/srv/app", Below.REPOSITORY, False),
        (Role.CONTENT_BELOW, "/srv/app", Below.SENSITIVE, False),
        (Role.CONTENT_BELOW, "/srv/app", Below.UNKNOWN, False),
        (Role.OUTSIDE_REPOSITORY, "/srv/app", Below.REPOSITORY, True),
        (Role.OUTSIDE_REPOSITORY, "/srv/app", Below.SENSITIVE, False),
        (Role.NAMES_BELOW, "/home/op", Below.NOTHING, False),
        (Role.CONTENT_BELOW, "/etc", Below.NOTHING, False),
        (Role.NAMES_BELOW, "/", Below.NOTHING, False),
    ],
)
def test_recursive_readers_stay_away_from_what_lies_below(role: Role, path: str, below: Below, allowed: bool) -> None:
    """Nothing sensitive may lie below, known by its place or by a look; not knowing is no."""
    answer = judge("scan here", on_paths("scan", role), paths={"here": PathFact(path, below)})
    assert isinstance(answer, Allowed) is allowed


def test_a_later_rule_may_cover_what_an_earlier_one_could_not() -> None:
    """The first rule without an obstacle is the one that counts."""
    here, there = anything("ls", cwd="/elsewhere"), anything("ls", cwd="/srv/app")
    answer = judge("ls", here, there)
    assert isinstance(answer, Allowed)
    assert answer.rules == (there,)
    assert judge("ls", here) == NotAllowed(WhyNot.DIRECTORY, "the rule any:ls holds only in /elsewhere", ("ls",))


@pytest.mark.parametrize(
    ("keys", "allowed"),
    [
        (frozenset(), True),
        (frozenset({"user.name", "remote.url", "core.hookspath", "core.fsmonitor"}), True),
        (frozenset({"filter.clean"}), False),
        (frozenset({"filter.process"}), False),
        (frozenset({"filter.smudge"}), False),
        (frozenset({"diff.textconv"}), False),
        (frozenset({"diff.command"}), False),
        (frozenset({"include.path"}), False),
        (frozenset({"includeif.path"}), False),
        (frozenset({"gpg.program"}), False),
        (frozenset({"core.worktree"}), False),
        (frozenset({"pager.log"}), False),
        (None, False),
    ],
)
def test_a_repository_must_name_no_program(keys: frozenset[str] | None, allowed: bool) -> None:
    """What the environment cannot switch off, and a configuration that could not be read, keep the rule from holding."""
    answer = judge("git status", anything("git", needs=Needs(plain_repository=True)), repository_keys=keys)
    assert isinstance(answer, Allowed) is allowed
    if not allowed:
        assert kind_of(answer) is WhyNot.REPOSITORY


def test_unites_what_the_rules_need() -> None:
    """The run gets every need and every forced variable of its commands."""
    one = anything("a", needs=Needs(network=True, write=("/x",)), environment=(("PAGER", "cat"),))
    two = anything("b", needs=Needs(write=("/x", "/y"), contained=True), environment=(("PAGER", "cat"), ("A", "")))
    answer = judge("a; b", one, two)
    assert isinstance(answer, Allowed)
    assert answer.needs == Needs(network=True, write=("/x", "/y"), contained=True)
    assert answer.environment == {"PAGER": "cat", "A": ""}


def test_rules_that_need_different_environments_do_not_mix() -> None:
    """One run has one environment."""
    one, two = anything("a", environment=(("X", "1"),)), anything("b", environment=(("X", "2"),))
    assert kind_of(judge("a; b", one, two)) is WhyNot.ENVIRONMENT


def test_says_what_must_be_looked_up() -> None:
    """Words of every matching rule, in order, once; trees apart; the directory of a leading cd as it is written."""
    literal = lex("cd web && cat a b && scan src a")
    assert isinstance(literal, Literal)
    rules = (on_paths("cat"), on_paths("scan", Role.CONTENT_BELOW, needs=Needs(plain_repository=True)), on_paths("rm"))
    assert allow.wanted(literal, rules) == Wanted("web", ("a", "b", "src"), ("src", "a"), repository=True)


def matcher(*allowed: Argv) -> Callable[[Argv], Match | None]:
    """A matcher over a few exact argvs."""
    return lambda argv: Match() if argv in allowed else None


def test_public_reports_of_rules_that_covered_too_much() -> None:
    """Shapes that other guards let through: a second command, a redirect, a quoted or escaped spelling, a fake program."""
    rules = (
        AllowRule("git-status", matcher(("git", "status")), program="git"),
        anything("echo"),
        anything("ls"),
        anything("npm"),
    )
    for text in ("git status && rm -rf d", "ls; cat /etc/passwd", "echo a; touch f", "npm run build\ncat x"):
        assert isinstance(judge(text, *rules), NotAllowed), text
    for text in (
        "echo hi & rm x",
        "ls <(rm x)",
        "echo $(rm x)",
        "ls > /etc/x",
        "echo p >> ~/.bashrc",
        "git sta\\tus",
        "PATH=/tmp ls",
        "ls 2>&1& rm x",
        "npm run `x`",
        "e\\cho x",
    ):
        assert not isinstance(lex(text), Literal), text


def test_a_git_pointer_is_no_operand() -> None:
    """Whoever may copy something to .git chooses which configuration git obeys."""
    answer = judge("cp a .git", on_paths("cp"), paths={"a": PathFact("/srv/app/a"), ".git": PathFact("/srv/app/.git")})
    assert kind_of(answer) is WhyNot.OPERAND
