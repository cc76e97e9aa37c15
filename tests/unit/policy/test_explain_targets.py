"""How a question shows what would be taken away."""

import pytest

from mtbot.domain.call import Target, TargetKind, Weight
from mtbot.policy.explain import size_text, target_line


def target(path: str, weight: Weight | None, kind: TargetKind = TargetKind.DIRECTORY) -> Target:
    """Something that would be taken away."""
    return Target("x", path, kind, write=True, removed=True, weight=weight)


@pytest.mark.parametrize(
    ("shown", "what"),
    [
        (target("/home/m/ws/old", Weight(14, 3_100_000)), "~/ws/old   (14 files, 3.1 MB)"),
        (target("/home/m/ws/old", Weight(1, 812)), "~/ws/old   (1 file, 812 bytes)"),
        (target("/home/mine/old", Weight(0, 0)), "/home/mine/old   (0 files, 0 bytes)"),
        (target("/srv/a", Weight(1, 1), TargetKind.FILE), "/srv/a   (1 byte)"),
        (target("/srv/a", Weight(20_000, 5_000_000_000, whole=False)), "/srv/a   (more than 20000 files, 5 GB)"),
        (target("/srv/a", None), "/srv/a   (nobody could look how much it is)"),
        (Target("x", "/home/m/a", TargetKind.FILE, write=True), "/home/m/a"),
    ],
)
def test_a_path_is_shown_with_how_much_it_is(shown: Target, what: str) -> None:
    """Below the home it begins with ~; what is only read or written is shown as it is."""
    assert target_line(shown, "/home/m") == what


def test_without_a_home_nothing_is_below_it() -> None:
    """A uid without a home has / for one."""
    assert target_line(target("/srv/a", Weight(1, 1)), "/") == "/srv/a   (1 file, 1 byte)"


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1 MB"),
        (3_141_592, "3.1 MB"),
        (2_000_000_000, "2 GB"),
        (7_500_000_000_000_000, "7500 TB"),
    ],
)
def test_sizes_are_told_in_the_unit_that_fits(size: int, text: str) -> None:
    """Never a thousand of one unit, and nothing behind the largest."""
    assert size_text(size) == text
