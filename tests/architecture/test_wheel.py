"""The wheel holds what mtclaw needs when there is no checkout beside it."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT

BLANK_DATABASE = """
import asyncio, sys
import mtbot
from mtbot.storage.engine import Database
from mtbot.storage.place import sqlite_place

async def main():
    database = await Database.open_for_writing(sqlite_place(sys.argv[1]))
    await database.close()

asyncio.run(main())
print(mtbot.__file__)
"""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, made by the locked backend."""
    target = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(target)],
        cwd=ROOT,
        capture_output=True,
        check=True,
        timeout=120,
    )
    (made,) = target.glob("*.whl")
    return made


def test_the_wheel_holds_the_package_its_migrations_and_nothing_else(wheel: Path) -> None:
    """Every source file is in it, migrations lie inside the package, and no test or cache came along."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    code = {path.relative_to(ROOT).as_posix() for path in (ROOT / "mtbot").rglob("*.py")}
    revisions = {
        f"mtbot/_{path.relative_to(ROOT).as_posix()}"
        for path in (ROOT / "migrations").rglob("*")
        if path.suffix in {".py", ".mako"}
    }
    assert {name for name in names if name.endswith((".py", ".mako"))} == code | revisions
    assert {name.partition("/")[0] for name in names} == {"mtbot"}


def test_the_wheel_installs_the_command(wheel: Path) -> None:
    """The command is mtclaw, and the licence is with it."""
    with zipfile.ZipFile(wheel) as archive:
        about = {name.partition(".dist-info/")[2]: name for name in archive.namelist() if ".dist-info/" in name}
        entry = archive.read(about["entry_points.txt"]).decode()
    assert entry == "[console_scripts]\nmtclaw = mtbot.cli.main:main\n"
    assert "licenses/LICENSE" in about


def test_a_database_can_be_made_from_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    """The migrations are found where there is no source tree."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    database = tmp_path / "state" / "blank.db"
    ran = subprocess.run(
        [sys.executable, "-c", BLANK_DATABASE, str(database)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ran.stderr, ran.stdout.strip()) == ("", str(tmp_path / "site" / "mtbot" / "__init__.py"))
    assert database.stat().st_size > 0
