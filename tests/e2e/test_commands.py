"""The other verbs: what they print, where, and with which status."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from mtbot.bootstrap.offline import load_all, work
from mtbot.domain.ids import BotName, ChatId
from mtbot.domain.record import OutboxItem, OutKind
from mtbot.domain.turn import Address, SurfaceName
from mtbot.simulator.script import HANG, call, say
from tests.contract.stage import HERE, MTCLAW, Said, Setting, open_stage


async def run(*arguments: str, home: Path, given: str = "") -> Said:
    """A verb without any configuration but what is in ``home``."""
    process = await asyncio.create_subprocess_exec(
        *MTCLAW,
        *arguments,
        cwd=home,
        env={**os.environ, "HOME": str(home), "PYTHONPATH": str(HERE)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate(given.encode())
    assert process.returncode is not None
    return Said(process.returncode, out.decode(), err.decode())


async def test_the_demo_comes_out_as_promised(home: Path) -> None:
    """The whole bot on this machine, from a refused command to a job at night."""
    said = await run("demo", "--script", home=home)
    assert (said.status, said.err) == (0, "")
    assert said.out.splitlines()[-1] == "6 scenes, 0 not as promised"
    assert [path.name for path in home.iterdir()] == []


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("--help",), 0, "Commands"),
        (("version",), 0, "mtclaw "),
        ((), 2, "Usage"),
        (("nonsense",), 2, "No such command"),
        (("prompt",), 2, "Missing argument"),
        (("prompt", "x", "--session", "a", "--new"), 2, "exclude each other"),
        (("gateway",), 1, "config"),
        (("config", "path"), 0, "(source: default)"),
        (("approvals", "list"), 1, "config"),
        (("policy", "rules"), 0, "files.rm-recursive"),
    ],
)
async def test_status_and_first_words(home: Path, arguments: tuple[str, ...], status: int, says: str) -> None:
    """0 done, 1 any error, 2 misuse; never a traceback."""
    said = await run(*arguments, home=home)
    assert (said.status, says in said.out + said.err) == (status, True), said
    assert "Traceback" not in said.err
    assert list(home.iterdir()) == []


async def test_help_loads_nothing_heavy() -> None:
    """A person who asks for help does not wait for Telegram's models or a database layer."""
    program = (
        "import sys\nfrom mtbot.cli.main import run\nrun(['--help'])\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE, cwd=HERE
    )
    _, err = await process.communicate()
    loaded = set(json.loads(err.decode().replace("'", '"')))
    assert "mtbot" in loaded
    heavy = {
        "aiogram",
        "aiohttp",
        "sqlalchemy",
        "sqlmodel",
        "httpx",
        "pydantic",
        "apscheduler",
        "bashlex",
        "tree_sitter",
    }
    assert loaded & heavy == set()


async def test_policy_check_judges_lines_of_json(home: Path) -> None:
    """One answer a line, in order, with what would run."""
    commands = ["rm -rf /", "ls -l", "echo $(id)"]
    given = "".join(json.dumps({"command": command}) + "\n" for command in commands)
    said = await run("policy", "check", home=home, given=given)
    assert said.status == 0, said
    found = [json.loads(line) for line in said.out.splitlines()]
    assert [answer["verdict"] for answer in found] == ["refuse", "ask", "ask"]
    assert [answer["runs"] for answer in found] == [None, None, None]


async def test_a_prompt_without_a_terminal_asks_nobody(tmp_path: Path) -> None:
    """It never hangs: the call is refused, the model is told, the answer comes, the record says no_approver."""
    steps = [call("exec", {"command": "touch made"}), say("I could not.")]
    async with open_stage(tmp_path, steps, start=False) as stage:
        said = await stage.prompt("make it")
        assert (said.status, said.out) == (0, "I could not.\n")
        assert "⛔ Not run, nobody could be asked: touch made (no rule)" in said.err
        assert not (stage.workspace / "made").exists()
        listed = json.loads((await stage.cli("approvals", "list", "--json")).out)
        assert [(line["command"], line["decision"], line["exit"]) for line in listed] == [
            ("touch made", "expired", "-")
        ]


async def test_a_prompt_with_answers_from_a_pipe(tmp_path: Path) -> None:
    """They answer the questions in order, only y is a yes, and the end of the pipe is nobody."""
    steps = [
        call("exec", {"command": "touch one"}),
        call("exec", {"command": "touch two"}),
        call("exec", {"command": "touch three"}),
        say("Through."),
    ]
    async with open_stage(tmp_path, steps, start=False) as stage:
        said = await stage.prompt("make them", answers="y\nnot this one\n")
        assert said.status == 0, said
        assert (stage.workspace / "one").exists()
        assert not (stage.workspace / "two").exists()
        assert not (stage.workspace / "three").exists()
        assert 'They said: "not this one"' in " ".join(r.last_tool_result for r in stage.model.requests)
        listed = json.loads((await stage.cli("approvals", "list", "--json")).out)
        assert [line["decision"] for line in reversed(listed)] == ["approved", "denied_user", "expired"]


