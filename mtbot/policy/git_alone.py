"""Whether git is all that a text starts, so that it may write in its repository where a build may not."""

from collections.abc import Iterable

from mtbot.policy.reading_values import SimpleCommand

_HARMLESS = frozenset({"--no-pager", "--no-optional-locks"})

_SPELLED = """add branch checkout cherry-pick clean commit diff fetch log merge mv pull push rebase reset restore revert
rm show stash status switch tag"""
_VERBS = frozenset(_SPELLED.split())
"""What changes a repository and starts what its configuration and its hooks name, which cannot be changed."""

_TOLD = ("--ex", "--ou", "--upl", "--rece")
"""How options begin that name a program or a file to write: exec, ext-diff, output, upload-pack, receive-pack."""


def only_git(commands: Iterable[SimpleCommand]) -> bool:
    """Whether there are commands and each is git by its bare name, told by nothing on its line what to start.

    A setting (`-c`, `--exec-path`), a variable in front or a wrapper could have git start something else, and so could
    `rebase --exec`, `submodule foreach` and `bisect run`; `log --output` writes any file. Unknown verbs count as such.
    """
    found = tuple(commands)
    return bool(found) and all(map(_is_git, found))


def _is_git(command: SimpleCommand) -> bool:
    words = [word.text for word in command.argv]
    if words[:1] != ["git"] or command.assignments or command.via:
        return False
    at = 1
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "-C":
            at += 2
        elif words[at] in _HARMLESS:
            at += 1
        else:
            return False
    return at < len(words) and words[at] in _VERBS and not _told(words[at], words[at + 1 :])


def _told(verb: str, words: list[str]) -> bool:
    """Whether an option names a program, or a file that git writes wherever it is."""
    options = [word for word in words if word.startswith("-")]
    short = verb == "rebase" and any("x" in word for word in options if not word.startswith("--"))
    return short or any(word.startswith(_TOLD) for word in options)
