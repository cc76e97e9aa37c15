"""What lies below a directory is found, or said to be unknown."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mtbot.domain.call import Below
from mtbot.policy.sensitive import Places
from mtbot.tools import below
from mtbot.tools.below import look_below

NOTHING, REPOSITORY, SENSITIVE, UNKNOWN = Below.NOTHING, Below.REPOSITORY, Below.SENSITIVE, Below.UNKNOWN


def _still() -> float:
    return 0.0


def _look(path: Path | str, places: Places | None = None) -> Below:
    return look_below(str(path), places or Places(home="/home/chief"), _still)


def _plain(place: Path) -> None:
    (place / "src/deep").mkdir(parents=True)
    (place / "src/deep/a.py").write_text("1")


def _key(place: Path) -> None:
    (place / "src/server.pem").write_text("x")


def _ssh(place: Path) -> None:
    (place / "src/.ssh").mkdir()


def _git(place: Path) -> None:
    (place / "src/.git/hooks").mkdir(parents=True)
    (place / "src/.git/config").write_text("")


def _git_and_key(place: Path) -> None:
    _git(place)
    _key(place)


def _bare(place: Path) -> None:
    (place / "src/x.git/hooks").mkdir(parents=True)
    (place / "src/x.git/config").write_text("")


def _key_in_bare(place: Path) -> None:
    _bare(place)
    (place / "src/x.git/id_rsa").write_text("")


def _bare_among_secrets(place: Path) -> None:
    (place / "src/secrets/x.git").mkdir(parents=True)
    (place / "src/secrets/x.git/config").write_text("")


def _link_inside(place: Path) -> None:
    (place / "src/link").symlink_to("deep")


def _link_to_key(place: Path) -> None:
    key = place.with_name("outside.pem")
    key.write_text("x")
    (place / "src/link").symlink_to(key)


def _link_to_home(place: Path) -> None:
    (place / "src/link").symlink_to("/home/chief")


def _link_to_file(place: Path) -> None:
    plain = place.with_name("outside.txt")
    plain.write_text("x")
    (place / "src/link").symlink_to(plain)


def _link_to_directory(place: Path) -> None:
    plain = place.with_name("elsewhere")
    plain.mkdir()
    (place / "src/link").symlink_to(plain)


def _dangling(place: Path) -> None:
    (place / "src/link").symlink_to("none")


def _git_link(place: Path) -> None:
    place.with_name("elsewhere").mkdir()
    (place / "src/.git").symlink_to(place.with_name("elsewhere"))


def _deep(place: Path) -> None:
    (place / "/".join("d" * below.MAX_DEPTH)).mkdir(parents=True)


@pytest.mark.parametrize(
    ("add", "expected"),
    [
        (_plain, NOTHING),
        (_key, SENSITIVE),
        (_ssh, SENSITIVE),
        (_git, REPOSITORY),
        (_git_and_key, SENSITIVE),
        (_bare, REPOSITORY),
        (_key_in_bare, SENSITIVE),
        (_bare_among_secrets, SENSITIVE),
        (_link_inside, NOTHING),
        (_link_to_key, SENSITIVE),
        (_link_to_home, SENSITIVE),
        (_link_to_file, NOTHING),
        (_link_to_directory, UNKNOWN),
        (_dangling, NOTHING),
        (_git_link, UNKNOWN),
        (_deep, UNKNOWN),
    ],
)
def test_the_worst_that_lies_below_is_the_answer(workspace: Path, add: Callable[[Path], None], expected: Below) -> None:
    """Names count wherever they lie; links count as what they lead to."""
    (workspace / "src/deep").mkdir(parents=True)
    if add is _plain:
        (workspace / "src/deep").rmdir()
        (workspace / "src").rmdir()
    add(workspace)
    assert _look(workspace) is expected


def test_what_is_no_directory_has_nothing_below(workspace: Path) -> None:
    """A file is judged by its own name, and what is missing holds nothing."""
    (workspace / "a.txt").write_text("x")
    assert _look(workspace / "a.txt") is NOTHING
    assert _look(workspace / "none") is NOTHING


@pytest.mark.parametrize("path", ["/", "/etc", "/home/chief", "/proc"])
def test_the_great_places_need_no_look(path: str) -> None:
    """Something sensitive is known to lie there, or the home is."""
    assert _look(path) in (SENSITIVE, NOTHING if path == "/home/chief" else SENSITIVE)


def test_own_places_count(workspace: Path) -> None:
    """The state of mtclaw inside a workspace makes all above it sensitive."""
    (workspace / "src").mkdir()
    assert _look(workspace, Places(home="/home/chief", own=(f"{workspace}/src/state",))) is SENSITIVE


def test_kernel_files_and_unresolved_paths_are_unknown(workspace: Path) -> None:
    """Nothing is claimed of what was not looked at."""
    (workspace / "link").symlink_to(".")
    assert _look("/sys/kernel/mm") is UNKNOWN
    assert _look(workspace / "link") is UNKNOWN
    assert _look(f"{workspace}/../ws") is UNKNOWN


def test_too_many_entries_are_unknown(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound counts every entry on the way."""
    monkeypatch.setattr(below, "MAX_ENTRIES", 3)
    for number in range(3):
        (workspace / f"f{number}").touch()
    assert _look(workspace) is NOTHING
    (workspace / "f3").touch()
    assert _look(workspace) is UNKNOWN


def test_a_look_that_takes_too_long_is_unknown(workspace: Path) -> None:
    """Time is bounded, too."""
    (workspace / "a").touch()
    times = iter([0.0, below.MAX_SECONDS + 0.01])
    assert look_below(str(workspace), Places(home="/"), lambda: next(times)) is UNKNOWN
