"""Onboarding from the first question to a configuration that loads, with Telegram and a model played."""

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner, Result

from mtbot.bootstrap.offline import load_all
from mtbot.cli import onboard
from mtbot.cli.frame import Frame
from mtbot.cli.main import root, run
from mtbot.simulator.model import ModelSimulator
from mtbot.simulator.telegram import TelegramSimulator
from mtbot.simulator.values import Person
from tests.socks5 import SocksProxy


class World:
    """The simulators in a thread of their own, because onboarding runs event loops itself."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.telegram = TelegramSimulator()
        self.model = ModelSimulator([])
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()
        self.do(self.telegram.start())
        self.do(self.model.start())

    def do(self, work: object) -> object:
        """Run a coroutine there and wait for it."""
        assert asyncio.iscoroutine(work)
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(30)

    def write_when_polled(self, *people: Person) -> None:
        """Have people write to the bot as soon as it listens."""

        async def write() -> None:
            await self.telegram.wait_for(lambda sim: sim.bot().queue.is_polled, 30)
            for person in people:
                await self.telegram.say(person, None, "hello")

        asyncio.run_coroutine_threadsafe(write(), self.loop)

    def close(self) -> None:
        """Stop everything."""
        self.do(self.telegram.stop())
        self.do(self.model.stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


@contextmanager
def world() -> Iterator[World]:
    """A world that is closed at the end."""
    made = World()
    try:
        yield made
    finally:
        made.close()


def typed(directory: Path, outside: World, *answers: str, server: str = "", options: Sequence[str] = ()) -> Result:
    """Onboard with these answers."""
    where = server or outside.telegram.base_url
    arguments = ["--config", str(directory / "config.yaml"), "onboard", "--api-base-url", where, *options]
    return CliRunner().invoke(root, arguments, input="\n".join(answers) + "\n", obj=Frame())


def test_a_person_who_writes_to_the_bot_becomes_its_owner(tmp_path: Path) -> None:
    """Secrets go to 0600 files, the configuration names them, and it loads."""
    with world() as outside:
        outside.write_when_polled(Person(1001, "Chief"))
        done = typed(
            tmp_path,
            outside,
            outside.model.base_url,
            "sk-secret-0123456789",
            "some-model",
            "y",
            str(tmp_path / "ws"),
            "y",
            outside.telegram.token(),
            "y",
        )
    assert done.exit_code == 0, done.output
    text = (tmp_path / "config.yaml").read_text()
    assert "sk-secret" not in text + done.output
    assert outside.telegram.token() not in text + done.output
    for name in ("config.yaml", "secrets/model", "secrets/telegram"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    settings = load_all(str(tmp_path / "config.yaml"), environ={"HOME": str(tmp_path)}).settings
    assert (settings.people, settings.owner) == ({"chief": 1001}, 1001)
    assert settings.channels.telegram.bots["main"].allow_from == (1001,)
    assert [pack.value for pack in settings.base.tools.exec.allow_packs] == ["readonly"]
    assert (tmp_path / "ws").is_dir()


def test_nobody_who_writes_leaves_telegram_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration is written all the same, and says what is missing."""
    monkeypatch.setattr(onboard, "CAPTURE_SECONDS", 0.2)
    with world() as outside:
        done = typed(
            tmp_path,
            outside,
            outside.model.base_url,
            "",
            "m",
            "y",
            str(tmp_path / "ws"),
            "n",
            outside.telegram.token(),
            "0",
        )
    assert done.exit_code == 0, done.output
    settings = load_all(str(tmp_path / "config.yaml"), environ={"HOME": str(tmp_path)}).settings
    assert not settings.channels.telegram.enabled
    assert "Nobody is listed yet" in done.output
    assert not (tmp_path / "secrets" / "model").exists()


def test_several_people_make_it_ask_for_the_id(tmp_path: Path) -> None:
    """A stranger must not become the owner."""
    with world() as outside:
        outside.write_when_polled(Person(1001, "Chief"), Person(6666, "Stranger"))
        done = typed(
            tmp_path,
            outside,
            outside.model.base_url,
            "",
            "m",
            "y",
            str(tmp_path / "ws"),
            "n",
            outside.telegram.token(),
            "1001",
        )
    assert "2 people wrote: Chief (1001), Stranger (6666)." in done.output
    settings = load_all(str(tmp_path / "config.yaml"), environ={"HOME": str(tmp_path)}).settings
    assert settings.channels.telegram.bots["main"].allow_from == (1001,)


@pytest.mark.parametrize(("typed_in", "made"), [("ws", "place/ws"), ("~/ws", "home/ws"), ("../ws", "ws")])
def test_the_workspace_is_made_where_the_configuration_looks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed_in: str, made: str
) -> None:
    """From its own directory or the home on, and not where the command happened to be typed."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(onboard, "CAPTURE_SECONDS", 0.2)
    place, elsewhere = tmp_path / "place", tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    with world() as outside:
        answers = ("", "m", "y", "~nobody/ws", typed_in, "n", outside.telegram.token(), "0")
        done = typed(place, outside, outside.model.base_url, *answers)
    assert done.exit_code == 0, done.output
    assert "Only ~/ (your own home) is understood." in done.output
    settings = load_all(str(place / "config.yaml")).settings
    assert Path(settings.base.agent.workspace) == tmp_path / made
    assert (tmp_path / made).is_dir()
    assert list(elsewhere.iterdir()) == []


def test_who_wrote_before_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Telegram keeps messages for a day; whoever found the bot yesterday is not its owner today."""
    monkeypatch.setattr(onboard, "CAPTURE_SECONDS", 0.5)
    with world() as outside:
        stranger = {"id": 6666, "is_bot": False, "first_name": "Stranger"}
        old = {"message_id": 1, "from": stranger, "chat": {"id": 6666, "type": "private"}, "text": "mine"}
        outside.telegram.push_update(None, {"message": {**old, "date": int(time.time()) - 60}})
        answers = ("", "m", "y", str(tmp_path / "ws"), "n", outside.telegram.token(), "0")
        done = typed(tmp_path, outside, outside.model.base_url, *answers)
    assert done.exit_code == 0, done.output
    assert "6666" not in done.output
    assert "Nobody is listed yet" in done.output


