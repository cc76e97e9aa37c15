"""What pydantic found, in this project's words and at the right place."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from mtbot.config.channels import BotSettings, ChannelsSettings, GroupSettings
from mtbot.config.faults import element_of, empty_values, judge, keys_at, section_of
from mtbot.config.problems import Path as KeyPath
from mtbot.config.settings import Top
from mtbot.config.tools import AllowItem
from mtbot.config.values import Frame
from mtbot.config.yaml_marks import Node, parse
from mtbot.domain.ids import UserId


def tree(text: str) -> Node:
    """A YAML text as a tree."""
    found, problems = parse(text)
    assert found is not None
    assert problems == []
    return found


def test_a_good_node_becomes_its_section() -> None:
    """Without a problem."""
    section, problems = judge(GroupSettings, tree("allow_from: [chief]"), Frame(people={"chief": 5}))
    assert (section, problems) == (GroupSettings(allow_from=(UserId(5),)), [])


def test_a_fault_stands_at_the_value_and_an_unknown_key_at_the_key() -> None:
    """The cursor of an editor lands on what must be changed."""
    section, problems = judge(GroupSettings, tree("require_mention: yes\nallow_form: [1]"), Frame())
    assert section is None
    assert [problem.render("f") for problem in problems] == [
        "f:1:18: require_mention: must be true or false",
        'f:2:1: allow_form: unknown key (did you mean "allow_from"?)',
    ]


def test_a_section_with_a_bare_key_is_not_given_out() -> None:
    """Even where that key may be unset: what was meant is unknown."""
    section, problems = judge(BotSettings, tree("profile:"), Frame())
    assert section is None
    assert problems == empty_values(tree("profile:"))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("tools", "exec", "env"), ("pass", "set")),
        (("tools", "exec", "allow", 3), tuple(AllowItem.model_fields)),
        (("channels", "telegram", "bots", "x", "groups", "-5"), ("require_mention", "allow_from", "approvers")),
        (("cron", "jobs", 0, "deliver_to"), ("channel", "bot", "chat_id", "thread_id")),
        (
            ("storage",),
            (
                "driver",
                "dsn",
                "dsn_env",
                "dsn_file",
                "keep_days",
                "earlier_conversations",
                "output_bytes",
                "output_days",
                "output_total_bytes",
                "path",
            ),
        ),
        (("agent", "name"), ()),
        (("nothing", "at", "all"), ()),
    ],
)
def test_which_keys_a_place_knows(path: KeyPath, expected: tuple[str, ...]) -> None:
    """As they are written in the file, with short forms, through lists, mappings and optional sections."""
    assert keys_at(Top, path) == expected


def test_annotations_are_looked_through() -> None:
    """Optional sections, and what lists and mappings hold."""
    assert section_of(GroupSettings | None) is GroupSettings
    assert section_of(int | None) is None
    assert element_of(tuple[BotSettings, ...]) is BotSettings
    assert element_of(Mapping[str, ChannelsSettings]) is ChannelsSettings
    assert element_of(Path) is None
