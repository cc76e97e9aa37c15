"""How secrets come in: one story over a stage, part by part, with everything planted that ``planted`` has.

Each part is one way in. What came out of it all is what ``Story.sinks`` gives.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

import pytest

from mtbot.cli.main import run
from mtbot.domain.call import Call, Outcome, Permit, Risk, ToolDefault, ToolSpec
from mtbot.domain.ids import SafeText
from mtbot.simulator import faults
from mtbot.simulator.script import Step, call, invalid, raw, say
from mtbot.simulator.telegram import TelegramSimulator
from mtbot.simulator.values import Message
from tests.contract.planted import Plants
from tests.contract.stage import CHIEF, Stage

# a value behind these is cut in the middle by whoever cuts at so many characters before masking
CUT_AT_64 = "x" * 52
CUT_AT_200 = "y" * 188
CUT_AT_300 = "z" * 285


@dataclass
class Story:
    """A stage whose model says what the story tells, and everything that the command line printed meanwhile."""

    stage: Stage
    plants: Plants
    capsys: pytest.CaptureFixture[str]
    printed: list[str] = field(default_factory=list)

    async def turn(self, *steps: Step, said: str = "go on", until: str = "Through.") -> None:
        """One message of a person and what the model does then."""
        self.stage.model.then(*steps)
        last = self.last()
        await self.stage.telegram.say(CHIEF, None, said)
        await self.stage.telegram.shown(CHIEF.id, until, after=last, timeout=15)

    async def asked(self, step: Step, answer: Callable[[int], Awaitable[object]]) -> None:
        """One call that a person is asked about; ``answer`` gets the message of the question."""
        self.stage.model.then(step, say("Through."))
        last = self.last()
        await self.stage.telegram.say(CHIEF, None, "go on")
        await answer((await self.question(last)).id)
        await self.stage.telegram.shown(CHIEF.id, "Through.", after=last, timeout=15)

    async def question(self, after: int) -> Message:
        """The open question that is newer than the message ``after``."""

        def look(sim: TelegramSimulator) -> Message | None:
            return next((m for m in sim.chat(CHIEF.id) if m.id > after and "✅ Approve once" in m.labels), None)

        found = await self.stage.telegram.wait_for(look, 15)
        assert found is not None
        return found

    def last(self) -> int:
        """The newest message of the chat."""
        return max((message.id for message in self.stage.telegram.chat(CHIEF.id)), default=0)

    async def program(self, *arguments: str) -> None:
        """Run a verb beside the gateway, in a process of its own."""
        said = await self.stage.cli(*arguments)
        assert said.status == 0, said
        self.printed += [said.out, said.err]

    async def verb(self, *arguments: str) -> str:
        """What a verb of the command line prints, run in a thread of this process once the gateway is down."""
        self.capsys.readouterr()
        await asyncio.to_thread(run, ["--config", str(self.stage.config), *arguments])
        said = self.capsys.readouterr()
        self.printed.append(f"{said.out}\n{said.err}")
        return said.out

    def sinks(self) -> dict[str, str]:
        """Everything that somebody else than this process can see, by name."""
        state = self.stage.directory / "state"
        found = {path.name: path.read_bytes().decode("utf-8", "replace") for path in state.iterdir() if path.is_file()}
        texts = {json.dumps(m, ensure_ascii=False) for r in self.stage.model.requests for m in r.messages}
        headers = {json.dumps({**r.headers, "authorization": ""}) for r in self.stage.model.requests}
        found["model requests"] = "\n".join(sorted(texts | headers))
        found["telegram calls"] = "\n".join(repr((c.method, c.params)) for c in self.stage.telegram.log)
        files = [m.attachment for m in self.stage.telegram.chat(CHIEF.id) if m.attachment and m.sender.is_bot]
        found["telegram files"] = "\n".join(f"{one.name} {one.data.decode()}" for one in files)
        found["command line"] = "\n".join(self.printed)
        return found


class Broken:
    """A tool whose fault holds everything that must not be told, in a cause and a note, too."""

    spec = ToolSpec("broken", "?", {"type": "object", "properties": {}}, Risk.READ, ToolDefault.ALLOW)

    def __init__(self, secrets: str) -> None:
        self._secrets = secrets

    async def perform(self, call: Call, permit: Permit, progress: Callable[[SafeText], None]) -> Outcome:
        """Fail."""
        try:
            raise ValueError(f"cause {self._secrets}")
        except ValueError as cause:
            error = RuntimeError(f"fault {self._secrets}")
            error.add_note(f"note {self._secrets}")
            raise error from cause


async def said(story: Story) -> None:
    """By a person, and by the model."""
    for chunk in story.plants.chunks(3500):
        await story.turn(say(f"ANSWER {chunk}\n\nThrough."), said=f"MESSAGE {chunk}")


async def commands(story: Story) -> None:
    """In a command, its arguments and its output, by rule and after a question."""
    secret = story.plants.exact[1]
    workspace = story.stage.workspace
    await story.turn(
        call("exec", {"command": "cat planted.txt"}), call("exec", {"command": f"cat {secret}"}), say("Through.")
    )
    press = story.stage.telegram.press
    await story.asked(call("exec", {"command": f"ls -l --token={secret} ."}), lambda question: press(CHIEF, question))
    script = "import os\nfor n, b in enumerate(open('planted.txt', 'rb').read()): os.write(1 + n % 2, bytes([b]))\n"
    (workspace / "split.py").write_text(script)
    heredoc = "cat > copy.txt <<'PLANTED'\n{text}\nPLANTED\nenv; python3 split.py; exit 3"
    await story.turn(call("exec", {"command": heredoc.format(text=story.plants.text)}), say("Through."))
    heredoc = heredoc.format(text=story.plants.lines)
    await story.asked(call("exec", {"command": heredoc}), lambda question: press(CHIEF, question))
    assert (workspace / "copy.txt").read_text() == f"{story.plants.lines}\n"
    for sample in (
        "export TOKEN=swordfish9; curl -u chief:swordfish9 https://u:hunter2hunter@127.0.0.1:1/",
        story.plants.short,
    ):
        await story.asked(call("exec", {"command": f"echo {sample} $(true)"}), lambda question: press(CHIEF, question))


async def files(story: Story) -> None:
    """In names and contents of files."""
    short, secret = story.plants.short, story.plants.exact[1]
    await story.turn(
        call("read_file", {"path": "planted.txt"}),
        call("list_dir", {"path": "."}),
        call("read_file", {"path": f"none {secret}"}),
        call("write_file", {"path": f"made {secret}", "content": story.plants.text}),
        call("write_file", {"path": f"made {secret}", "content": "again", "mode": "create_new"}),
        say("Through."),
    )
    press = story.stage.telegram.press
    await story.asked(call("write_file", {"path": ".env", "content": short}), lambda question: press(CHIEF, question))
    assert (story.stage.workspace / ".env").read_text() == short
    await story.asked(call("trash", {"paths": [f"made {secret}"]}), lambda question: press(CHIEF, question))


async def misuse(story: Story) -> None:
    """In calls that cannot be carried out."""
    secret = story.plants.exact[1]
    await story.turn(
        call("exec", {"command": "true", secret: "x", CUT_AT_64 + secret: secret}),
        call("exec", f'{{"command": "{secret}", "command": "x", '),
        call("exec", f'{{"{CUT_AT_64 + secret}": 1, "{CUT_AT_64 + secret}": 2}}'),
        call("exec", {"command": [secret]}),
        say("Through."),
    )
    await story.turn(call(CUT_AT_64 + secret, {secret: secret}), call(secret, {}), say("Through."))
    await story.asked(call("broken", {}), lambda question: story.stage.telegram.press(CHIEF, question))
    # a curl has run before, so the turn holds text from outside, and a fetch asks
    fetch = call("web_fetch", {"url": f"http://u:{secret}@127.0.0.1/?token={secret}"})
    await story.asked(fetch, lambda question: story.stage.telegram.press(CHIEF, question))


async def refusals(story: Story) -> None:
    """In what a model server and Telegram say when they refuse."""
    token, key = story.plants.exact[-1], story.plants.exact[-2]
    for secret in (key, token, *story.plants.exact[:3], story.plants.short):
        await story.turn(invalid(f"bad {secret}"), until="did not accept")
        await story.turn(invalid(f"{CUT_AT_300}{secret}"), until="did not accept")
        body = json.dumps({"error": {"message": f"wrong key {secret}"}})
        await story.turn(raw(401, body), until="refused my key")
        await story.turn(raw(200, f"no json {secret}"), until="could not be read")
        telegram = story.stage.telegram
        telegram.fault("sendMessage", faults.status(400, f"Bad Request: {secret}"))
        telegram.fault("getUpdates", faults.status(400, f"{CUT_AT_200}{secret}"))
        story.stage.model.then(say("Lost."))
        lost = _faulty(telegram)
        await telegram.say(CHIEF, None, "go on")
        await telegram.wait_for(partial(_two_more, lost), 15)


def _faulty(telegram: TelegramSimulator) -> int:
    return sum(bool(record.fault) for record in telegram.log)


def _two_more(before: int, telegram: TelegramSimulator) -> bool:
    return _faulty(telegram) == before + 2


async def denied(story: Story) -> None:
    """In the reasons that people give, at the question, by command and on the host."""
    telegram, short = story.stage.telegram, story.plants.short

    async def reply(question: int) -> None:
        await telegram.say(CHIEF, None, f"no {short}", reply_to=question)

    async def command(question: int) -> None:
        await telegram.say(CHIEF, None, f"/deny {_number(story, question)} no {short}")

    async def host(question: int) -> None:
        await story.program("approvals", "deny", _number(story, question), "--reason", f"no {short}")

    for answer in (reply, command, host):
        await story.asked(call("exec", {"command": "echo > x"}), answer)


def _number(story: Story, question: int) -> str:
    text = next(m.text for m in story.stage.telegram.chat(CHIEF.id) if m.id == question)
    return text.split("#", 1)[1].split()[0]


async def elsewhere(story: Story) -> None:
    """By night, in a terminal, and to a chat directly."""
    stage, text, short = story.stage, story.plants.text, story.plants.short
    steps = (call("exec", {"command": "cat planted.txt"}), call("exec", {"command": f"echo {short} > x"}))
    stage.model.then(*steps, say(f"NIGHT {short} Through."))
    last = story.last()
    await stage.run_job()
    await stage.telegram.shown(CHIEF.id, "Through.", after=last, timeout=15)
    stage.model.then(*steps, say(f"TERMINAL {text} Through."))
    await story.program("prompt", f"hello {short}", "--new")
    stage.model.then(say(f"BY HAND {short}"))
    await story.program("cron", "run", "nightly", "--ephemeral")
    await story.program("send", f"SENT {short}", "--chat", str(CHIEF.id))


async def told(story: Story) -> None:
    """What the command line tells of it afterwards."""
    for verb in (
        ("doctor", "--json"),
        ("config", "show"),
        ("config", "validate"),
        ("approvals", "list"),
        ("approvals", "list", "--csv"),
        ("audit", "export"),
        ("audit", "verify"),
        ("cron", "list"),
        ("trash", "list"),
    ):
        assert await story.verb(*verb)
    listed = json.loads(await story.verb("approvals", "list", "--json"))
    for call_id in {line["tool"]: line["call"] for line in listed}.values():
        assert await story.verb("approvals", "show", call_id)
    for line in (await story.verb("sessions", "list")).splitlines()[1:]:
        assert await story.verb("sessions", "show", line.split()[0])


PARTS = (said, commands, files, misuse, refusals, denied, elsewhere)
"""Every way in."""
