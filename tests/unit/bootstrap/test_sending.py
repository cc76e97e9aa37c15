"""Where a file goes: into the chat of its turn, and from a job to where the job's results go."""

from pathlib import Path

import pytest

from mtbot.bootstrap.offline import Loaded, load_all
from mtbot.bootstrap.sending import post_of
from mtbot.domain.ids import BotName, ChatId, ThreadId
from mtbot.domain.record import OutboxItem
from mtbot.domain.turn import Address, SurfaceName

CONFIG = """\
version: 1
people: {chief: 1001}
owner: chief
agent: {model: m, workspace: WORKSPACE}
openai: {base_url: "http://127.0.0.1:1", api_key_env: ""}
channels:
  telegram:
    bots:
      one: {token_env: ONE, allow_from: [chief]}
      two: {token_env: TWO, allow_from: [chief], groups: {-100: {}}}
cron:
  enabled: true
  jobs:
    - {name: night, schedule: "0 7 * * *", prompt: p, deliver_to: {channel: telegram, chat_id: chief}}
    - {name: night-group, schedule: "0 7 * * *", prompt: p,
       deliver_to: {channel: telegram, bot: two, chat_id: -100, thread_id: 7}}
    - {name: quiet, schedule: "0 7 * * *", prompt: p}
storage: {dsn: state/mtclaw.db}
"""


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    """Two bots and three jobs."""
    (tmp_path / "workspace").mkdir()
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG.replace("WORKSPACE", str(tmp_path / "workspace")))
    path.chmod(0o600)
    return load_all(str(path), environ={"HOME": str(tmp_path)})


async def nowhere(_item: OutboxItem) -> None:
    """Take no notice."""


CHIEF = Address(SurfaceName.PRIVATE, BotName("one"), ChatId(1001))
GROUP = Address(SurfaceName.GROUP, BotName("two"), ChatId(-100), ThreadId(7))


def job(label: str) -> Address:
    """The place of a job's turn."""
    return Address(SurfaceName.CRON, BotName("one"), ChatId(0), label=label)


@pytest.mark.parametrize(
    ("turn", "chat"),
    [
        (CHIEF, CHIEF),
        (GROUP, GROUP),
        (job("job:night"), CHIEF),
        (job("job:night:run-5"), CHIEF),
        (job("job:night-group"), GROUP),
        (job("job:quiet"), None),
        (job("job:gone"), None),
    ],
)
def test_each_turn_has_one_chat_or_none(loaded: Loaded, turn: Address, chat: Address | None) -> None:
    """A job whose name begins like another's is not taken for it."""
    assert post_of(loaded, nowhere).place(turn) == chat


def test_a_job_without_delivery_has_no_place(loaded: Loaded) -> None:
    """The first bot is that of a job which names none."""
    assert {name: told.place for name, told in loaded.people.jobs.items()} == {"night": CHIEF, "night-group": GROUP}
