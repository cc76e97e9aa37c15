"""The command line as a whole: verbs, exit statuses, one line for every error, and a start that loads little."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from mtbot.cli import main, version
from mtbot.cli.main import VERBS, run
from mtbot.domain.errors import ConfigError, StorageError

HEAVY = (
    "aiogram",
    "aiohttp",
    "alembic",
    "apscheduler",
    "asyncio",
    "httpx",
    "pydantic",
    "rich",
    "sqlalchemy",
    "sqlmodel",
)


@pytest.fixture
def fails_with(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[BaseException]]:
    """A list whose first entry ``mtclaw version`` raises."""
    errors: list[BaseException] = []

    @click.command()
    def failing() -> None:
        raise errors[0]

    monkeypatch.setattr(version, "version", failing)
    yield errors
    assert errors


def loaded_after(*arguments: str) -> set[str]:
    """The top-level modules that a fresh process has loaded when it has run a command line."""
    code = (
        "import sys; from mtbot.cli.main import run; assert run(sys.argv[1:]) == 0; "
        "print('modules:', *{name.partition('.')[0] for name in sys.modules})"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True, timeout=60
    )
    return set(ran.stdout.splitlines()[-1].removeprefix("modules: ").split())


def test_help_lists_every_verb_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    """``mtclaw --help`` tells all verbs in the order of the table, and where to begin."""
    status = run(["--help"])
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    verbs = lines[lines.index("Commands:") + 1 :]
    told = [(line.split()[0], " ".join(line.split()[1:])) for line in verbs[: verbs.index("")]]
    assert (status, told) == (0, [(verb.name, verb.help) for verb in VERBS])
    assert lines[-1] == "Start with `mtclaw demo`, then `mtclaw onboard`."


@pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("version",)])
def test_help_and_version_load_nothing_heavy(arguments: tuple[str, ...]) -> None:
    """A look at the verbs waits for no library that only some of them need."""
    assert loaded_after(*arguments) & set(HEAVY) == set()


@pytest.mark.parametrize("verb", VERBS, ids=[verb.name for verb in VERBS])
def test_every_verb_has_a_help_of_its_own(verb: main.Verb, capsys: pytest.CaptureFixture[str]) -> None:
    """Each row of the table leads to a command that can be shown without a configuration or a spawner."""
    status = run([verb.name, "--help"])
    shown = capsys.readouterr()
    assert (status, shown.out.split("\n")[0].split(" [")[0], shown.err) == (0, f"Usage: mtclaw {verb.name}", "")


def test_no_verb_at_all_shows_the_help_and_is_misuse(capsys: pytest.CaptureFixture[str]) -> None:
    """``mtclaw`` alone tells what there is, on standard error, with status 2."""
    status = run([])
    shown = capsys.readouterr()
    assert (status, shown.out, "Commands:" in shown.err) == (2, "", True)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(["fly"], "Error: No such command 'fly'."), (["--fast", "version"], "Error: No such option '--fast'.")],
)
def test_misuse_is_status_2(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A verb or an option that does not exist is named on standard error."""
    status = run(arguments)
    shown = capsys.readouterr()
    assert (status, shown.out, shown.err.splitlines()[-1]) == (2, "", told)


@pytest.mark.parametrize(
    "arguments",
    [["{}"], ["--{}"], ["--config={}", "--{}"], ["approvals", "list", "--limit", "{}"], ["db", "backup", "a", "{}"]],
)
def test_misuse_repeats_no_secret(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever was typed, a terminal or a service keeps what is said about it."""
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    status = run([argument.format(token) for argument in arguments])
    shown = capsys.readouterr()
    assert (status, shown.out) == (2, "")
    assert "Error: " in shown.err
    assert token[4:] not in shown.err
    assert "‹secret:" in shown.err


def test_a_configuration_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A missing file is named, with what to do below it; status 1."""
    status = run(["--config", "/nowhere/mtclaw.yaml", "config", "validate"])
    shown = capsys.readouterr()
    fault, hint = shown.err.splitlines()
    assert (status, shown.out, fault.startswith("mtclaw: /nowhere/mtclaw.yaml"), hint[:8]) == (1, "", True, " " * 8)


def test_every_fault_of_a_configuration_is_a_line(
    fails_with: list[BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    """All faults are told at once, and below them what to do."""
    fails_with.append(ConfigError(("a.yaml:1:2: x", "a.yaml:3:4: y"), hint="mend it"))
    status = run(["version"])
    assert (status, capsys.readouterr().err) == (1, "mtclaw: a.yaml:1:2: x\nmtclaw: a.yaml:3:4: y\n        mend it\n")


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [
        (StorageError("the disk is full", hint="make room"), 1, "mtclaw: the disk is full (make room)\n"),
        (FileNotFoundError(2, "No such file or directory", "/a"), 1, "mtclaw: No such file or directory: /a\n"),
        (PermissionError(13, "Permission denied"), 1, "mtclaw: Permission denied\n"),
        (click.ClickException("no such job"), 1, "mtclaw: no such job\n"),
        (KeyboardInterrupt(), 130, "\ninterrupted\n"),
        (click.Abort(), 130, "interrupted\n"),
        (
            RuntimeError("boom\x1b[2J"),
            1,
            "mtclaw: this is a fault of mtclaw itself: RuntimeError: boom\ufffd[2J (MTCLAW_TRACEBACK=1 shows where)\n",
        ),
    ],
    ids=["state", "file", "no-file", "refusal", "ctrl-c", "abort", "own-fault"],
)
def test_every_error_is_one_line_and_a_status(
    error: BaseException, status: int, told: str, fails_with: list[BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    """No error is a traceback, Ctrl-C is 130, and nothing in an error reaches the terminal as a control character."""
    fails_with.append(error)
    assert (run(["version"]), *capsys.readouterr()) == (status, "", told)


def test_a_fault_of_its_own_can_be_looked_into(
    fails_with: list[BaseException], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With MTCLAW_TRACEBACK the place of the fault comes first, the line for people last."""
    monkeypatch.setenv("MTCLAW_TRACEBACK", "1")
    fails_with.append(RuntimeError("boom"))
    status = run(["version"])
    lines = capsys.readouterr().err.splitlines()
    assert (status, lines[0], "this is a fault" in lines[-1]) == (1, "Traceback (most recent call last):", True)


def test_the_status_of_a_verb_is_that_of_the_process(tmp_path: Path) -> None:
    """``python -m mtbot.cli.main`` ends with the status of the command line."""
    command = [sys.executable, "-m", "mtbot.cli.main", "fly"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=60).returncode == 2


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    """``mtclaw ... | head -0`` ends with status 1 and says nothing."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ran = subprocess.run(
            [sys.executable, "-c", "from mtbot.cli.main import main; main(['policy', 'rules'])"],
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    finally:
        os.close(writer)
    assert (ran.returncode, ran.stderr) == (1, b"")
