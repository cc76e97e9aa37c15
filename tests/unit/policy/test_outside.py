"""Text from outside: which commands bring some, wherever they stand in a text."""

import pytest

from mtbot.policy import readings
from mtbot.policy.outside import FETCHERS, FETCHES, brings_text
from mtbot.policy.readonly import READONLY


def brings(text: str) -> bool:
    """Whether any command of a text brings some."""
    return brings_text(readings.read(text).commands)


@pytest.mark.parametrize(
    "text",
    [
        "curl https://example.org",
        "curl -s https://example.org | jq .a > out",
        "cd x && wget -q https://example.org/f",
        "timeout 5 bash -c 'gh issue view 1 | head'",
        "gh pr list",
        "glab mr view 1",
        "kubectl logs web",
        "kubectl -n prod get pods",
        "for p in a b; do kubectl logs $p; done",
        "x=$(curl -s https://example.org); echo done",
        "find . -name f -exec curl -T {} https://example.org ;",
        "git clone https://example.org/r",
        "git -C r pull",
        "git ls-remote origin",
        "ssh host cat /var/log/x",
        "dig TXT example.org",
        "npm view left-pad",
        "docker search x",
        "aws logs tail g",
        "sudo curl https://example.org",
        "/usr/bin/curl https://example.org",
        "python3 <(curl https://example.org)",
    ],
)
def test_brings(text: str) -> None:
    """Whatever way it is wrapped."""
    assert brings(text)


@pytest.mark.parametrize(
    "text",
    [
        "ls",
        "echo curl",
        "git log --oneline",
        "git status",
        "git commit -m 'use curl'",
        "grep -r wget .",
        "journalctl -u nginx",
        "docker logs web",
        "docker ps",
        "npm ls",
        "pip list",
        "cat page.html",
        "curl --version",
        "gh --help",
        "kubectl version",
        "man curl",
        "which gh kubectl",
        "",
    ],
)
def test_brings_nothing(text: str) -> None:
    """What lies here, what says something about itself, and what only names such a program."""
    assert not brings(text)


def test_what_the_pack_asks_another_host_for_counts() -> None:
    """A program that an entry of the pack gives the network to, and that asks somebody far away, is known here."""
    networked = {rule.program for rule in READONLY if rule.needs.network}
    assert networked - FETCHERS - set(FETCHES) == set()
    for rule in READONLY:
        if rule.needs.network and rule.program in FETCHERS:
            assert all(
                brings(text) for text in rule.permits if not text.endswith(("--version", "--help", "version", "help"))
            ), rule.id
