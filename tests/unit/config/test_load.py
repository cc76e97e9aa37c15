"""Finding the file and judging it as a whole: every fault at once, each with its line, nothing half-used."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from mtbot.config.load import MAX_FILE_BYTES, Located, Source, load, locate
from mtbot.domain.errors import ConfigError
from tests.unit.config.sample import HOME, RULES, SMALL, fault, faults, read, write


def home_with(directory: Path, *names: str) -> Path:
    """A home in which those configuration files exist."""
    (directory / ".mtclaw").mkdir()
    for name in names:
        (directory / ".mtclaw" / name).write_text(SMALL)
    return directory


def test_the_flag_comes_before_the_variable_before_the_default(tmp_path: Path) -> None:
    """An empty variable is none; the named file need not exist."""
    home = home_with(tmp_path, "config.yaml")
    environ = {"MTCLAW_CONFIG": "/etc/b.yml"}
    assert locate("/etc/a.yml", environ, home) == Located(Path("/etc/a.yml"), Source.FLAG)
    assert locate(None, environ, home) == Located(Path("/etc/b.yml"), Source.ENV)
    assert locate(None, {"MTCLAW_CONFIG": ""}, home) == Located(home / ".mtclaw/config.yaml", Source.DEFAULT)


def test_named_files_are_made_absolute_and_never_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the directory that one stands in; ``~/`` is the home, as no shell expands it after an equals sign."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.yml").write_text(SMALL)
    assert locate("x.yaml", {}, HOME).path == tmp_path / "x.yaml"
    assert locate("a/../x.yaml", {}, HOME).path == tmp_path / "x.yaml"
    assert locate("~/x.yaml", {}, HOME).path == HOME / "x.yaml"
    with pytest.raises(ConfigError, match="must name a file"):
        locate("", {}, HOME)


@pytest.mark.parametrize(
    ("names", "expected", "warnings"),
    [
        ((), "config.yaml", 0),
        (("config.yml",), "config.yml", 0),
        (("config.yaml",), "config.yaml", 0),
        (("config.yaml", "config.yml"), "config.yaml", 1),
    ],
)
def test_the_default_file(tmp_path: Path, names: tuple[str, ...], expected: str, warnings: int) -> None:
    """The short ending counts only there, and only where the long one does not exist."""
    found = locate(None, {}, home_with(tmp_path, *names))
    assert (found.path.name, found.source, len(found.warnings)) == (expected, Source.DEFAULT, warnings)


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    """And names the path."""
    with pytest.raises(ConfigError, match=r"config\.yaml: does not exist \(run `mtclaw onboard` to make one\)"):
        load(tmp_path / "config.yaml", {}, HOME, RULES)


def test_what_is_no_readable_file_ends_at_once(tmp_path: Path) -> None:
    """A directory, a device without an end, a file that is too large or is no text."""
    large = tmp_path / "large"
    large.write_text("#" * (MAX_FILE_BYTES + 1))
    binary = tmp_path / "binary"
    binary.write_bytes(b"a: \xff\n")
    expected = {
        tmp_path: "is not a regular file",
        Path("/dev/zero"): "is not a regular file",
        large: f"is larger than {MAX_FILE_BYTES} bytes",
        binary: "is not UTF-8 text (byte 3)",
    }
    for path, message in expected.items():
        with pytest.raises(ConfigError) as caught:
            load(path, {}, HOME, RULES)
        assert caught.value.problems == (f"{path}: {message}",)


def test_all_faults_come_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    """Unknown keys, keys given twice, wrong types in unrelated sections: one run of validate mends them all."""
    text = """\
version: 2
peeple: {chief: 1001}
agent:
  model: m
  max_iterations: true
  model: n
