"""What is in effect, in words: complete, without a secret, and not to be mistaken for a file that loads."""

from pathlib import Path

import pytest
import yaml

from mtbot.config.load import load
from mtbot.config.show import HEADER, show, valid
from mtbot.domain.errors import ConfigError
from tests.unit.config.sample import HOME, RULES, SMALL, read, write

FULL = """\
people: {chief: 1001, deploy: 1002}
owner: chief
agent: {model: main/m}
providers: {main: {api_key_env: MODEL_KEY, api_key_file: secrets/model}, local: {api_key_env: ""}}
profiles: {ops: {agent: {workspace: /srv/ops}}}
channels:
  telegram:
    bots:
      one: {token_file: secrets/one, allow_from: [chief], approvers: [deploy], groups: {"*": {}, -5: {allow_from: [deploy]}}}
      two: {token_env: TWO, allow_from: [deploy], approvers: not_requester, profile: ops}
tools: {exec: {timeout: 90s, allow: [{argv: [ls], cwd: /srv}], env: {pass: [X], set: {Y: z}}}}
cron: {jobs: [{name: j, schedule: "@daily", prompt: x, deliver_to: {chat_id: chief}}]}
log: {level: warning, file: x.log}
"""


def shown(directory: Path, text: str, environ: dict[str, str] | None = None) -> dict[str, object]:
    """The dump, read by a plain YAML reader."""
    found = yaml.safe_load(show(read(directory, text), environ))
    assert isinstance(found, dict)
    return found


def part(data: object, *keys: str | int) -> object:
    """What stands under those keys."""
    for key in keys:
        assert isinstance(data, dict | list)
        data = data[key]  # type: ignore[index] # the shape is what the test asserts
    return data


def test_effective_values_are_shown(tmp_path: Path) -> None:
    """Defaults filled in, paths absolute, names as numbers, durations as a person writes them."""
    data = shown(tmp_path, FULL, {"TZ": "Asia/Tokyo"})
    assert list(data) == [
        "version", "people", "owner", "agent", "tools", "providers", "profiles", "channels", "cron", "storage", "log",
        "audit", "elevation",
    ]  # fmt: skip
    assert (data["people"], data["owner"]) == ({"chief": 1001, "deploy": 1002}, "chief")
    assert part(data, "tools", "exec", "cwd") == "/home/chief/mtclaw-workspace"
    assert part(data, "tools", "exec", "timeout") == "90s"
    assert part(data, "tools", "exec", "approval_timeout") == "30m"
    assert part(data, "tools", "exec", "auto", "model") == "main/m"
    assert part(data, "tools", "exec", "env") == {"pass": ["X"], "set": {"Y": "z"}}
    assert part(data, "tools", "exec", "allow", 0, "cwd") == "/srv"
    assert part(data, "profiles", "ops", "tools", "filesystem", "roots") == [
        {"path": "/srv/ops", "access": "read-write"}
    ]
    assert part(data, "storage", "dsn") == "/home/chief/.mtclaw/mtclaw.db"
    assert part(data, "log") == {"level": "warn", "format": "text", "file": str(tmp_path / "x.log")}
    assert part(data, "cron", "jobs", 0, "deliver_to", "chat_id") == 1001
    assert part(data, "audit", "anchor") == "off"


def test_bots_are_shown_with_what_holds_in_each_group(tmp_path: Path) -> None:
    """The mention and the list that count, also where they were not written."""
    one, two = (part(shown(tmp_path, FULL), "channels", "telegram", "bots", name) for name in ("one", "two"))
    assert one == {
        "token": f"<set:file:{tmp_path}/secrets/one>",
        "profile": None,
        "allow_from": [1001],
        "approvers": [1002],
        "verbosity": "normal",
        "groups": {
            "*": {"require_mention": True, "allow_from": [1001], "approvers": [1002]},
            -5: {"require_mention": True, "allow_from": [1002], "approvers": [1002]},
        },
    }
    assert (part(two, "token"), part(two, "approvers"), part(two, "profile")) == (
        "<set:env:TWO>",
        "not_requester",
        "ops",
    )


def test_secrets_are_shown_as_places(tmp_path: Path) -> None:
    """Which of two places counts depends on the environment, if it is given."""
    for environ, expected in (
        (None, "<set:env:MODEL_KEY>"),
        ({"MODEL_KEY": "topsecret"}, "<set:env:MODEL_KEY>"),
        ({}, f"<set:file:{tmp_path}/secrets/model>"),
    ):
        data = shown(tmp_path, FULL, environ)
        assert part(data, "providers", "main", "api_key") == expected
        assert part(data, "providers", "local", "api_key") == "<unset>"
        assert "api_key_env" not in str(data)
        assert "topsecret" not in str(data)
    assert part(shown(tmp_path, FULL, {}), "channels", "telegram", "bots", "two", "token") == "<unset>"
    postgres = SMALL + "storage: {driver: postgres, dsn_env: DSN}"
    assert part(shown(tmp_path, postgres), "storage") == {
        "driver": "postgres",
        "dsn": "<set:env:DSN>",
        "keep_days": 0,
        "earlier_conversations": 10,
        "output_bytes": 1_048_576,
        "output_days": 7,
        "output_total_bytes": 268_435_456,
    }


@pytest.mark.parametrize("text", [FULL, SMALL])
def test_a_dump_says_that_it_cannot_be_loaded_and_cannot(tmp_path: Path, text: str) -> None:
    """Somebody would take it for a backup and lose what it does not hold."""
    dump = show(read(tmp_path, text))
    assert dump.startswith(HEADER)
    with pytest.raises(ConfigError, match="a secret must not stand in this file"):
        load(write(tmp_path, dump), {}, HOME, RULES)


def test_a_valid_file_is_told_in_one_line_with_its_warnings_below(tmp_path: Path) -> None:
    """The line begins with OK, which scripts look for."""
    assert valid(read(tmp_path, SMALL)) == f"OK: {tmp_path}/config.yaml"
    assert valid(read(tmp_path, SMALL + "storage: {path: x.db}")) == (
        f"OK: {tmp_path}/config.yaml\nwarning: line 4: storage.path is the old name of storage.dsn"
    )
