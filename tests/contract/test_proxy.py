"""A whole gateway that reaches Telegram by a SOCKS proxy with a password, and nothing by another way."""

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from mtbot.bootstrap.offline import load_all
from mtbot.channels.telegram import poll
from mtbot.simulator.script import call, say
from mtbot.simulator.values import Attachment
from tests.contract.stage import CHIEF, Setting, Stage, open_stage
from tests.socks5 import SocksProxy

PASSWORD = "hunter-two-two"
NAME = "bot-api.invalid"


def target(stage: Stage) -> tuple[str, int]:
    """Where Telegram is in truth."""
    parts = urlsplit(stage.telegram.base_url)
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


def go_by(stage: Stage, proxy: SocksProxy, password: str = PASSWORD) -> None:
    """Have the bot know Telegram by a name that only the proxy knows."""
    port = target(stage)[1]
    stage.config.write_text(stage.config.read_text().replace(stage.telegram.base_url, f"http://{NAME}:{port}"))
    place = stage.directory / "secrets" / "proxy"
    place.write_text(f"socks5://reader:{password}@127.0.0.1:{proxy.port}\n")
    place.chmod(0o600)


class Lines:
    """What the poller logs of its failures; ``told`` once there are two."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.told = asyncio.Event()

    def warning(self, event: str, **values: object) -> None:
        """As a logger has it."""
        assert event == "poll.failed"
        self.errors.append(str(values["error"]))
        if len(self.errors) > 1:
            self.told.set()


async def test_a_gateway_behind_a_proxy_hears_speaks_takes_files_and_sends_them(tmp_path: Path) -> None:
    """Everything, and the proxy's password shows nowhere, not even where a command prints it."""
    steps = (
        call("exec", {"command": f"echo {PASSWORD[:7]}''{PASSWORD[7:]}"}),
        call("send_file", {"path": "note.txt"}),
        say(f"The password is {PASSWORD}."),
    )
    setting = Setting(telegram_extra="proxy_file: secrets/proxy", allow="[{argv: [echo, '**']}]")
    async with open_stage(tmp_path, steps, setting, start=False) as stage:
        async with SocksProxy(target(stage), user="reader", password=PASSWORD) as proxy:
            go_by(stage, proxy)
            (stage.workspace / "note.txt").write_text("a note")
            await stage.start()
            await stage.telegram.say(CHIEF, None, "look at it", attach=Attachment(b"text", "a.txt"))
            await stage.telegram.shown(CHIEF.id, "The password is ")
            assert [one.attachment.data for one in stage.telegram.chat(CHIEF.id)[1:] if one.attachment] == [b"a note"]
            assert set(proxy.asked) == {(NAME, target(stage)[1])}
            assert [path.read_bytes() for path in (stage.workspace / "inbox").iterdir()] == [b"text"]
            shown = await stage.cli("config", "show")
            checked = await stage.cli("doctor")
            await stage.stop()
        assert f"proxy: <set:file:{tmp_path}/secrets/proxy>" in shown.out
        sinks = [shown.out, checked.out, checked.err, *stage.bot_texts()]
        sinks += [repr(request.body) for request in stage.model.requests]
        sinks += [path.read_bytes().decode("utf-8", "replace") for path in (tmp_path / "state").glob("mtclaw.db*")]
        assert [text for text in sinks if PASSWORD in text] == []
        assert any("The password is " in text for text in sinks)


