"""The rule about mtclaw itself, over every verb of its command line."""

from collections.abc import Iterator

import click
import pytest

from mtbot.cli.main import root
from mtbot.policy import deny
from mtbot.policy.rules.own import OWN

CHANGES = """onboard|gateway|prompt|send|cron run|approvals approve|approvals deny|approvals revoke|approvals run|approvals output|grants revoke|jobs tail|jobs kill|audit acknowledge|db backup
    |db prune|db vacuum|sessions rm|trash empty|trash restore|pair|reload|policy allow|policy soften|demo|simulator model|simulator telegram"""
READS = """doctor|grants list|jobs list|version|usage|cron list|approvals list|approvals pending|approvals show|audit export|audit verify|sessions list
    |sessions show|trash list|policy check|policy explain|policy lint|policy replay|policy rules|policy sudoers|policy suggest|policy test
    |senders|status|config path|config reference|config show|config validate"""


def _verbs(group: click.Group, before: str = "") -> Iterator[str]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _verbs(command, f"{before}{name} ")
        else:
            yield before + name


def _split(block: str) -> list[str]:
    return [verb.strip() for verb in block.split("|")]


def refused(text: str) -> bool:
    """Whether the rule refuses a text."""
    _, found = deny.look(text, deny.compile_rules())
    return isinstance(found, deny.Denial) and found.rule_id == OWN[0].id


def test_every_verb_is_judged() -> None:
    """A verb that is new is refused, and this test fails, until somebody has read what it does."""
    assert sorted(_verbs(root)) == sorted((*_split(CHANGES), *_split(READS)))


@pytest.mark.parametrize("verb", _split(CHANGES))
@pytest.mark.parametrize(
    "shape", ["mtclaw {}", "mtclaw --config x.yaml {} a", "mtclaw --log-level=debug {} --x --help"]
)
def test_a_verb_that_changes_something_is_refused(verb: str, shape: str) -> None:
    """Options in front of it and a help behind an option change nothing: the option may take the word."""
    assert refused(shape.format(verb))


@pytest.mark.parametrize("verb", _split(READS))
@pytest.mark.parametrize("shape", ["mtclaw {}", "mtclaw --config x.yaml {} a", "mtclaw --log-level=debug {} --x"])
def test_a_verb_that_reads_is_not_refused(verb: str, shape: str) -> None:
    """The bot may be asked about itself."""
    assert not refused(shape.format(verb))


@pytest.mark.parametrize(
    "text", ["mtclaw", "mtclaw --help", "mtclaw approvals --help", "mtclaw approvals approve --help"]
)
def test_help_is_not_refused(text: str) -> None:
    """Of any verb, in front of everything else."""
    assert not refused(text)


@pytest.mark.parametrize(
    "text",
    [
        "mtclaw --config approve approvals approve list",
        "mtclaw --config sessions sessions rm list",
        "mtclaw approvals deny 3fa9 --reason --help",
        "mtclaw approvals approve -- --help",
        "mtclaw unknown",
        "mtclaw -x",
        "mtclaw -x version",
        "mtclaw approvals",
    ],
)
def test_no_value_passes_for_a_verb(text: str) -> None:
    """Only the words that the command line itself takes for the verb count."""
    assert refused(text)
