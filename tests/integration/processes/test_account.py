"""Commands of a gateway that is root run as another user, for good; their containment and their ending hold as before."""

import json
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from mtbot.domain.process import CONTAINED, Account, ChildRequest, ChildStatus, Grants
from mtbot.processes.children import RunnerChildren
from mtbot.processes.confiner import Confiner, sweep_private_directories
from mtbot.processes.containment import Guard
from mtbot.processes.ending import EndStatus
from mtbot.processes.request import BadRequest, SpawnRequest
from mtbot.processes.runner import Runner
from mtbot.processes.spawner.order import BadOrder, Order
from mtbot.processes.spawning import start_spawner
from tests.integration.storage.ordinary import open_directory

from .scenes import Gateway
from .test_other_users import ordinary

SOMEBODY = Account("somebody", 54_321, 54_322, (54_322, 54_323), "/nonexistent", "/bin/sh")
NOTHING = Guard(closed=lambda _path: False, above=lambda _path: False)


@pytest.fixture
async def runner() -> AsyncIterator[Runner]:
    """A runner with a spawner of its own."""
    started = Runner(start_spawner())
    yield started
    await started.close()


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that belongs to somebody."""
    with open_directory() as directory:
        inside = directory / "theirs"
        inside.mkdir()
        shutil.chown(inside, SOMEBODY.uid, SOMEBODY.gid) if os.geteuid() == 0 else None
        yield inside


def request(script: str, cwd: str = "/", seconds: float = 20.0, account: Account | None = SOMEBODY) -> SpawnRequest:
    """A shell command of somebody."""
    argv = ("/bin/sh", "-c", script)
    return SpawnRequest("c1", argv, {"PATH": "/usr/bin:/bin"}, cwd, seconds, 65_536, account=account)


if os.geteuid() == 0:  # only root can become somebody else

    async def test_it_runs_with_exactly_that_user_and_its_groups(runner: Runner) -> None:
        """Real, effective and saved; no group of root is left; there is no way back."""
        look = "id -u; id -g; id -G; grep -E '^(Uid|Gid|CapEff|CapPrm):' /proc/self/status | tr -s '\\t' ' '; setpriv --reuid 0 id"
        end = await runner.run(request(look))
        lines = end.output.text().splitlines()
        assert lines[:3] == ["54321", "54322", "54322 54323"]
        assert lines[3:7] == [
            "Uid: 54321 54321 54321 54321",
            "Gid: 54322 54322 54322 54322",
            "CapPrm: 0000000000000000",
            "CapEff: 0000000000000000",
        ]
        assert "Operation not permitted" in lines[7]

    async def test_what_is_the_gateways_is_out_of_reach(runner: Runner, place: Path) -> None:
        """A secret of mode 0600, the processes above it, and a directory that is closed to it as a start."""
        secret = place.parent / "secret"
        secret.write_text("precious")
        secret.chmod(0o600)
        (place.parent / "closed").mkdir(mode=0o700)
        tries = f"cat {secret}; cat /proc/$PPID/environ; kill -0 $PPID; kill -0 {os.getpid()}; touch {place.parent}/x; touch mine && echo made"
        end = await runner.run(request(f"({tries}) 2>&1", str(place)))
        assert "precious" not in end.output.text()
        assert end.output.text().endswith("made\n")
        assert end.output.text().count("ermi") == 5
        assert (place / "mine").stat().st_uid == SOMEBODY.uid
        end = await runner.run(request("true", str(place.parent / "closed")))
        assert end.status is EndStatus.FAILED_TO_START
        assert "ermission" in end.message

    @pytest.mark.parametrize(
        "script", ["exec sleep 600", "trap '' TERM; (setsid sleep 600 &) ; while :; do sleep 1; done"]
    )
    async def test_its_time_out_and_what_it_left_end_as_ever(runner: Runner, script: str) -> None:
        """Root may signal it, whatever it does."""
        end = await runner.run(request(script, seconds=0.5))
        assert (end.status, end.survivors) == (EndStatus.TIMED_OUT, ())

    async def test_a_supervisor_serves_root_and_somebody_in_turn(runner: Runner) -> None:
        """It stays who it is."""
        for account, uid in ((SOMEBODY, "54321\n"), (None, "0\n"), (SOMEBODY, "54321\n")):
            assert (await runner.run(request("id -u", account=account))).output.text() == uid

    async def test_containment_holds_for_that_user(runner: Runner, place: Path) -> None:
        """The probe breaks out of nothing, and what it says holds: reads, writes and network of a contained command."""
        confiner = Confiner(runner, NOTHING, SOMEBODY)
        state = await confiner.state()
        assert (state.files, state.network, state.missing) == (True, True, state.missing)
        outside = place.parent / "open"
        outside.write_text("open to all")
        outside.chmod(0o666)
        script = f"cat {outside}; echo x > {outside}; echo in > {place}/in; echo t > $TMPDIR/t && cat $TMPDIR/t; id -u; cat {place}/in"
        child = ChildRequest(
            "c1",
            ("/bin/sh", "-c", f"({script}) 2>&1"),
            str(place),
            {"PATH": "/usr/bin:/bin"},
            profile=CONTAINED,
            grants=Grants(write=(str(place),)),
            account=SOMEBODY,
        )
        end = await RunnerChildren(runner, confiner).run(child)
        await confiner.close()
        assert end.status is ChildStatus.EXITED
        assert end.output.splitlines()[-3:] == ["t", "54321", "in"]
        assert end.output.count("ermission denied") == 2
        assert outside.read_text() == "open to all"

    async def test_a_box_of_bubblewrap_holds_that_user(runner: Runner, place: Path) -> None:
        """It is built before root is given up, so it works where that user could not build one."""
        confiner = Confiner(runner, NOTHING, SOMEBODY)
        if not (await confiner.state()).bubblewrap:
            pytest.skip("needs: bubblewrap")
        for path in (place / ".env", place.parent / "mode"):
            path.write_text("secret")
            os.chown(path, SOMEBODY.uid, SOMEBODY.gid)
        script = f"id -u; cat {place}/.env; chmod 600 {place.parent}/mode || stat -c %u {place} /usr; echo $$; echo x > {place}/y"
        child = ChildRequest(
            "c1",
            ("/bin/sh", "-c", f"({script}) 2>/dev/null"),
            str(place),
            {"PATH": "/usr/bin:/bin"},
            profile=CONTAINED,
            grants=Grants(write=(str(place),), guarded=str(place), attributes=True),
            account=SOMEBODY,
        )
        end = await RunnerChildren(runner, confiner).run(child)
        await confiner.close()
        assert end.output.splitlines() == ["54321", "54321", "0", "3"]
        assert (place / "y").stat().st_uid == SOMEBODY.uid


if os.geteuid() == 0:

    def test_what_a_killed_gateway_left_of_that_user_is_swept(place: Path) -> None:
        """Of nobody else."""
        for name, uid in (("mtclaw-call-theirs", SOMEBODY.uid), ("mtclaw-call-other", 65534)):
            left = place.parent / name
            (left / "below").mkdir(parents=True)
            os.chown(left, uid, uid)
        assert sweep_private_directories(str(place.parent)) == 0
        assert sweep_private_directories(str(place.parent), SOMEBODY) == 1
        assert (place.parent / "mtclaw-call-other" / "below").is_dir()


def test_a_gateway_that_is_not_root_starts_nothing_as_somebody_else() -> None:
    """The command is not run as the wrong user; it is not run."""
    with Gateway(*ordinary()) as gateway:
        gateway.tell("a", "id -u", uid=SOMEBODY.uid)
        assert gateway.hear("end", "a") == ["failed_to_start", "[]"]


@pytest.mark.parametrize("user", [[0, 0, []], [-1, 5, []], [5], "x", [5, 5, ["x"]]])
def test_an_order_that_names_root_or_nonsense_is_refused(user: object) -> None:
    """Before anything is forked."""
    facts = request("true").facts() | {"user": user}
    with pytest.raises(BadOrder):
        Order(json.dumps(facts).encode())


def test_an_order_without_a_user_stays_who_it_is() -> None:
    """As before."""
    assert Order(json.dumps(request("true", account=None).facts()).encode()).user is None
    assert Order(json.dumps(request("true").facts()).encode()).user == (54_321, 54_322, [54_322, 54_323])
    with pytest.raises(BadRequest):
        request("a\0b")
