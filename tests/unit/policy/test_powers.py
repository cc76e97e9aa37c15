"""Expressions that give away more than they seem to, each beside one that does not."""

import pytest

from mtbot.policy.never import never_by_pattern
from mtbot.policy.owner import Item, rule
from mtbot.policy.powers import POWERFUL, Does, Power, granted
from mtbot.policy.readonly import READONLY
from mtbot.policy.review import lint

SHARP = {
    "sort": r"sort( -[nru]+)? [a-z/.]+",
    "find": r"find [a-z/.]+ -name [a-z*.']+",
    "fd": r"fd [a-z.]+( [a-z.]+)?",
    "git": r"git (log|diff|show|fetch)( -[0-9]+)?( [a-z/]+)?",
    "tar": r"tar -tf [a-z/.]+",
    "rsync": r"rsync -av? [a-z/.]+ [a-z/.]+",
    "zip": r"zip -r [a-z/.]+ [a-z/.]+",
    "split": r"split( -l [0-9]+)? [a-z/.]+",
    "iconv": r"iconv -f latin1 [a-z/.]+",
    "tree": r"tree( -d)? [a-z/.]+",
    "curl": r"curl (-s )?https://[a-z/.]+",
}
"""What an owner wants of each program, without its powers."""

POWERS = [(program, power) for program, powerful in POWERFUL.items() for power in powerful.powers]
every_program = pytest.mark.parametrize("program", list(POWERFUL))
every_power = pytest.mark.parametrize(
    ("program", "power"), POWERS, ids=[f"{program} {power.option}" for program, power in POWERS]
)


def remarks(item: Item, seen: tuple[str, ...] = ()) -> list[str]:
    """What lint says of one rule's powers."""
    found = lint((item,), (rule("allow[0]", item),), (), seen)
    return [f"{one.key}: {one.text}" for one in found if "takes no option" in one.text]


def options(regex: str, program: str) -> dict[str, Does]:
    """The powers that an expression gives away, by their names."""
    found = {one.program: one for one in granted(rule("allow[0]", Item(regex=regex)))}
    return {power.option: power.does for power in found[program].powers} if program in found else {}


def test_every_program_has_a_sharp_expression() -> None:
    """So that each remark is tried both ways."""
    assert list(SHARP) == list(POWERFUL)


@every_power
def test_a_wide_expression_gives_the_power_away(program: str, power: Power) -> None:
    """A wildcard behind the program takes any option."""
    assert options(f"{program} .*", program)[power.option] is power.does


@every_program
def test_a_sharp_expression_gives_nothing_away(program: str) -> None:
    """It covers commands that the wide one was tried with, and none of the powers."""
    sharp = rule("allow[0]", Item(regex=SHARP[program]))
    assert any(sharp.match((program, *base)) for base in POWERFUL[program].bases)
    assert list(granted(sharp)) == []
    assert remarks(Item(regex=SHARP[program])) == []


@every_program
def test_the_argv_rule_that_is_proposed_gives_nothing_away(program: str) -> None:
    """And is a rule that can be written."""
    safer = rule("allow[0]", Item(argv=POWERFUL[program].safer))
    assert any(safer.match((program, *base)) for base in POWERFUL[program].bases)
    assert list(granted(safer)) == []


@every_program
def test_a_pattern_may_name_the_program_at_all(program: str) -> None:
    """Of any other an expression covers nothing, and there is nothing to remark."""
    assert never_by_pattern(program) is None


@every_power
def test_the_pack_that_only_looks_knows_no_command_with_a_power(program: str, power: Power) -> None:
    """What it lets run writes no file and runs no program."""
    for base in POWERFUL[program].bases:
        for at in range(1, len(base) + 2):
            argv = ((program, *base)[:at]) + power.words + ((program, *base)[at:])
            if power.held_by(argv):
                assert not [one.id for one in READONLY if one.program == program and one.match(argv)]


def test_a_remark_names_rule_example_powers_and_a_better_rule() -> None:
    """In one line."""
    (found,) = remarks(Item(regex="sort .*"))
    assert found == (
        "tools.exec.allow[0]: covers `sort x -o x`: sort runs any program (--compress-program) and writes any file "
        '(-o, --output); an argv rule such as ["sort", "**"] takes no option that it does not name'
    )


def test_several_programs_of_one_expression_have_a_remark_each() -> None:
    """Nobody overlooks the second."""
    found = remarks(Item(regex="(sort|find|ls) .*"))
    assert [text.partition("`")[2].partition(" ")[0] for text in found] == ["sort", "find"]


@pytest.mark.parametrize(
    ("regex", "program", "wanted"),
    [
        (r"git( -C [a-z]+)? .*", "git", {"-c", "--output", "--exec", "--receive-pack", "--upload-pack"}),
        (r"git log.*", "git", {"--output"}),
        (r"git status.*", "git", set[str]()),
        (r"git fetch.*", "git", {"--exec", "--receive-pack", "--upload-pack"}),
        (r"find [a-z]+( -name [a-z*.]+)?( -[a-z]+ [a-z]+)?", "find", {"-fls", "-fprint"}),
    ],
)
def test_a_power_counts_where_the_program_has_it(regex: str, program: str, wanted: set[str]) -> None:
    """An option of another subcommand, or in another place, is none."""
    assert set(options(regex, program)) == wanted


def test_an_expression_of_another_shape_is_tried_with_what_is_known_of_it() -> None:
    """Its examples, and the commands on record."""
    odd = "sort -k[0-9]+,[0-9]+ --parallel=[0-9] .*"
    assert remarks(Item(regex=odd)) == []
    assert len(remarks(Item(regex=odd, permits=("sort -k1,1 --parallel=2 a",)))) == 1
    assert len(remarks(Item(regex=odd), seen=("ls; x=$y", "sort -k1,1 --parallel=2 a"))) == 1


def test_an_argv_rule_and_one_that_covers_everything_are_none_of_its_business() -> None:
    """The one names its options, the other is remarked as what it is."""
    assert remarks(Item(argv=("sort", "-o", "*", "**"))) == []
    assert remarks(Item(regex=".*")) == []
