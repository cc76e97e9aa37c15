"""Whether git is all that a text starts, so that it may write in its repository where a build may not."""

from collections.abc import Iterable

from mtbot.policy.reading_values import SimpleCommand

_HARMLESS = frozenset({"--no-pager", "--no-optional-locks"})


def only_git(commands: Iterable[SimpleCommand]) -> bool:
    """Whether there are commands and each is git by its bare name, told by nothing on its line what to start.

    A setting (`-c`, `--exec-path`), a variable in front or a wrapper could have git start something else.
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
    return at < len(words)
