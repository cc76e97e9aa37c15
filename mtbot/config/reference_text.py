"""The prose of the reference page and the sample values of the example file: what no type can tell."""

from collections.abc import Mapping
from typing import Final

INTRODUCTION: Final = """\
# Configuration

<!-- Made by `python -m mtbot.config.reference --write` from the code that reads the file. Do not edit. -->

One YAML file holds everything. It is the one that `--config` names, else the one that the variable `MTCLAW_CONFIG`
names, else `~/.mtclaw/config.yaml` (or `config.yml` there; if both exist, `config.yaml` is used and a warning says so).
`mtclaw config path` prints which one it is, `mtclaw config validate` every fault in it, `mtclaw config show` what is in
effect. `config/mtclaw.example.yaml` is a file to start from.

How the file is read:

- The whole file is judged before anything starts. Each fault is one line, `file:line:column: key: what is wrong`, and
  all of them are told at once. A file with a fault is not used in part, and an earlier one is not used instead.
- Unknown keys, keys given twice, keys without a value, a second YAML document and an empty file are faults.
- Only `true` and `false` are booleans; `off`, `yes` and `no` are words. Numbers are decimal.
- Durations are written `30s`, `5m`, `1h30m` or `2d`, or as a number of seconds.
- Relative paths start at the directory of the file; `~/` is your home. Sizes are in bytes.
- People are numeric Telegram ids, or names given under `people`. A username is refused, because its holder can change;
  so is the id of a group in a list of people, and the ids that stand for anonymous admins and channels.
- A secret never stands in the file. A key that ends in `_env` names an environment variable, one that ends in `_file` a
  file with nothing but the secret in it (at most 64 KiB, a regular file). If both are given and the variable is set, the
  variable wins. `api_key_env: ""` means that the server wants no key.
"""

PROFILE_NOTE: Final = """\
`profiles.NAME` holds `agent` and `tools` again, with only the keys that differ. It is laid over the top-level `agent`
and `tools`: mappings merge, lists and values replace. What denies can only grow: `tools.exec.deny`, `tools.denied_path`
and `tools.denied_command` add to the lists below them, and `tools.exec.builtin_deny` cannot stand in a profile. A bot
works under the profile that its `profile` key names, and without one under the top-level settings.
"""

SHORT_NOTES: Final[Mapping[str, str]] = {
    "openai": """\
`openai:` is the short form of one provider with the name `openai`. Without a key named, it takes `OPENAI_API_KEY`; an
entry of `providers` has no such default, so that the key of one server is never sent to another. `providers` and
`openai` cannot both be given.
""",
    "telegram": """\
With one bot, its keys may stand directly under `channels.telegram`. The bot is then named `main`, and without a token
named it takes `TELEGRAM_BOT_TOKEN`. Beside `bots`, the lists `allow_from`, `approvers` and `groups` of the channel are
the default of every bot that has none of its own. `groups` as a whole replaces its default, and its default is empty: a
bot serves a group only if the group, or `"*"`, is listed.
""",
    "storage": """\
`storage.path` is the old name of `storage.dsn`; it still works and is warned of. Both together are an error.
""",
}

ENTRY_NAMES: Final[Mapping[str, str]] = {"providers": "main", "channels.telegram.bots": "main"}
"""Mappings of which the example shows one entry, and its name there."""

EXAMPLES: Final[Mapping[str, str]] = {
    "version": "version: 1",
    "people": "people:\n  chief: 1001\n  deploy: 1002",
    "owner": "owner: chief",
    "agent.model": "model: main/qwen3-32b",
    "agent.temperature": "#temperature: 0.7",
    "providers.api_key_env": "api_key_env: OPENAI_API_KEY",
    "providers.api_key_file": "#api_key_file: secrets/model",
    "providers.proxy_file": "#proxy_file: secrets/proxy",
    "profiles": """\
#profiles:
#  ops:
#    agent:
#      workspace: /srv/ops
#    tools:
#      exec:
#        allow:
#          - {argv: [restic, backup, /srv], network: true, write: [/var/cache/restic], why: nightly backup}
""",
    "channels.telegram.proxy_file": "#proxy_file: secrets/proxy",
    "channels.telegram.bots.token_env": "token_env: TELEGRAM_BOT_TOKEN",
    "channels.telegram.bots.token_file": "#token_file: secrets/telegram",
    "channels.telegram.bots.profile": "#profile: ops",
    "channels.telegram.bots.allow_from": "allow_from: [chief]",
    "channels.telegram.bots.groups": "#groups:\n#  -1001112223334:\n#    require_mention: true",
    "tools.exec.cwd": "#cwd: ~/mtclaw-workspace",
    "tools.exec.allow_packs": "allow_packs: [readonly]",
    "tools.exec.auto.model": "#model: main/qwen3-32b",
    "tools.filesystem.roots": "#roots:\n#  - ~/mtclaw-workspace\n#  - {path: /srv/docs, access: read}",
    "cron.jobs": """\
#jobs:
#  - name: nightly-check
#    schedule: "0 7 * * *"
#    prompt: Look at pools, backups and certificates; tell me only what needs me.
#    enabled: true
#    deliver_to: {chat_id: chief}
#    on_ask: park
""",
    "storage.dsn_file": "",
    "log.file": "#file: ~/.mtclaw/mtclaw.log",
}
"""What the example shows in place of a default; a line with # is shown as a comment, an empty text not at all."""
