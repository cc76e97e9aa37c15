"""C11: no secret leaves by any way, however it came in. Everything is planted in one run, then every sink is searched."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import structlog

from mtbot.bootstrap.logs import set_up_logs
from mtbot.bootstrap.offline import load_all
from mtbot.channels.telegram import pace, poll
from mtbot.cli.main import run
from mtbot.simulator import faults
from mtbot.simulator.script import ModelRequest, Step, call, say
from tests.contract.planted import CONFIGURED, MODEL_KEY, Plants
from tests.contract.planted_story import PARTS, Broken, Story, told
from tests.contract.stage import CHIEF, Setting, open_stage
from tests.contract.surfaces import Way, on_every_surface
from tests.contract.test_c3_c5_tools import give
from tests.unit.redaction.samples import draw

SETTING = Setting(
    allow="[{argv: [cat, '**']}, {argv: [ls, '**']}]",
    exec_extra="env: {pass: [SERVICE_SECRET]}",
)
MARKERS = {
    "model requests": ("PERSONA", "MESSAGE", "ANSWER", "copy.txt", "unknown argument", "There is no tool", "They said"),
    "telegram calls": ("ANSWER", "cat planted.txt", "did not accept", "SENT", "NIGHT"),
    "telegram files": ("copy.txt",),
    "mtclaw.db": ("MESSAGE", "ANSWER", "copy.txt", "unknown argument", "Bad Request", "They said", "TERMINAL"),
    "log.txt": ("tool.crashed", "cause", "note", "poll.failed", "yyy", "outbox.refused"),
    "command line": ("MESSAGE", "TERMINAL", "BY HAND", "copy.txt", "check deploy"),
}
"""What must be found where, so that nobody searches where nothing is."""


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    """The process's log as the test runner had it."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    for handler in root.handlers:
        if isinstance(handler, logging.StreamHandler) and handler not in handlers:
            handler.stream.close()
    root.handlers[:], root.level = handlers, level
    structlog.reset_defaults()


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The secrets are variables of the process; one of them is passed on to every command. Nobody waits for the pace."""
    monkeypatch.setattr(pace, "BURST", 10_000)
    monkeypatch.setattr(poll, "FIRST_PAUSE", 0.02)
    for name, value in CONFIGURED.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
async def story(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> AsyncIterator[Story]:
    """A started stage with logs at their loudest; the workspace holds files that are full of secrets."""
    async with open_stage(tmp_path, [], SETTING, start=False) as stage:
        (tmp_path / "secrets" / "model").write_text(MODEL_KEY)
        plants = Plants((*CONFIGURED.values(), MODEL_KEY, stage.telegram.token()))
        (stage.workspace / "planted.txt").write_text(plants.text)
        (stage.workspace / "persona.md").write_text(f"PERSONA\n{plants.text}")
        (stage.workspace / f"named {CONFIGURED['BACKUP_TOKEN']}").write_text("x")
        text = stage.config.read_text().replace("level: error", "level: debug")
        text = text.replace("agent: {", f"agent: {{system_prompt_files: [{stage.workspace}/persona.md], ")
        stage.config.write_text(text.replace("nightly check", json.dumps(f"check {plants.short}", ensure_ascii=False)))
        set_up_logs(load_all(str(stage.config)))
        await stage.start()
        yield Story(stage, plants, capsys)


async def test_nothing_that_was_planted_is_seen_again(story: Story) -> None:
    """Said, run, read, written, refused, denied, failed: database, log, chat, model and command line hold masks."""
    give(story.stage, Broken(story.plants.text))
    for part in PARTS:
        await part(story)
    log_ahead = (story.stage.directory / "state" / "mtclaw.db-wal").read_bytes().decode("utf-8", "replace")
    await story.stage.stop()
    await told(story)
    sinks = {**story.sinks(), "write-ahead log": log_ahead}
    assert story.plants.leaks(sinks) == []
    missing = {name: [word for word in words if word not in sinks[name]] for name, words in MARKERS.items()}
    assert missing == {name: [] for name in MARKERS}
    assert [name for name in MARKERS if sinks[name].count("\u2039secret:") < 20] == []


HONEST = "\n".join(
    (
        "commit 3f785cd8a9d0c1b2e3f405162738495a6b7c8d9e",
        "id 123e4567-e89b-42d3-a456-426614174000",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "<img src=data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9aw>",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKtN1x8w0JXv9wq3nYzqPp8i3cXbC5n2vBqkJt5oQ0aR chief@host",
        "/srv/releases/2026-11-30T12-00-00/node_modules/@types/estree/index.d.ts",
        "password: ********",
    )
)


@on_every_surface
async def test_on_every_surface_output_is_masked_and_what_is_no_secret_is_not(tmp_path: Path, way: Way) -> None:
    """What a command prints: values hidden from model and person, hashes, ids, images and stars left readable."""
    plants = Plants(tuple(CONFIGURED.values()))
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "planted.txt").write_text(f"{HONEST}\n{plants.lines}")
    steps = (call("exec", {"command": "cat planted.txt"}), say(f"{HONEST}\n{plants.short}\nThrough."))
    async with open_stage(tmp_path, steps, SETTING) as stage:
        heard = await way.turn(stage, "Through.")
        result = stage.model.requests[-1].last_tool_result
        assert plants.leaks({"result": result, "heard": heard}) == []
        assert HONEST in result
        assert [line for line in HONEST.splitlines() if line not in heard] == []


async def test_a_question_keeps_the_shape_of_what_it_hides(tmp_path: Path) -> None:
    """A mask never swallows what a shell would act on, and the question says how many values it hides."""
    secret = CONFIGURED["BACKUP_TOKEN"]
    command = f"TOKEN={secret};curl -H 'X-Api-Key: {secret}' https://u:{secret}@h/|cat>out&& echo $(id) `id` <in"
    async with open_stage(tmp_path, [call("exec", {"command": command}), say("Through.")]) as stage:
        await stage.telegram.say(CHIEF, None, "go on")
        asked = await stage.telegram.shown(CHIEF.id, "#", timeout=15)
        mark = asked.text.split("TOKEN=", 1)[1].split(";", 1)[0]
        assert command.replace(secret, mark) in asked.text


WRITES = (
    ("exec", "command", "echo {mask} > made.txt"),
    ("exec", "command", "deploy --with '<secret:{digits}>'"),
    ("write_file", "content", "token = {mask}\n"),
    ("edit_file", "new", "{mask}"),
)


@on_every_surface
async def test_a_mask_is_never_written_back(tmp_path: Path, way: Way) -> None:
    """In a command, a file, an edit: refused with words, nothing asked, run or changed; stars are only stars."""
    secret = CONFIGURED["BACKUP_TOKEN"]
    (tmp_path / "workspace").mkdir()
    kept = tmp_path / "workspace" / "made.txt"
    kept.write_text(f"token = {secret}\n")

    def script(request: ModelRequest) -> Step:
        results = [str(m["content"]) for m in request.messages if m["role"] == "tool"]
        if not results:
            return call("read_file", {"path": "made.txt"})
        if len(results) > len(WRITES):
            return say("Through.")
        mask = results[0][results[0].index("\u2039") : results[0].index("\u203a") + 1]
        tool, name, text = WRITES[len(results) - 1]
        rest = {"exec": {}, "write_file": {"path": "made.txt"}, "edit_file": {"path": "made.txt", "old": "token"}}[tool]
        return call(tool, {**rest, name: text.format(mask=mask, digits=mask[-5:-1])})

    async with open_stage(tmp_path, script, SETTING) as stage:
        heard = await way.turn(stage, "Through.")
        results = [str(m["content"]) for m in stage.model.requests[-1].messages if m["role"] == "tool"]
        assert [result.split(":")[0] for result in results[1:]] == ["[Invalid] Nothing was run"] * len(WRITES)
        assert kept.read_text() == f"token = {secret}\n"
        assert "Run this on" not in heard
        told_of = [(line.tool, line.decision) for line in await stage.lines()]
        assert told_of == [("read_file", "allowed_rule"), *((tool, "denied_rule") for tool, _, _ in WRITES)]


async def test_a_mask_from_before_a_restart_is_not_written_back_either(tmp_path: Path) -> None:
    """The model still sees it in the history, although no process knows any more what it hides."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "made.txt").write_text("password = swordfish9\n")
    steps = [call("read_file", {"path": "made.txt"}), say("Read.")]
    async with open_stage(tmp_path, steps, SETTING) as stage:
        await stage.telegram.say(CHIEF, None, "read it")
        await stage.telegram.shown(CHIEF.id, "Read.", timeout=15)
        mask = stage.model.requests[-1].last_tool_result.split("password = ")[1].strip()
        await stage.restart()
        stage.model.then(call("exec", {"command": f"echo '{mask}' > made.txt"}), say("Through."))
        await stage.telegram.say(CHIEF, None, "change it")
        await stage.telegram.shown(CHIEF.id, "Through.", timeout=15)
        assert stage.model.requests[-1].last_tool_result.startswith("[Invalid] Nothing was run")
        assert [line.decision for line in await stage.lines()] == ["allowed_rule", "denied_rule"]


