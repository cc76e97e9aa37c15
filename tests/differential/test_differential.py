"""The decision against real bash: what it lets run is exactly what bash runs."""

from __future__ import annotations

import json
import random
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from mtbot.policy.lexer import LexedCommand, Literal
from tests.differential import generator, sandbox
from tests.differential.check import check, decide
from tests.differential.sandbox import Ran, observe, parse_trace

pytestmark = pytest.mark.usefixtures("namespaces")

SEED = 20_250_101
DRAWN, SPOILED = 1_500, 500


@pytest.fixture(scope="module")
def namespaces() -> None:
    """Without namespaces nothing here can be run safely; the machine's lack is named."""
    if sandbox.way() is None:
        pytest.skip("needs: namespaces (unshare) for the sandbox")


@dataclass(frozen=True, slots=True)
class Probe:
    """A text that hides a command from some reader; `runs` says that real bash was seen to run the marker X."""

    kind: str
    why: str
    text: str
    runs: bool


PROBES = [
    Probe(**json.loads(line)) for line in Path(__file__).with_name("probes.jsonl").read_text("utf-8").splitlines()
]


def test_there_are_enough_probes_of_every_kind() -> None:
    """The hand-written probes stay many and varied, and no text stands there twice."""
    assert len(PROBES) >= 400
    assert len({probe.text for probe in PROBES}) == len(PROBES)
    assert {probe.kind for probe in PROBES} >= {
        "list",
        "background",
        "substitution",
        "heredoc",
        "redirect",
        "quoting",
        "builtin",
    }


def test_sandbox_sees_what_the_probes_hide() -> None:
    """The harness has eyes: of the markers that bash was once seen to run, it sees nearly every one (a few race their end)."""
    marked = [probe for probe in PROBES if probe.runs]
    seen = observe([probe.text for probe in marked])
    shown = [any(one.program.rsplit("/", 1)[-1] in ("X", "run") for one in observation.ran) for observation in seen]
    assert len(marked) >= 400
    assert sum(shown) >= 0.95 * len(marked)


def test_no_probe_runs_anything_that_was_not_decided() -> None:
    """With a rule for every program, the probes that are let run do what the decision lists, and the others are not let run."""
    report = check([probe.text for probe in PROBES])
    assert report.differences == ()
    assert report.ran >= 60


def test_generated_strings_run_as_decided() -> None:
    """Strings of the subset's own grammar, and spoiled ones: zero escapes, zero differences, and most really run."""
    chance = random.Random(SEED)
    drawn = check([generator.subset(chance) for _ in range(DRAWN)])
    spoiled = check([generator.spoiled(chance) for _ in range(SPOILED)])
    assert (drawn.differences, spoiled.differences) == ((), ())
    assert drawn.ran >= 0.95 * drawn.texts
    assert spoiled.ran > 0


def careless(text: str) -> Literal | None:
    """A reader as many guards have it: split at blanks, take the first word for the program, know no separators but these."""
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    return Literal((LexedCommand(tuple(words)),)) if words else None


def test_harness_finds_a_careless_reader() -> None:
    """Put a reader that knows no shell in the place of ours, and the differences are found; the check can fail."""
    hidden = [
        probe.text for probe in PROBES if probe.kind in ("list", "background", "substitution", "backtick", "assignment")
    ]
    report = check(hidden, careless)
    assert len(report.differences) >= 0.7 * report.ran
    assert report.ran >= 80


def test_harness_finds_a_canonical_form_that_loses_something() -> None:
    """A canonical text that says other words than the original is a difference."""
    honest = decide("ls a; X b")
    assert honest is not None

    @dataclass(frozen=True, slots=True)
    class Lossy(Literal):
        def canonical(self) -> str:
            return "ls a; X c"

    report = check(["ls a; X b"], lambda _: Lossy(honest.commands))
    assert len(report.differences) == 1
    assert "the canonical text" in report.differences[0].what


def test_observation_names_programs_arguments_directories_and_files() -> None:
    """What a text did is read back exactly: argv, directory, order, status, files."""
    (seen,) = observe(["cd d && mk 'new file' && X 'a b' '' \"it's\" | fail 2>/dev/null"])
    assert seen.ran == (
        Ran("/stub/mk", ("new file",), "d"),
        Ran("/stub/X", ("a b", "", "it's"), "d"),
        Ran("/stub/fail", (), "d"),
    )
    assert seen.traced[:2] == (("cd", "d"), ("mk", "new file"))
    assert seen.status == 3
    assert "d/new file" in seen.files


def test_sandbox_keeps_the_host_out_of_reach() -> None:
    """Inside there is nothing of the host: no programs but bash and stubs, no home, nothing to write but the fresh directory."""
    seen = observe(["[ -e /etc ] && X", "[ -e /proc ] && X", "echo x >/stub/ls; ls", "/bin/ls"])
    assert [observation.ran for observation in seen] == [(), (), (Ran("/stub/ls", (), ""),), ()]


@pytest.mark.parametrize(
    ("trace", "commands"),
    [
        ("+ ls -l\n", [("ls", "-l")]),
        ("+ ls 'a b' ''\n++ X\n", [("ls", "a b", ""), ("X",)]),
        ("+ echo 'a\nb'\n+ ls\n", [("echo", "a\nb"), ("ls",)]),
        ("+ echo 'it'\\''s'\n", [("echo", "it's")]),
        ("+ echo $'a\\tb\\'\\001'\n", [("echo", "a\tb'\x01")]),
        ("+ echo 'open\n", [("<a trace that could not be read>",)]),
        ("", []),
    ],
)
def test_reads_the_trace_of_bash(trace: str, commands: list[tuple[str, ...]]) -> None:
    """All three quotings are undone, and what cannot be read is never taken for nothing."""
    assert parse_trace(trace) == commands