async def test_a_proxy_that_goes_away_is_told_in_a_line_and_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is said meanwhile is heard afterwards."""
    monkeypatch.setattr(poll, "FIRST_PAUSE", 0.02)
    setting = Setting(telegram_extra="proxy_file: secrets/proxy")
    async with (
        open_stage(tmp_path, setting=setting, start=False) as stage,
        SocksProxy(target(stage), user="reader", password=PASSWORD) as proxy,
    ):
        go_by(stage, proxy)
        await stage.start()
        lines = Lines()
        monkeypatch.setattr(poll, "_log", lines)
        await proxy.stop()
        await stage.telegram.say(CHIEF, None, "/whoami")
        async with asyncio.timeout(10):
            await lines.told.wait()
        await proxy.start()
        await stage.telegram.shown(CHIEF.id, "You are Chief", timeout=10)
        assert set(lines.errors[1:]) == {"the proxy can't be reached"}
        await stage.stop()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        (f"socks4://reader:{PASSWORD}@127.0.0.1:1080", "must be SCHEME://HOST:PORT"),
    ],
)
async def test_without_its_proxy_the_gateway_does_not_go_another_way(tmp_path: Path, content: str, said: str) -> None:
    """It ends with one line that names the key and not the address."""
    setting = Setting(telegram_extra="proxy_file: secrets/proxy")
    async with open_stage(tmp_path, setting=setting, start=False) as stage:
        (stage.directory / "secrets" / "proxy").write_text(content)
        found = await stage.cli("gateway")
        assert (found.status, found.err.count("\n")) == (1, 1)
        assert found.err.startswith("mtclaw: channels.telegram.proxy_file: ")
        assert said in found.err
        assert PASSWORD not in found.err
        assert stage.telegram.calls("getMe") == []


async def test_doctor_tells_a_wrong_password_of_the_proxy(tmp_path: Path) -> None:
    """In the line of the bot, without the password that was tried."""
    setting = Setting(telegram_extra="proxy_file: secrets/proxy")
    async with (
        open_stage(tmp_path, setting=setting, start=False) as stage,
        SocksProxy(target(stage), user="reader", password="another") as proxy,
    ):
        go_by(stage, proxy)
        found = await stage.cli("doctor")
        assert "the proxy wants another user and password" in found.out
        assert PASSWORD not in found.out + found.err
        assert load_all(str(stage.config)).missing == ()


async def test_a_model_is_asked_through_its_own_proxy(tmp_path: Path) -> None:
    """Telegram goes as before; while the password is wrong the chat hears that it can't be reached, and doctor says why."""
    setting = Setting(provider_extra=", proxy_file: secrets/proxy")
    async with open_stage(tmp_path, (say("Hello yourself."),), setting, start=False) as stage:
        place = stage.directory / "secrets" / "proxy"
        model = urlsplit(stage.model.base_url)
        assert (model.hostname, model.port is not None) == ("127.0.0.1", True)
        there = ("127.0.0.1", model.port or 0)
        text = stage.config.read_text().replace(f"127.0.0.1:{model.port}", f"model.invalid:{model.port}")
        stage.config.write_text(text)
        async with SocksProxy(there, user="reader", password=PASSWORD) as proxy:
            place.write_text(f"socks5://reader:{PASSWORD}wrong@127.0.0.1:{proxy.port}")
            place.chmod(0o600)
            await stage.start()
            await stage.telegram.say(CHIEF, None, "hello")
            await stage.telegram.shown(CHIEF.id, "The model can't be reached from here.", timeout=20)
            checked = await stage.cli("doctor")
            assert "the proxy wants another user and password" in checked.out
            assert PASSWORD not in "".join([*stage.bot_texts(), checked.out, checked.err])
            await stage.stop()
            place.write_text(f"socks5://reader:{PASSWORD}@127.0.0.1:{proxy.port}")
            await stage.start()
            await stage.telegram.say(CHIEF, None, "hello")
            await stage.telegram.shown(CHIEF.id, "Hello yourself.", timeout=20)
            assert set(proxy.asked) == {("model.invalid", model.port)}
            await stage.stop()


async def test_a_model_whose_proxy_cannot_be_had_is_not_asked_another_way(tmp_path: Path) -> None:
    """The chat reads which key it is."""
    setting = Setting(provider_extra=", proxy_file: secrets/none")
    async with open_stage(tmp_path, (say("Never."),), setting) as stage:
        await stage.telegram.say(CHIEF, None, "hello")
        await stage.telegram.shown(CHIEF.id, "providers.openai.proxy_file", timeout=20)
        assert stage.model.requests == ()