async def test_stars_that_somebody_typed_are_no_mask(tmp_path: Path) -> None:
    """They run and are written like any other text, and so is a mask that nobody made."""
    text = "password = ******** \u2039secret:zzzz\u203a"
    steps = [call("write_file", {"path": "made.txt", "content": text}), call("exec", {"command": "cat '********'"})]
    async with open_stage(tmp_path, [*steps, say("Through.")], SETTING) as stage:
        await stage.telegram.say(CHIEF, None, "go on")
        await stage.telegram.shown(CHIEF.id, "Through.", timeout=15)
        assert (stage.workspace / "made.txt").read_text() == text
        assert [line.decision for line in await stage.lines()] == ["allowed_rule", "allowed_rule"]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("token_file: secrets/telegram", "token_file: {secret}"),
        ("token_file: secrets/telegram", "token: {secret}"),
        ("api_key_file: secrets/model", "api_key_env: {secret}"),
        ("api_key_file: secrets/model", "api_key: {secret}"),
        ("level: error", "{secret}: error"),
        ("mode: approval", "mode: {secret}"),
        ("owner: chief", "owner: {secret}"),
    ],
)
async def test_a_secret_at_a_wrong_place_of_the_configuration_is_not_repeated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: str, right: str
) -> None:
    """Whatever is said about the file, by whichever verb, does not quote it."""
    token = f"1234567890:AA{draw(33)}"
    async with open_stage(tmp_path, start=False) as stage:
        plants = Plants((token, CONFIGURED["BACKUP_TOKEN"]))
        for secret in plants.exact:
            stage.write_config()
            text = stage.config.read_text()
            assert wrong in text
            stage.config.write_text(text.replace(wrong, right.format(secret=secret)))
            for verb in (("config", "validate"), ("config", "show"), ("doctor", "--offline"), ("sessions", "list")):
                await asyncio.to_thread(run, ["--config", str(stage.config), *verb])
        said = capsys.readouterr()
        assert plants.leaks({"out": said.out, "err": said.err}) == []
        assert said.err


async def test_a_token_that_telegram_repeats_is_masked_by_doctor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A proxy that quotes the address, and a model server that quotes the key."""
    async with open_stage(tmp_path, start=False) as stage:
        token, key = stage.telegram.token(), (stage.directory / "secrets" / "model").read_text()
        stage.telegram.fault("getMe", faults.status(400, f"no such page /bot{token}/getMe"), times=faults.FOR_EVER)
        await asyncio.to_thread(run, ["--config", str(stage.config), "doctor"])
        said = capsys.readouterr()
        assert "no such page" in said.out
        assert Plants((token, key)).leaks({"out": said.out, "err": said.err}) == []
