"""A whole output is masked before it reaches the disk, private, limited, and never worth a failure."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mtbot.domain.ids import CallId
from mtbot.processes import whole_output
from mtbot.processes.whole_output import DAY_MS, Limits, OutputFiles
from mtbot.redaction.mask import Redactor

SECRET = "swordfish9-swordfish9"
REDACTOR = Redactor({"model": SECRET}, b"key")
MANY = Limits(1 << 20, 1 << 24, 7)
CALL = CallId("ab12")


@dataclass
class House:
    """Outputs in a directory, at a time of its own."""

    directory: Path
    limits: Limits = MANY
    now: int = 100 * DAY_MS
    names: list[str] = field(default_factory=lambda: ["KAAA", "KBBB", "KCCC", "KDDD"])

    @property
    def files(self) -> OutputFiles:
        """The outputs."""
        return OutputFiles(self.directory, self.limits, REDACTOR.stream, lambda: self.names.pop(0), lambda: self.now)

    def keep(self, data: bytes, call: CallId = CALL, *, wanted: bool = True) -> tuple[str, str]:
        """Spool and keep it."""
        spool = self.files.spool()
        assert spool is not None
        os.write(spool.descriptor, data[: spool.limit])
        kept = self.files.keep(spool, call, wanted=wanted)
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(spool.descriptor)
        return kept

    def text(self, which: str = "KAAA") -> str:
        """What is kept of it."""
        found = self.files.find(which)
        assert found is not None
        return self.files.read(found).decode()


@pytest.fixture
def house(tmp_path: Path) -> House:
    """Nothing kept yet."""
    return House(tmp_path / "state" / "outputs")


@pytest.mark.parametrize("shift", range(0, 60, 7))
def test_a_secret_never_reaches_the_disk_wherever_a_piece_ends(house: House, shift: int) -> None:
    """Nor does a character or a colour that lies across the edge become another one."""
    line = f"é {SECRET} \x1b[31mred\x1b[0m\r\n".encode()
    filler = b"x" * (whole_output.PIECE - len(line) + shift - 1) + b"\n"
    assert house.keep(filler + line) == ("KAAA", "")
    text = house.text()
    assert SECRET not in text
    assert text == REDACTOR.mask(filler.decode() + f"é {SECRET} red\n")


def test_it_is_private_and_found_by_its_id_and_its_call(house: House) -> None:
    """Also in small letters and with the sign; nothing else is found."""
    house.keep(b"words\n")
    found = house.files.find("KAAA")
    assert found is not None
    assert (found.call, found.size, found.at_ms) == (CALL, 6, house.now)
    assert house.files.find("#kaaa") == house.files.find("ab12") == found
    assert [house.files.find(other) for other in ("KBBB", "../KAAA", "", "AB12")] == [None] * 4
    (file,) = house.directory.iterdir()
    assert (file.stat().st_mode & 0o777, house.directory.stat().st_mode & 0o777) == (0o600, 0o700)


def test_what_is_not_wanted_or_empty_is_not_kept(house: House) -> None:
    """The memory is given back all the same."""
    assert house.keep(b"short", wanted=False) == ("", "")
    assert house.keep(b"") == ("", "")
    assert not house.directory.exists()
    assert House(house.directory, Limits(0, 1, 1)).files.spool() is None


def test_no_more_than_the_limit_is_kept_and_that_is_said(house: House) -> None:
    """The last line says what is missing."""
    house.limits = Limits(100, 1000, 7)
    house.keep(b"0123456789" * 20)
    assert house.text().startswith("0123456789" * 10 + "\n[… what came after 100 bytes was not kept …]")


def test_the_oldest_makes_room(house: House) -> None:
    """And only as many as it takes."""
    house.limits = Limits(1000, 250, 7)
    for number in range(3):
        house.now += 1000
        house.keep(b"y" * 100, CallId(f"c{number}"))
    assert [house.files.find(name) is not None for name in ("KAAA", "KBBB", "KCCC")] == [False, True, True]


def test_what_is_old_goes_with_what_a_crash_left(house: House) -> None:
    """Nothing else in the directory is touched."""
    house.keep(b"old\n")
    (house.directory / "KZZZ-cc.part").write_text("half")
    (house.directory / "notes").write_text("mine")
    os.utime(house.directory / "KZZZ-cc.part", (1, 1))
    house.now += 7 * DAY_MS
    assert house.files.expire() == 0
    house.now += 1000
    assert house.files.expire() == 1
    assert [entry.name for entry in house.directory.iterdir()] == ["notes"]
    assert House(house.directory / "none").files.expire() == 0


def test_a_name_that_is_taken_is_not_taken_again(house: House) -> None:
    """Short names repeat by chance."""
    house.names = ["KAAA", "KAAA", "KBBB"]
    assert [house.keep(b"a")[0], house.keep(b"b")[0]] == ["KAAA", "KBBB"]


def _a_file(directory: Path, _patch: pytest.MonkeyPatch) -> str:
    directory.parent.mkdir(parents=True)
    directory.write_text("in the way")
    return "file exists"


def _full(_directory: Path, patch: pytest.MonkeyPatch) -> str:
    def full(*_args: object) -> None:
        raise OSError(28, "No space left on device")

    patch.setattr(Path, "rename", full)
    return "no space left on device"


@pytest.mark.parametrize("trouble", [_a_file, _full], ids=["no directory", "full"])
def test_a_disk_that_takes_nothing_costs_the_file_alone(
    house: House, monkeypatch: pytest.MonkeyPatch, trouble: Callable[[Path, pytest.MonkeyPatch], str]
) -> None:
    """The reason comes back in words, and nothing half written stays."""
    why = trouble(house.directory, monkeypatch)
    assert house.keep(b"words\n") == ("", why)
    assert not house.directory.is_dir() or list(house.directory.iterdir()) == []


def test_masking_ends_when_it_takes_too_long(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was masked by then is kept."""
    monkeypatch.setattr(whole_output, "MASK_SECONDS", -1.0)
    house.keep(b"words\n")
    assert house.text() == "\n[… the rest was not kept: masking it took too long …]\n"


def test_without_memory_nothing_is_spooled(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command runs all the same."""

    def none(*_args: object) -> int:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(os, "memfd_create", none)
    assert house.files.spool() is None
