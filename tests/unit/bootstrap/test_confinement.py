"""Which workspaces can be granted to what runs contained, on hosts of every kind."""

import pwd
from pathlib import Path

import pytest

from mtbot.bootstrap.confinement import guard_of, trouble_with
from mtbot.bootstrap.offline import Loaded, load_all
from mtbot.bootstrap.system import home_directory, user_name


def loaded_from(directory: Path, workspace: Path) -> Loaded:
    """An installation beside a workspace."""
    config = directory / "config.yaml"
    config.write_text(
        f"people: {{chief: 1001}}\nagent: {{model: m, workspace: {workspace}}}\n"
        "channels: {telegram: {enabled: false, allow_from: [chief]}}\nstorage: {dsn: state/mtclaw.db}\n"
    )
    return load_all(str(config), environ={})


def test_a_workspace_that_holds_the_home_contains_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By whatever name it is reached."""
    (tmp_path / "all" / "me").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "all" / "me")
    monkeypatch.setenv("HOME", str(tmp_path / "link"))
    loaded = loaded_from(tmp_path, tmp_path / "all")
    said = f"the workspace {tmp_path / 'all'} holds HOME"
    assert trouble_with(loaded.settings.base, guard_of(loaded)) == said


def test_a_number_without_a_name_and_a_home_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a container may start it: nobody in the password database, and HOME not set."""

    def nobody(uid: int) -> pwd.struct_passwd:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    for name in ("HOME", "USER", "LOGNAME", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(RuntimeError):
        Path.home()
    assert home_directory() == Path("/")
    assert user_name().startswith("uid ")
    (tmp_path / "ws").mkdir()
    loaded = loaded_from(tmp_path, tmp_path / "ws")
    assert trouble_with(loaded.settings.base, guard_of(loaded)) == ""
