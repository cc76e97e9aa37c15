"""What is held by each version of Landlock since its first, by doing: a kernel that knows less must not be said to hold more.

Rights that a version does not know are not handled, which is all that an older kernel does differently.
"""

from collections.abc import Iterator

import pytest

from mtbot.processes import probe

from .captive import Confined
from .test_containment import FILES

SCOPES_SIGNALS = 6


@pytest.fixture(scope="module", params=range(1, 7))
def older(confined: Confined, request: pytest.FixtureRequest) -> Iterator[tuple[int, Confined]]:
    """A gateway of each user for each version, without bubblewrap."""
    version = int(request.param)
    with confined.another(landlock=version, bubblewrap="") as made:
        yield version, made


def test_it_says_what_it_holds_and_no_more(older: tuple[int, Confined]) -> None:
    """Files and network hold in all of them, signals since they can be scoped."""
    version, gateway = older
    signals = version >= SCOPES_SIGNALS
    assert {name: gateway.about[name] for name in ("files", "network", "signals", "missing")} == {
        "files": True,
        "network": True,
        "signals": signals,
        "missing": [] if signals else [probe.SIGNALS["signal"]],
    }


def test_no_way_to_a_file_outside_is_open(older: tuple[int, Confined]) -> None:
    """Nor is one that only a later version knows: what it would close (truncation) the filter closes."""
    _, gateway = older
    came_through = set()
    for name, script in FILES.items():
        gateway.lay_out()
        before = gateway.state()
        code, output = gateway.run(script)
        came_through |= {name} if code == 0 or gateway.state() != before or "secret" in output else set()
    assert came_through == set()


def test_what_it_does_not_hold_is_true(older: tuple[int, Confined]) -> None:
    """The gateway can be signalled exactly where that is said."""
    version, gateway = older
    assert (gateway.run("kill -0 $GATEWAY")[0] == 0) is (version < SCOPES_SIGNALS)


def test_a_build_works(older: tuple[int, Confined]) -> None:
    """Writes, truncates, renames and moves between directories, whatever the version knows of these."""
    _, gateway = older
    gateway.lay_out()
    script = (
        "mkdir a b && echo one > a/f && echo two > a/f && mv a/f a/g && mv a/g b/ && ln -s b/g l && cat l && "
        ": > b/g && [ ! -s b/g ] && rm -r a b && echo t > $TMPDIR/t && mv $TMPDIR/t . && cat t"
    )
    assert gateway.run(script, attributes=True) == (0, "two\nt\n")


def test_with_bubblewrap_it_holds_what_it_held_and_what_that_adds(confined: Confined) -> None:
    """Also with the first version."""
    if not confined.holds("bubblewrap"):
        pytest.skip("needs: bubblewrap")
    with confined.another(landlock=1) as first:
        assert {name: first.about[name] for name in ("files", "network", "signals", "bubblewrap")} == {
            "files": True,
            "network": True,
            "signals": False,
            "bubblewrap": True,
        }
        first.lay_out()
        guarded = str(first.workspace)
        assert first.run("kill -0 $GATEWAY", guarded=guarded)[0] != 0  # it has another number there, if any
        # what it can signal are the processes that keep the box, and with them it ends itself
        end = first.ask("echo up; kill -9 -1; exec sleep 600", guarded=guarded)
        assert (end["status"], end["output"], end["left"]) == ("signaled", "up\n", False)
        assert first.run("true", guarded=guarded)[0] == 0