async def test_a_prompt_that_is_interrupted_closes_its_question(tmp_path: Path) -> None:
    """Ctrl-C at a question: 130, and the host cannot approve it for nobody afterwards."""
    async with open_stage(tmp_path, [call("exec", {"command": "touch one"})], start=False) as stage:
        process = await stage.spawn("prompt", "make it", "--answers-from-stdin")
        assert process.stderr is not None
        async with asyncio.timeout(30):
            seen = b""
            while b"Run it? Type y" not in seen:
                seen += await process.stderr.read(4096)
        process.send_signal(2)
        async with asyncio.timeout(15):
            await process.communicate()
        assert process.returncode == 130
        assert (await stage.cli("approvals", "pending")).out == "no open questions\n"
        listed = json.loads((await stage.cli("approvals", "list", "--json")).out)
        assert [line["decision"] for line in listed] == ["expired"]
        assert not (stage.workspace / "one").exists()


async def test_a_prompt_leaves_other_peoples_questions_alone(tmp_path: Path) -> None:
    """Approved while the gateway is down, a chat's command waits for the gateway and not for the next prompt."""
    steps = [call("exec", {"command": "echo ran >> sentinel"}), say("From the terminal."), say("Logged.")]
    async with open_stage(tmp_path, steps) as stage:
        await stage.telegram.say(1001, None, "log it")
        asked = await stage.telegram.shown(1001, "Run this on")
        ident = asked.text.splitlines()[0].partition("#")[2]
        await stage.stop()
        assert (await stage.cli("approvals", "approve", ident)).status == 0
        assert (await stage.prompt("hello")).out == "From the terminal.\n"
        assert not (stage.workspace / "sentinel").exists()
        await stage.start()
        await stage.telegram.shown(1001, "Logged.")
        assert (stage.workspace / "sentinel").read_text() == "ran\n"


async def test_two_prompts_do_not_share_a_session(tmp_path: Path) -> None:
    """The second is told, instead of writing between the lines of the first."""
    async with open_stage(tmp_path, [call("exec", {"command": "touch one"}), say("Through.")], start=False) as stage:
        first = await stage.spawn("prompt", "make it", "--answers-from-stdin")
        assert first.stderr is not None
        async with asyncio.timeout(30):
            seen = b""
            while b"Run it? Type y" not in seen:
                seen += await first.stderr.read(4096)
        second = await stage.prompt("me too")
        assert second.status == 1
        assert "another mtclaw process is at work in the session local" in second.err
        out, _ = await first.communicate(b"y\n")
        assert (first.returncode, out) == (0, b"Through.\n")
        assert (stage.workspace / "one").exists()


async def test_a_port_that_is_taken(tmp_path: Path) -> None:
    """The simulator says which, in one line."""
    async with open_stage(tmp_path, start=False) as stage:
        port = stage.telegram.base_url.rpartition(":")[2]
        said = await run("simulator", "telegram", "--port", port, home=tmp_path)
        assert said.status == 1, said
        assert len(said.err.splitlines()) == 1
        assert "Traceback" not in said.err


async def test_what_only_looks_makes_nothing(tmp_path: Path) -> None:
    """Without a database each says so; none makes one."""
    async with open_stage(tmp_path, start=False) as stage:
        for arguments in (
            ("approvals", "list"),
            ("sessions", "list"),
            ("audit", "verify"),
            ("approvals", "approve", "X"),
        ):
            said = await stage.cli(*arguments)
            assert (said.status, "no database yet" in said.err) == (1, True), (arguments, said)
        listed = await stage.cli("cron", "list")
        assert listed.status == 0
        assert "nightly" in listed.out
        assert list((tmp_path / "state").iterdir()) == []


async def test_a_job_run_by_hand(tmp_path: Path) -> None:
    """Its words on standard output, delivered too if wanted, and refused beside a gateway that owns its session."""
    async with open_stage(tmp_path, [say("All well."), say("All well again."), say("Apart.")], start=False) as stage:
        said = await stage.cli("cron", "run", "nightly")
        assert (said.status, said.out) == (0, "All well.\n")
        assert (await stage.cli("cron", "run", "nightly", "--deliver")).status == 0
        await stage.telegram.shown(1001, "All well again.")
        async with stage.gateway_process():
            refused = await stage.cli("cron", "run", "nightly")
            assert (refused.status, "owns this job's session" in refused.err) == (1, True)
            apart = await stage.cli("cron", "run", "nightly", "--ephemeral")
            assert (apart.status, apart.out) == (0, "Apart.\n")
        unknown = await stage.cli("cron", "run", "daily")
        assert (unknown.status, "there is no job daily" in unknown.err) == (1, True)


