"""Another user for commands: who it is, when it can be had, and what it could get at all the same."""

import os
import pwd
from collections.abc import Iterator
from pathlib import Path

import pytest

from mtbot.bootstrap.account import account_for_commands, exposed, find_account, home_of, may, unreachable
from mtbot.bootstrap.offline import load_all
from mtbot.bootstrap.profiles import child_environment
from mtbot.config.settings import Settings
from mtbot.domain.errors import ConfigError
from mtbot.domain.process import Account
from tests.integration.storage.ordinary import open_directory

NOBODY = pwd.getpwnam("nobody")
STRANGER = Account("stranger", 54_321, 54_322, (54_322, 54_323), "/nonexistent", "/bin/sh")


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that everybody can reach."""
    with open_directory() as directory:
        yield directory


def settings(place: Path, user: str) -> Settings:
    """A configuration in ``place``."""
    (place / "ws").mkdir(exist_ok=True)
    file = place / "config.yaml"
    file.write_text(
        "version: 1\nagent: {model: m, workspace: ws}\nopenai: {api_key_env: ''}\n"
        f"channels: {{telegram: {{enabled: false}}}}\ntools: {{exec: {{user: '{user}'}}}}\nstorage: {{dsn: state/m.db}}\n"
    )
    file.chmod(0o600)
    return load_all(str(file), environ={"HOME": str(place)}).settings


def test_without_a_name_there_is_no_account(place: Path) -> None:
    """Commands run as the gateway's own user, whoever that is."""
    found = settings(place, "")
    assert (find_account(found), account_for_commands(found)) == (None, None)


def test_the_account_is_as_this_host_knows_it(place: Path) -> None:
    """With its group among its groups."""
    account = find_account(settings(place, "nobody"))
    assert account is not None
    assert (account.uid, account.gid, account.home) == (NOBODY.pw_uid, NOBODY.pw_gid, NOBODY.pw_dir)
    assert account.gid in account.groups
    assert home_of(settings(place, "nobody")) == NOBODY.pw_dir


@pytest.mark.parametrize(
    ("user", "why"), [("no-such-user", "there is no user no-such-user"), ("root", "root is root, and then nothing")]
)
def test_a_user_that_cannot_serve_is_a_fault(place: Path, user: str, why: str) -> None:
    """One line that names the key."""
    with pytest.raises(ConfigError) as caught:
        find_account(settings(place, user))
    assert caught.value.problems[0].startswith(f"tools.exec.user: {why}")


@pytest.mark.parametrize("name", ["a b", "a/b", "-x", "1x", "x\\n"])
def test_what_is_no_name_is_refused_by_the_configuration(place: Path, name: str) -> None:
    """Before anybody looks for it."""
    with pytest.raises(ConfigError, match=r"tools\.exec\.user: .* is no name of a user"):
        settings(place, name)


def test_only_a_gateway_that_is_root_can_do_it(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clearly, and before anything starts."""
    found = settings(place, "nobody")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ConfigError) as caught:
        account_for_commands(found)
    assert "only a gateway that is started as root can run commands as nobody" in caught.value.problems[0]
    assert caught.value.hint


def test_a_profile_names_no_other_user(place: Path) -> None:
    """One process becomes one user."""
    settings(place, "nobody")
    file = place / "config.yaml"
    file.write_text(file.read_text() + "profiles: {ops: {tools: {exec: {user: daemon}}}}\n")
    with pytest.raises(ConfigError, match="is the same for all profiles"):
        load_all(str(file), environ={"HOME": str(place)})


def test_rights_count_by_owner_groups_and_modes_all_the_way(place: Path) -> None:
    """The first class that fits decides, as the kernel does it."""
    inside = place / "inside"
    inside.mkdir(mode=0o777)
    inside.chmod(0o777)
    assert may(STRANGER, str(inside), write=True)
    inside.chmod(0o755)
    assert not may(STRANGER, str(inside), write=True)
    assert may(STRANGER, str(inside), write=False)
    place.chmod(0o700)
    assert not may(STRANGER, str(inside), write=False)
    assert not may(STRANGER, str(place / "missing"), write=False)
    if os.geteuid() == 0:
        place.chmod(0o755)
        for uid, gid, mode, wanted in (
            (STRANGER.uid, 0, 0o077, False),
            (STRANGER.uid, 0, 0o700, True),
            (0, 54_323, 0o707, False),
            (0, 54_323, 0o770, True),
            (0, 0, 0o770, False),
        ):
            os.chown(inside, uid, gid)
            inside.chmod(mode)
            assert may(STRANGER, str(inside), write=True) is wanted


def test_a_workspace_that_it_cannot_write_in_is_named_with_the_remedy(place: Path) -> None:
    """And a directory that it cannot enter."""
    found = settings(place, "nobody")
    (place / "ws").chmod(0o700)
    first, second = unreachable(found, STRANGER)
    assert first.startswith(f"agent.workspace: stranger cannot write in {place / 'ws'}; chown stranger: ")
    assert second == f"tools.exec.cwd: stranger cannot enter {place / 'ws'}"
    (place / "ws").chmod(0o777)
    assert list(unreachable(found, STRANGER)) == []


def test_what_it_could_reach_all_the_same_is_named(place: Path) -> None:
    """A file that others may read, or one in a directory where they can put another in its place."""
    found = settings(place, "nobody")
    (place / "state").mkdir(mode=0o700)
    for name in ("m.db", "m.db.key"):
        (place / "state" / name).write_text("x")
    assert exposed(found, STRANGER) == ()
    (place / "state").chmod(0o755)
    (place / "state" / "m.db.key").chmod(0o644)
    (place / "state" / "m.db").chmod(0o600)
    assert exposed(found, STRANGER) == (str(place / "state" / "m.db.key"),)
    (place / "state").chmod(0o777)
    assert len(exposed(found, STRANGER)) == 2


def test_its_commands_are_told_of_it_and_not_of_the_gateways_user(place: Path) -> None:
    """HOME, USER, LOGNAME, SHELL; no runtime directory or bus of somebody else."""
    environ = {
        "HOME": "/root",
        "USER": "root",
        "LOGNAME": "root",
        "SHELL": "/bin/bash",
        "LANG": "C",
        "TMPDIR": "/root/tmp",
        "XDG_RUNTIME_DIR": "/run/user/0",
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/0/bus",
    }
    given = child_environment(settings(place, "").base, environ, frozenset(), STRANGER)
    assert {name: given.get(name) for name in environ} == {
        "HOME": "/nonexistent",
        "USER": "stranger",
        "LOGNAME": "stranger",
        "SHELL": "/bin/sh",
        "LANG": "C",
        "TMPDIR": None,
        "XDG_RUNTIME_DIR": None,
        "DBUS_SESSION_BUS_ADDRESS": None,
    }
