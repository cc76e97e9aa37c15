"""Where git writes in its repository, and nothing that it was told to start does."""

import pytest

from mtbot.policy import readings
from mtbot.policy.git_alone import only_git


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("git add -A", True),
        ("git add -A && git commit -m 'make it so'", True),
        ("git -C sub --no-pager log", True),
        ("git add -A && make", False),
        ("git add $(make)", False),
        ("./git add x", False),
        ("/usr/bin/git add x", False),
        ("git -c core.hooksPath=x commit", False),
        ("git --exec-path=. add x", False),
        ("git -c alias.x='!make' x", False),
        ("GIT_SSH_COMMAND=./x git push", False),
        ("env git add x", False),
        ("timeout 5 git add x", False),
        ("git clean -fdx", True),
        ("git add --update", True),
        ("git pull --rebase --recurse-submodules", True),
        ("git rebase main", True),
        ("git rebase --exec ./x main", False),
        ("git rebase --exe=./x main", False),
        ("git rebase -ix ./x main", False),
        ("git log --output=.git/commondir", False),
        ("git diff --ext-diff", False),
        ("git fetch --upload-pack=./x origin", False),
        ("git push --receive-pack ./x origin", False),
        ("git submodule foreach ./x", False),
        ("git bisect run ./x", False),
        ("git status && git config core.pager ./x", False),
        ("git own-alias", False),
        ("git", False),
        ("git -C", False),
        ("", False),
        ("for x in y; do make; done", False),
    ],
)
def test_only_git(text: str, alone: bool) -> None:
    """By its bare name, with no settings of its own."""
    assert only_git(readings.read(text).commands) is alone