CRON_RUN, PROMPT = ("cron", "run", "nightly"), ("prompt", "check")
IN_THE_BACKGROUND = ("sh", "-c", 'trap "" INT; exec "$0" "$@"', *MTCLAW)
"""As a shell without job control starts what ends with an ampersand: with Ctrl-C ignored."""


@pytest.mark.parametrize(
    ("verb", "number", "status", "program"),
    [
        (CRON_RUN, signal.SIGTERM, 143, MTCLAW),
        (CRON_RUN, signal.SIGINT, 130, MTCLAW),
        (CRON_RUN, signal.SIGINT, 130, IN_THE_BACKGROUND),
        (PROMPT, signal.SIGTERM, 143, IN_THE_BACKGROUND),
    ],
    ids=["cron terminated", "cron interrupted", "cron interrupted in the background", "prompt terminated"],
)
async def test_a_turn_that_is_interrupted_is_written_down(
    tmp_path: Path, verb: tuple[str, ...], number: signal.Signals, status: int, program: tuple[str, ...]
) -> None:
    """The status of the signal, a word at most, and neither the run nor the conversation is left half done."""
    async with open_stage(tmp_path, [HANG, say("All well.")], start=False) as stage:
        process = await stage.spawn(*verb, program=program)
        await stage.model.wait_for(lambda model: model.hanging == 1, 30)
        process.send_signal(number)
        async with asyncio.timeout(20):
            _, err = await process.communicate()
        assert process.returncode == status
        assert err.decode().strip() in ("", "terminated", "interrupted")
        last = (await stage.cli("cron", "list")).out.splitlines()[-1]
        assert ("started" in last, "error" in last) == (False, verb == CRON_RUN)
        session = "cron:job:nightly" if verb == CRON_RUN else "cli:local"
        shown = (await stage.cli("sessions", "show", session)).out
        assert "[1] user: " in shown
        assert "[2] assistant: (stopped by the person)" in shown
        assert (await stage.cli(*verb)).out == "All well.\n"


async def test_a_job_run_by_hand_sends_nothing_by_a_bot_that_it_is_not_for(tmp_path: Path) -> None:
    """What waits for another bot is not said by the job's own, whose chats others read."""
    async with open_stage(tmp_path, [say("All well.")], start=False) as stage:
        loaded = load_all(str(stage.config))
        office = await work(loaded)
        elsewhere = Address(SurfaceName.PRIVATE, BotName("other"), ChatId(1001))
        item = OutboxItem(OutKind.NOTICE, elsewhere, loaded.redactor.mask("for another bot"))
        await office.stores.outbox.put(item, now_ms=loaded.clock.now_ms())
        await office.db.close()
        assert (await stage.cli("cron", "run", "nightly", "--deliver")).status == 0
        assert [text for text in stage.bot_texts() if "for another" in text] == []
        assert [text for text in stage.bot_texts() if "All well" in text] != []


async def test_a_conversation_is_listed_shown_and_removed(tmp_path: Path) -> None:
    """And what it ran stays on record."""
    steps = [call("exec", {"command": "touch one"}), say("Made.")]
    async with open_stage(tmp_path, steps, Setting(allow="[{argv: [touch, '*']}]"), start=False) as stage:
        assert (await stage.prompt("make it")).out == "Made.\n"
        assert "cli:local" in (await stage.cli("sessions", "list")).out
        shown = (await stage.cli("sessions", "show", "cli:local")).out
        assert "[1] user: make it" in shown
        assert "calls exec" in shown
        assert "deleted session cli:local (4 messages)" in (await stage.cli("sessions", "rm", "cli:local")).out
        assert (await stage.cli("sessions", "show", "cli:local")).status == 1
        assert len(json.loads((await stage.cli("approvals", "list", "--json")).out)) == 1
        assert (await stage.cli("audit", "verify")).status == 0


async def test_a_message_is_sent_directly(tmp_path: Path) -> None:
    """Without the database; a chat that is not there is one line and a 1."""
    async with open_stage(tmp_path, start=False) as stage:
        said = await stage.cli("send", "**hello**", "--chat", "1001")
        assert (said.status, said.out) == (0, "sent to chat 1001\n")
        assert stage.bot_texts() == ["hello"]
        gone = await stage.cli("send", "hello", "--chat", "4242")
        assert gone.status == 1
        assert len(gone.err.splitlines()) == 1
