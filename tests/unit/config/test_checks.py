"""What sections say about one another, judged with as many of them as could be read."""

from pathlib import Path

import pytest

from mtbot.config.checks import Parts, check
from mtbot.config.yaml_marks import parse
from tests.unit.config.sample import SMALL, fault, faults, read


def test_sections_that_could_not_be_read_are_passed_over() -> None:
    """Their own faults are told elsewhere; nothing is concluded from their absence."""
    tree, _ = parse("cron: 5")
    assert tree is not None
    assert list(check(Parts(tree))) == []


def test_one_bad_section_hides_nothing_between_the_others(tmp_path: Path) -> None:
    """A log that cannot be read, and two jobs of one name."""
    one = "{name: j, schedule: '@daily', prompt: x}"
    assert faults(tmp_path, f"{SMALL}log: {{level: loud}}\ncron: {{jobs: [{one}, {one}]}}\n") == [
        '4:14: log.level: must be debug, info, warn or error, not "loud"',
        "5:64: cron.jobs[1].name: a job called j exists already",
    ]


def test_a_misread_list_of_people_does_not_make_the_owner_a_stranger(tmp_path: Path) -> None:
    """Only with all people read can somebody be missing among them."""
    text = "people: {chief: '@chief', deploy: 2}\nowner: 7\nagent: {model: m}\nchannels: {telegram: {allow_from: [2]}}"
    assert [one.split(": ")[1] for one in faults(tmp_path, text)] == ["people.chief"]


def test_bots_that_are_no_mapping_or_none_at_all(tmp_path: Path) -> None:
    """Each is one fault."""
    for text, expected in (
        ("{telegram: {bots: {}}}", "channels.telegram.bots: must not be empty"),
        ("{telegram: {bots: [one]}}", "channels.telegram.bots: must be a mapping"),
        ("{telegram: {bots: {one: 5}}}", "channels.telegram.bots.one: must be a mapping"),
        ("{telegram: 5}", "channels.telegram: must be a mapping"),
        ("{telegrm: {}}", 'channels.telegrm: unknown key (did you mean "telegram"?)'),
    ):
        found = faults(tmp_path, f"agent: {{model: m}}\nchannels: {text}\n")
        told = [one for one in found if "would accept no one" not in one]
        assert [one.split(": ", 1)[1] for one in told] == [expected]


@pytest.mark.parametrize("dsn", ["postgresql://u@h:99999/d", "postgresql://[::1/d"])
def test_a_dsn_that_cannot_be_taken_apart(tmp_path: Path, dsn: str) -> None:
    """It is refused and not passed on to the driver."""
    message = fault(tmp_path, "storage.dsn", f"storage: {{driver: postgres, dsn: '{dsn}'}}")
    assert message == "must be postgresql://user@host/database"


def test_a_place_that_may_not_be_looked_at_is_no_fault(tmp_path: Path) -> None:
    """A directory that does not exist yet is made when the gateway starts."""
    assert read(tmp_path, SMALL + "storage: {dsn: not/yet/here.db}").storage.dsn == f"{tmp_path}/not/yet/here.db"


def test_values_that_no_child_could_be_given(tmp_path: Path) -> None:
    """An empty name, and a value that would end early."""
    assert fault(tmp_path, "tools.exec.env.pass[0]", "tools: {exec: {env: {pass: ['']}}}").startswith(
        "must be the name"
    )
    nul = 'tools: {exec: {env: {set: {A: "x\\0y"}}}}'
    assert fault(tmp_path, "tools.exec.env.set.A", nul) == "must not hold a NUL character"
