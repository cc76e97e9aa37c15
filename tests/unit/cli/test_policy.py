"""``mtclaw policy`` as it is typed."""

import io
import json
from pathlib import Path

import pytest

from mtbot.cli.main import run

CONFIG = """\
version: 1
agent: {model: m, workspace: ws}
openai: {api_key_env: ""}
channels: {telegram: {enabled: false}}
tools:
  exec:
    allow:
      - {argv: [ls, "*"], permits: ["ls a"], refuses: ["ls -l"]}   # looking is fine
storage: {dsn: db/m.db}
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    """A configuration with one allow rule."""
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG)
    file.chmod(0o600)
    (tmp_path / "ws").mkdir()
    return str(file)


def feed(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    """Standard input."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))


def test_check_judges_line_by_line_without_a_configuration(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One verdict a line, exit 0."""
    feed(monkeypatch, b'{"command": "rm -rf /"}\n\n{"command": "ls"}\n')
    assert run(["policy", "check"]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["verdict"], first["stage"], first["rule"], first["runs"]) == (
        "refuse",
        "deny",
        "files.wipe-root",
        None,
    )
    assert (second["verdict"], second["commands"]) == ("ask", [["ls"]])


def test_check_uses_the_named_configuration(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], config: str
) -> None:
    """Its rules run, in canonical form."""
    feed(monkeypatch, b'{"command": "ls   a"}\n')
    assert run(["--config", config, "policy", "check"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    assert (verdict["verdict"], verdict["rule"], verdict["runs"]) == ("run", "allow[0]", "ls a")


@pytest.mark.parametrize(
    ("containment", "command", "said"),
    [
        (
            "{}",
            "git status",
            "contained if this host can do that (mtclaw doctor tries it), and if not: it runs NOT CONTAINED",
        ),
        (
            "{require: true}",
            "git status",
            "and if not: refuse, because it should run contained, which cannot be done here",
        ),
        ("{}", "docker ps", "every command in it is allowed by a rule"),
        ("{}", "rm x", 'no rule allows "rm"'),
    ],
)
def test_check_says_what_depends_on_containment(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    config: str,
    containment: str,
    command: str,
    said: str,
) -> None:
    """Nobody tried here whether this host can contain anything, so a verdict that counts on it says so."""
    text = (
        Path(config)
        .read_text()
        .replace("    allow:\n", f"    allow_packs: [readonly]\n    containment: {containment}\n    allow:\n")
    )
    Path(config).write_text(text)
    feed(monkeypatch, json.dumps({"command": command}).encode() + b"\n")
    assert run(["--config", config, "policy", "check"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["reason"].endswith(said) or said in verdict["reason"]
    assert ("contained if" in verdict["reason"]) == (command == "git status")


def test_check_knows_a_workspace_in_which_nothing_can_be_contained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], config: str
) -> None:
    """Where the configuration itself stands against it, there is no if."""
    text = (
        Path(config)
        .read_text()
        .replace("    allow:\n", "    allow_packs: [readonly]\n    containment: {require: true}\n    allow:\n")
    )
    Path(config).write_text(text.replace("workspace: ws", "workspace: ."))
    feed(monkeypatch, b'{"command": "ls"}\n')
    assert run(["--config", config, "policy", "check"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    assert (verdict["verdict"], verdict["rule"]) == ("refuse", "containment.required")


@pytest.mark.parametrize("line", [b"nonsense\n", b"{}\n", b'{"command": 5}\n', b"[]\n"])
def test_check_names_the_line_that_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: bytes
) -> None:
    """One line on standard error, exit 1."""
    feed(monkeypatch, b'{"command": "ls"}\n' + line)
    assert run(["policy", "check"]) == 1
    assert capsys.readouterr().err.startswith("mtclaw: line 2: ")


@pytest.mark.parametrize("command", [b"\xff\xfe", b"\x00", b"\xed\xa0\x80", b" ", b"# x"])
def test_check_has_a_verdict_for_any_bytes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: bytes
) -> None:
    """Never an exception."""
    feed(monkeypatch, json.dumps({"command": command.decode("utf-8", "surrogateescape")}).encode() + b"\n")
    assert run(["policy", "check"]) == 0
    assert json.loads(capsys.readouterr().out)["reason"]


def test_explain_tells_the_story(capsys: pytest.CaptureFixture[str]) -> None:
    """For a person."""
    assert run(["policy", "explain", "rm -rf x"]) == 0
    assert capsys.readouterr().out.startswith("verdict: refuse (stage deny)\nrule: files.rm-recursive\n")


def test_rules_lists_all_or_one(capsys: pytest.CaptureFixture[str]) -> None:
    """With examples."""
    assert run(["policy", "rules", "files.wipe-root"]) == 0
    out = capsys.readouterr().out
    assert "hardline" in out
    assert "refuses: 'rm -rf /'" in out
    assert run(["policy", "rules", "nope"]) == 1
    assert run(["policy", "rules"]) == 0
    assert "files.rm-recursive" in capsys.readouterr().out


def test_test_runs_the_examples(capsys: pytest.CaptureFixture[str], config: str) -> None:
    """Both ways."""
    assert run(["--config", config, "policy", "test"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "2 examples, 0 wrong"


def test_lint_remarks_and_exits_with_one(capsys: pytest.CaptureFixture[str], config: str) -> None:
    """And with zero where there is nothing to say."""
    assert run(["--config", config, "policy", "lint"]) == 0
    Path(config).write_text(CONFIG.replace('[ls, "*"], permits: ["ls a"], refuses: ["ls -l"]', '[sh, "*"]'))
    assert run(["--config", config, "policy", "lint"]) == 1
    assert "can run anything" in capsys.readouterr().out


def test_allow_adds_what_is_missing_and_keeps_comments(capsys: pytest.CaptureFixture[str], config: str) -> None:
    """What is covered already is not added again."""
    assert run(["--config", config, "policy", "allow", "ls a && df -h", "--why", "disk"]) == 0
    text = Path(config).read_text()
    assert "# looking is fine" in text
    assert "- {argv: [df, -h], why: disk}" in text
    assert text.count("argv") == 2
    assert run(["--config", config, "policy", "allow", "df -h"]) == 0
    assert capsys.readouterr().out.endswith("every command in it is allowed already\n")
    assert run(["--config", config, "policy", "allow", "ls *"]) == 1


def test_soften_turns_a_refusal_into_a_question(capsys: pytest.CaptureFixture[str], config: str) -> None:
    """Once; never a hardline rule."""
    assert run(["--config", config, "policy", "soften", "files.rm-recursive"]) == 0
    assert run(["--config", config, "policy", "soften", "files.rm-recursive"]) == 1
    assert run(["--config", config, "policy", "soften", "files.wipe-root"]) == 1
    assert run(["--config", config, "policy", "soften", "nope"]) == 1
    assert run(["--config", config, "policy", "explain", "rm -rf x"]) == 0
    assert "verdict: ask (stage deny)" in capsys.readouterr().out


def test_replay_and_suggest_have_nothing_to_say_without_a_record(
    capsys: pytest.CaptureFixture[str], config: str
) -> None:
    """And make no database."""
    assert run(["--config", config, "policy", "replay", "--since", "2026-01-31"]) == 0
    assert run(["--config", config, "policy", "suggest"]) == 0
    assert run(["--config", config, "policy", "replay", "--since", "yesterday"]) == 2
    out = capsys.readouterr().out
    assert "0 commands, 0 would be decided differently" in out
    assert "nothing was approved often enough" in out
    assert not (Path(config).parent / "db").exists()


def test_sudoers_prints_what_the_list_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each command; one that would permit more is left out, and the exit status says so."""
    file = tmp_path / "config.yaml"
    listed = "people: {chief: 1}\nowner: chief\nelevation: {chat: [[sudo, sh, /x], [sudo, sh, '*']]}\n"
    file.write_text(CONFIG + listed)
    file.chmod(0o600)
    assert run(["--config", str(file), "policy", "sudoers", "--user", "bot"]) == 1
    good, bad = capsys.readouterr().out.splitlines()[-2:]
    assert good.startswith("bot ALL=(root) NOPASSWD: /")
    assert good.endswith("/sh /x")
    assert bad.startswith("# left out: sudo sh *: a wildcard of sudoers")


@pytest.mark.parametrize("user", ["root", "a b", "%wheel"])
def test_sudoers_wants_an_account_that_sudoers_can_name(
    config: str, user: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Root needs no line, and a group would be more than asked for."""
    assert run(["--config", config, "policy", "sudoers", "--user", user]) == 2
    assert "--user" in capsys.readouterr().err


def test_sudoers_says_when_there_is_nothing(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As a comment that sudoers takes."""
    assert run(["--config", config, "policy", "sudoers", "--user", "bot"]) == 0
    assert capsys.readouterr().out.startswith("# elevation.chat is empty")