channels: {telegram: {alow_from: [1], allow_from: [1]}}
tools: {exec: {mode: on}, web_fetch: 5}
cron:
---
second: document
"""
    assert faults(tmp_path, text) == [
        "1:10: version: must be 1",
        '2:1: peeple: unknown key (did you mean "people"?)',
        "5:19: agent.max_iterations: must be a whole number",
        "6:3: agent.model: is given twice, first at line 4",
        '7:23: channels.telegram.alow_from: unknown key (did you mean "allow_from"?)',
        "8:22: tools.exec.mode: must be one of approval, auto, off",
        "8:38: tools.web_fetch: must be a mapping",
        "9:6: cron: has no value; give one or delete the key",
        "11:1: a second YAML document; one file holds one configuration",
    ]


def test_an_unknown_key_far_from_any_known_one_lists_what_is_known(tmp_path: Path) -> None:
    """So that nobody has to look it up."""
    assert fault(tmp_path, "log.zzz", "log: {zzz: 1}") == "unknown key; known here: level, format, file"
    assert "known here: version, people, owner" in fault(tmp_path, "zzz", "zzz: 1")


def test_a_key_without_a_value_is_a_fault_wherever_it_stands(tmp_path: Path) -> None:
    """Whether the default or nothing was meant, nobody can tell; and no second fault follows from it."""
    message = "has no value; give one or delete the key"
    for key, text in {
        "log.level": "log: {level: }",
        "tools.exec.deny": "tools: {exec: {deny: }}",
        "tools.exec.deny[1]": "tools: {exec: {deny: [x, ~]}}",
        "profiles": "profiles:",
        "profiles.ops": "profiles: {ops: }",
        "openai.api_key_env": "openai: {api_key_env: }",
        "owner": "owner:",
        "version": "version: ~",
    }.items():
        assert fault(tmp_path, key, text) == message


def test_a_broken_file_is_not_used_in_part(tmp_path: Path) -> None:
    """There is no Settings with one section at its default because that section had a fault."""
    path = write(tmp_path, SMALL + "log: {level: loud}")
    with pytest.raises(ConfigError):
        load(path, {}, HOME, RULES)


@pytest.mark.parametrize(
    ("people", "key", "message"),
    [
        ("{chief: -5}", "people.chief", "the id of a group"),
        ("{chief: '@chief'}", "people.chief", "usernames can be released"),
        ("{chief: 1087968824}", "people.chief", "every anonymous admin"),
        ("{chief: 1, boss: '1'}", "people.boss", "is the same id as chief"),
        ("{chief: boss, boss: 1}", "people.chief", 'no one under people is called "boss"'),
        ("{any: 1}", "people.any", "is a word of approvers"),
        ("{1a: 1}", "people.1a", "a name has letters"),
        ("{chief: [1]}", "people.chief", "must be a numeric Telegram user id"),
        ("[1]", "people", "must be a mapping"),
        ("", "people", "has no value"),
    ],
)
def test_who_cannot_be_named(tmp_path: Path, people: str, key: str, message: str) -> None:
    """A name with a bad id is one fault; the lists that use it have none."""
    text = f"people: {people}\nagent: {{model: m}}\nchannels: {{telegram: {{allow_from: [{'chief' if 'chief' in people else 1}]}}}}\n"
    [found] = faults(tmp_path, text)
    assert f" {key}: " in found
    assert message in found


def test_settings_are_frozen(tmp_path: Path) -> None:
    """What was judged is what holds."""
    settings = read(tmp_path, SMALL)
    with pytest.raises(AttributeError):
        settings.version = 2  # type: ignore[misc] # the point of the test
    with pytest.raises(ValidationError):
        settings.base.agent.name = "x"


def test_a_designed_file_loads_as_designed(tmp_path: Path) -> None:
    """The example of the design: people, a provider, a profile and a bot under it."""
    text = """\
version: 1
people: {chief: 1001, deploy: 1002, review: 1003}
owner: chief
agent: {model: main/m, workspace: ~/mtclaw-workspace}
providers: {main: {api_key_file: secrets/model}}
profiles:
  ops:
    agent: {workspace: /srv/ops, system_prompt_files: [ops.md]}
    tools:
      exec:
        allow_packs: [readonly]
        allow:
          - {argv: [restic, backup, /srv], network: true, write: [/var/cache/restic], why: nightly backup}
channels:
  telegram:
    bots:
      ops: {token_file: secrets/ops, profile: ops, allow_from: [chief, deploy, review], approvers: not_requester,
            groups: {-1001112223334: {require_mention: false}}}
"""
    settings = read(tmp_path, text)
    ops = settings.profile_for("ops")
    assert (settings.people, settings.owner) == ({"chief": 1001, "deploy": 1002, "review": 1003}, 1001)
    assert (ops.agent.workspace, ops.tools.exec.cwd) == (Path("/srv/ops"), Path("/srv/ops"))
    assert ops.agent.system_prompt_files == (tmp_path / "ops.md",)
    assert [ref.file for ref in settings.secret_refs()] == [tmp_path / "secrets/ops", tmp_path / "secrets/model"]
    assert (settings.file, settings.warnings) == (tmp_path / "config.yaml", ())
    with pytest.raises(KeyError):
        settings.profile_for("nobody")


def test_reading_changes_nothing_on_disk(tmp_path: Path) -> None:
    """Neither the database's directory nor the log file comes to be by looking."""
    read(tmp_path, SMALL + "storage: {dsn: state/x.db}\nlog: {file: logs/x.log}")
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]