def test_a_wrong_token_is_asked_for_again_and_then_given_up(tmp_path: Path) -> None:
    """Nothing is written."""
    with world() as outside:
        done = typed(tmp_path, outside, outside.model.base_url, "", "m", "y", "ws", "n", "1:x", "2:y", "3:z")
    assert done.exit_code == 1
    assert done.output.count("That did not work") == 3
    assert not (tmp_path / "config.yaml").exists()


def test_a_closed_input_ends_it_at_once(tmp_path: Path) -> None:
    """No endless asking."""
    with world() as outside:
        done = CliRunner().invoke(root, ["--config", str(tmp_path / "c.yaml"), "onboard"], input="", obj=Frame())
        del outside
    assert done.exit_code == 1
    assert not (tmp_path / "c.yaml").exists()


def test_an_existing_configuration_is_never_touched(tmp_path: Path) -> None:
    """Exit 1, one line."""
    file = tmp_path / "config.yaml"
    file.write_text("mine")
    done = CliRunner().invoke(root, ["--config", str(file), "onboard"], obj=Frame())
    assert done.exit_code == 1
    assert file.read_text() == "mine"


def test_a_variable_that_is_set_can_be_used_instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The configuration names it, and no file is made."""
    monkeypatch.setattr(onboard, "CAPTURE_SECONDS", 0.2)
    with world() as outside:
        monkeypatch.setenv("TELEGRAM_BOT_TOKEN", outside.telegram.token())
        monkeypatch.setenv("OPENAI_API_KEY", "sk-env-0123456789")
        done = typed(tmp_path, outside, outside.model.base_url, "y", "m", "y", str(tmp_path / "ws"), "n", "y", "1001")
    assert done.exit_code == 0, done.output
    text = (tmp_path / "config.yaml").read_text()
    assert "token_env: TELEGRAM_BOT_TOKEN" in text
    assert "api_key_env: OPENAI_API_KEY" in text
    assert not (tmp_path / "secrets").exists()


@pytest.mark.parametrize("secret", [False, True], ids=["open", "password"])
def test_telegram_is_reached_by_a_proxy_from_the_first_question_on(tmp_path: Path, secret: bool) -> None:
    """Its server's name is known to the proxy alone; a password stays in the file that was named."""
    user, password = ("reader", "hunter-two-two") if secret else ("", "")
    with world() as outside:
        there = urlsplit(outside.telegram.base_url)
        assert there.port is not None
        proxy = SocksProxy(("127.0.0.1", there.port), user=user, password=password)
        outside.do(proxy.start())
        outside.write_when_polled(Person(1001, "Chief"))
        file = tmp_path / "proxy"
        file.write_text(f"socks5://{user}:{password}@127.0.0.1:{proxy.port}\n")
        file.chmod(0o600)
        address = f"socks5://127.0.0.1:{proxy.port}"
        done = typed(
            tmp_path,
            outside,
            *(outside.model.base_url, "", "sim-1", str(tmp_path / "ws"), "n", outside.telegram.token(), "y"),
            server="http://bot-api.invalid:8081",
            options=("--proxy-file", str(file)) if secret else ("--proxy", address),
        )
        outside.do(proxy.stop())
    assert done.exit_code == 0, done.output
    assert set(proxy.asked) == {("bot-api.invalid", 8081)}
    text = (tmp_path / "config.yaml").read_text()
    assert (f'proxy_file: "{file}"' in text, f'proxy: "{address}"' in text) == (secret, not secret)
    assert "hunter" not in text + done.output
    telegram = load_all(str(tmp_path / "config.yaml"), environ={"HOME": str(tmp_path)}).settings.channels.telegram
    assert (telegram.proxy_ref.named, telegram.proxy) == (secret, "" if secret else address)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--proxy", "socks4://127.0.0.1:1"), "--proxy: must be SCHEME://HOST:PORT, where SCHEME is one of http"),
        (("--proxy", "socks5://reader:hunter999@127.0.0.1:1"), "name that with --proxy-file"),
        (("--proxy-file", "/nonexistent/proxy"), "channels.telegram.proxy_file: /nonexistent/proxy"),
        (("--proxy", "http://x", "--proxy-file", "y"), "give --proxy or --proxy-file, and not both"),
    ],
)
def test_a_proxy_that_is_none_is_told_before_anything_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], said: str
) -> None:
    """In one line, without the address."""
    assert run(["--config", str(tmp_path / "config.yaml"), "onboard", *options]) == 1
    found = capsys.readouterr()
    assert (found.out, found.err.count("\n")) == ("", 1)
    assert said in found.err
    assert "hunter" not in found.err
