"""Which questions of a night may wait for the morning."""

from dataclasses import replace

import pytest

from mtbot.domain.call import Below, Decision, Stage, Target, TargetKind, Verdict
from mtbot.policy.effects import prepare
from mtbot.policy.later import NEVER, may_wait
from mtbot.policy.ruleset import RuleSet
from mtbot.policy.sensitive import Places
from tests.unit.policy.calls import READ, call_of, decide, facts_of, prepared_of

RULES = RuleSet(places=Places(home="/home/mtclaw", code=("/usr/local/bin",)))
ASK = Decision(Verdict.ASK, Stage.TOOL, None, "it asks")


def waits(command: str, **changes: object) -> bool:
    """Whether the question about a command may wait."""
    prepared = prepared_of(command, RULES)
    return may_wait(prepared, facts_of(prepared, **changes), decide(command, RULES, **changes))


@pytest.mark.parametrize(
    "command",
    [
        "touch made.txt",
        "echo ran >> sentinel",
        "/usr/local/bin/backup --all",
        "certbot renew > /dev/null",
        "sort < a/../notes > ./b/../c",
        "",
        "for f in a b; do echo $f; done",
    ],
)
def test_ordinary_work_may_wait(command: str) -> None:
    """A program lies where nobody may write, and is not touched by being run."""
    assert waits(command)


@pytest.mark.parametrize(
    "command",
    [
        "cat .env",
        "cat ~/.ssh/id_rsa",
        "cat $HOME/.ssh/id_rsa",
        "cat /etc/shadow",
        "cat a/../.env",
        "sort < a/../.env",
        "rsync --password-file=.env a b",
        "sh -c 'cat .env'",
        "tar cf out.tar ~",
        "echo x > ~/.bashrc",
        "echo x > .git/hooks/pre-commit",
        "cp a /usr/local/bin/docker",
        "sudo touch made.txt",
    ],
)
def test_secrets_and_root_do_not(command: str) -> None:
    """As they are written: nobody looked where they lead."""
    if command == "tar cf out.tar ~":
        assert not waits(command, below={"~": Below.SENSITIVE})
    else:
        assert not waits(command)


def test_where_a_word_leads_counts_more_than_what_it_says() -> None:
    """A link of a harmless name."""
    assert not waits("cat notes", resolved={"notes": "/home/mtclaw/.ssh/id_rsa"})
    assert waits("backup notes", resolved={"backup": "/usr/local/bin/backup", "notes": "/srv/work/notes"})


def test_another_tools_targets_count_too() -> None:
    """A file by its place, and what policy has called by name."""
    prepared = prepare(call_of("read_file", {"path": "a"}), READ, RULES)

    def at(path: str) -> bool:
        return may_wait(prepared, facts_of(prepared, targets=(Target("a", path, TargetKind.FILE),)), ASK)

    assert at("/srv/work/a")
    assert not at("/srv/work/.env")
    for rule in NEVER:
        assert not may_wait(prepared, facts_of(prepared), replace(ASK, rule=rule))
    assert not may_wait(prepared, facts_of(prepared), replace(ASK, elevates=True))
