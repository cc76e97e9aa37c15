"""A command is executed exactly as requested, and its end says exactly what became of it."""

import asyncio
import os
import resource
from pathlib import Path

import pytest

from mtbot.processes.ending import EndStatus, ProcessEnd
from mtbot.processes.output import Output
from mtbot.processes.request import BadRequest, Limits, Part, Profile, SpawnRequest
from mtbot.processes.runner import Runner
from mtbot.processes.spawning import start_spawner

from .scenes import PATH, Heard, eventually, program, shell, spawner_children

NO_PARTS = Profile()
WITH_A_PART = Profile("strict", (Part("no_new_privs"),))


def said(end: ProcessEnd) -> str:
    """The whole output of a command that must have succeeded."""
    assert (end.status, end.exit_code, end.message) == (EndStatus.EXITED, 0, "")
    return (end.output.head + end.output.tail).decode()


@pytest.mark.parametrize("profile", [NO_PARTS, WITH_A_PART])
async def test_the_command_gets_the_environment_of_the_request_and_nothing_else(
    runner: Runner, profile: Profile
) -> None:
    """Whatever the gateway or the spawner has in its environment, the command sees only what was decided."""
    env = {"ONLY": "this", "PATH": "/usr/bin:/bin", "BYTES": "\udcff"}
    end = await runner.run(SpawnRequest("c", ("env", "-0"), env, "/", 5, 4096, profile=profile))
    assert sorted((end.output.head + end.output.tail).split(b"\0")) == [
        b"",
        b"BYTES=\xff",
        b"ONLY=this",
        b"PATH=/usr/bin:/bin",
    ]


@pytest.mark.parametrize("profile", [NO_PARTS, WITH_A_PART])
async def test_the_command_holds_no_descriptor_but_its_three(runner: Runner, profile: Profile) -> None:
    """Neither the line to the gateway nor anything of another command can be reached from within one."""
    source = "import os; print([fd for fd in range(256) if os.path.exists(f'/proc/self/fd/{fd}')])"
    for _ in range(2):
        request = program(source)
        for stdin in (None, b"given"):
            end = await runner.run(SpawnRequest("c", request.argv, PATH, "/", 5, 4096, profile=profile, stdin=stdin))
            assert said(end) == "[0, 1, 2]\n"


@pytest.mark.parametrize("profile", [NO_PARTS, WITH_A_PART])
async def test_the_command_is_alone_in_a_session_without_terminal(runner: Runner, profile: Profile) -> None:
    """It leads a session and a group, standard input ends at once, and there is no terminal to ask for a password."""
    source = (
        "import os, sys\n"
        "print(os.getsid(0) == os.getpgid(0) == os.getpid(), repr(sys.stdin.read()))\n"
        "try: os.open('/dev/tty', os.O_RDWR)\n"
        "except OSError as no: print(no.strerror)\n"
    )
    end = await runner.run(SpawnRequest("c", program(source).argv, PATH, "/", 5, 4096, profile=profile))
    assert said(end) == "True ''\nNo such device or address\n"


@pytest.mark.parametrize("profile", [NO_PARTS, WITH_A_PART])
async def test_the_command_treats_signals_like_a_fresh_process(runner: Runner, profile: Profile) -> None:
    """Nothing is ignored or blocked that the spawner or Python ignores: `yes | head` must end."""
    argv = ("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")
    end = await runner.run(SpawnRequest("c", argv, PATH, "/", 5, 4096, profile=profile))
    masks = {line.split(":")[0]: int(line.split(":")[1], 16) for line in said(end).splitlines()}
    libc_internal = (
        0b11 << 31
    )  # posix_spawn leaves the C library's own two signals ignored; its start-up takes them back
    assert masks == {"SigBlk": 0, "SigIgn": masks["SigIgn"] & libc_internal}


async def test_arguments_arrive_as_they_are(runner: Runner) -> None:
    """No shell looks at argv: quotes, blanks, newlines and bytes that are no UTF-8 reach the program unchanged."""
    words = ("a b", "$HOME", "'\"`\n", "é\udcff", "")
    end = await runner.run(SpawnRequest("c", ("printf", "%s|", *words), PATH, "/", 5, 4096))
    assert end.output.head == b"a b|$HOME|'\"`\n|\xc3\xa9\xff||"


async def test_arguments_as_long_as_the_kernel_takes_arrive(runner: Runner) -> None:
    """A request larger than any socket buffer is handed over whole."""
    words = tuple("x" * 100_000 for _ in range(12))
    end = await runner.run(SpawnRequest("c", ("bash", "-c", "echo ${#1} $#", "bash", *words), PATH, "/", 5, 4096))
    assert said(end) == "100000 12\n"


async def test_the_command_runs_in_its_folder(runner: Runner, tmp_path: Path) -> None:
    """The working directory is the request's, and the next command is not touched by it."""
    end = await runner.run(SpawnRequest("c", ("pwd",), PATH, str(tmp_path), 5, 4096))
    assert said(end) == f"{tmp_path}\n"
    assert said(await runner.run(shell("pwd"))) == "/\n"


async def test_standard_input_can_be_given(runner: Runner) -> None:
    """Bytes for the command are there from its start and end where they end, however many they are."""
    data = os.urandom(3_000_000)
    end = await runner.run(SpawnRequest("c", ("wc", "-c"), PATH, "/", 5, 4096, stdin=data))
    assert said(end) == "3000000\n"


@pytest.mark.parametrize(
    ("script", "status", "code", "number"),
    [
        ("true", EndStatus.EXITED, 0, None),
        ("exit 3", EndStatus.EXITED, 3, None),
        ("exit 255", EndStatus.EXITED, 255, None),
        ("kill -9 $$", EndStatus.SIGNALED, None, 9),
        ("kill -SEGV $$", EndStatus.SIGNALED, None, 11),
    ],
)
async def test_the_end_tells_an_exit_from_a_death(
    runner: Runner, script: str, status: EndStatus, code: int | None, number: int | None
) -> None:
    """An exit has a code and no signal, a death by signal has a signal and no code."""
    end = await runner.run(shell(script))
    assert (end.status, end.exit_code, end.signal, end.survivors) == (status, code, number, ())


async def test_what_cannot_start_says_why_in_one_line(runner: Runner, tmp_path: Path) -> None:
    """Each cause that a person can mend is named; nothing raises."""
    broken, data, folder = tmp_path / "broken", tmp_path / "data", tmp_path / "folder"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    data.write_bytes(b"\0\1\2")
    folder.mkdir()
    plain = tmp_path / "plain"
    plain.write_bytes(b"\0\1\2")
    plain.chmod(0o755)
    cases = {
        ("true", "/no/where"): "working directory does not exist: /no/where",
        ("true", str(data)): f"working directory is not a directory: {data}",
        ("no-such-program", "/"): "program not found: no-such-program",
        ("/no/such/program", "/"): "program not found: /no/such/program",
        (str(data), "/"): f"program may not be executed: {data}",
        (str(folder), "/"): f"program may not be executed: {folder}",
        (str(broken), "/"): f"the interpreter that {broken} names does not exist",
        (str(plain), "/"): f"not a program that this system can execute: {plain}",
    }
    for profile in (NO_PARTS, WITH_A_PART):
        found = {}
        for name, cwd in cases:
            end = await runner.run(SpawnRequest("c", (name,), PATH, cwd, 5, 4096, profile=profile))
            assert (end.status, end.exit_code, end.output) == (EndStatus.FAILED_TO_START, None, Output())
            found[name, cwd] = end.message
        assert found == cases


@pytest.mark.parametrize("profile", [NO_PARTS, WITH_A_PART])
async def test_a_name_is_looked_up_in_the_path_of_the_request(runner: Runner, profile: Profile, tmp_path: Path) -> None:
    """What may not be executed is passed over, as a shell does; what is broken ends the search, as exec does."""
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    (first / "tool").write_text("#!/bin/sh\necho first\n")
    (second / "tool").write_text("#!/bin/sh\necho second\n")
    (second / "tool").chmod(0o755)
    request = SpawnRequest("c", ("tool",), {"PATH": f"/no/where:{first}:{second}"}, "/", 5, 4096, profile=profile)
    assert said(await runner.run(request)) == "second\n"
    (first / "tool").write_bytes(b"\0\1\2")
    (first / "tool").chmod(0o755)
    end = await runner.run(request)
    assert (end.status, end.message) == (
        EndStatus.FAILED_TO_START,
        "not a program that this system can execute: tool",
    )


async def test_too_long_a_command_line_is_refused_by_name(runner: Runner) -> None:
    """What the kernel takes for too long is said to be too long."""
    end = await runner.run(SpawnRequest("c", ("true", "x" * 200_000), PATH, "/", 5, 4096))
    assert (end.status, end.message) == (
        EndStatus.FAILED_TO_START,
        "arguments and environment are too long for the kernel",
    )


async def test_an_unknown_containment_part_prevents_the_start(runner: Runner, tmp_path: Path) -> None:
    """Containment that this spawner does not know is never left out quietly."""
    touched = tmp_path / "touched"
    profile = Profile("strict", (Part("no_new_privs"), Part("moat")))
    end = await runner.run(SpawnRequest("c", ("touch", str(touched)), PATH, "/", 5, 4096, profile=profile))
    assert (end.status, end.message) == (EndStatus.FAILED_TO_START, "containment part moat is not known here")
    assert not touched.exists()


async def test_a_part_holds_for_the_command(runner: Runner) -> None:
    """no_new_privs is in force where the profile names it, and not on the host profile."""
    argv = ("grep", "NoNewPrivs", "/proc/self/status")
    for profile, flag in ((NO_PARTS, 0), (WITH_A_PART, 1)):
        end = await runner.run(SpawnRequest("c", argv, PATH, "/", 5, 4096, profile=profile))
        assert said(end) == f"NoNewPrivs:\t{flag}\n"


async def test_limits_hold_for_the_command_and_not_for_the_next(runner: Runner) -> None:
    """Each limit reaches the command, soft and hard; a core is never dumped unless it is asked for."""
    limits = Limits(cpu_seconds=7, memory_bytes=2**31, file_bytes=4096, open_files=33, core_bytes=0)
    script = "ulimit -St; ulimit -Ht; ulimit -Hv; ulimit -Hf; ulimit -Hn; ulimit -Sc"
    request = shell(script)
    end = await runner.run(SpawnRequest("c", request.argv, PATH, "/", 5, 4096, limits=limits))
    assert said(end).split() == ["7", "7", str(2**21), "4", "33", "0"]
    assert said(await runner.run(shell("ulimit -St; ulimit -Sc"))).split() == ["unlimited", "0"]


async def test_output_of_both_streams_comes_in_order(runner: Runner) -> None:
    """Standard output and error are one stream, as a terminal would show them."""
    end = await runner.run(shell("echo a; echo b >&2; echo c"))
    assert said(end) == "a\nb\nc\n"


@pytest.mark.parametrize(("keep", "head", "tail"), [(10, b"01234", b"FGHIJ"), (1, b"0", b""), (3, b"01", b"J")])
async def test_head_and_tail_are_kept_and_the_middle_is_counted(
    runner: Runner, keep: int, head: bytes, tail: bytes
) -> None:
    """The limit is exact, and kept plus counted is what was written."""
    end = await runner.run(shell("printf 0123456789; printf abcdefghij; printf ABCDEFGHIJ", keep=keep))
    assert end.output == Output(head, tail, 30 - keep)
    assert end.dropped == 30 - keep


async def test_output_at_the_limit_is_whole(runner: Runner) -> None:
    """A byte less than too much is nothing too much."""
    end = await runner.run(shell("printf 0123456789", keep=10))
    assert end.output == Output(b"01234", b"56789", 0)


async def test_running_output_can_be_followed(runner: Runner) -> None:
    """Lines arrive while the command runs, in order and once, and the tail shows them as harmless text."""
    heard = Heard()
    request = shell("printf 'one\\n\\033[1mtwo\\n'; read -t 0 x; until [ -e /proc/$PPID/nothing ]; do sleep 0.01; done")
    running = asyncio.ensure_future(runner.run(request, heard))
    assert await heard.line(2) == ["one", "\x1b[1mtwo"]
    assert runner.tail("c") == "one\ntwo\n"
    assert await runner.stop("c")
    end = await running
    assert (end.status, end.output.head) == (EndStatus.STOPPED, heard.data)
    assert runner.tail("c") == ""


async def test_the_tail_of_much_output_begins_with_a_line(runner: Runner) -> None:
    """Half of one is half of a secret; of a lot, the last 64 KiB are kept."""
    heard = Heard()
    write = "i=0; while [ $i -lt 9000 ]; do echo line $i; i=$((i+1)); done"
    running = asyncio.ensure_future(
        runner.run(shell(f"{write}; until [ -e /proc/$PPID/nothing ]; do sleep 0.01; done"), heard)
    )
    await heard.text(b"line 8999\n")
    lines = runner.tail("c").splitlines()
    assert (lines[-1], 1 < len(lines) < 9000) == ("line 8999", True)
    assert lines == [f"line {number}" for number in range(9000 - len(lines), 9000)]
    assert await runner.stop("c")
    await running


async def test_all_output_of_a_quick_command_reaches_the_follower(runner: Runner) -> None:
    """What a command writes just before its end is followed, too."""
    heard = Heard()
    await runner.run(shell("echo early; echo late"), heard)
    assert await heard.line(2) == ["early", "late"]


async def test_a_follower_that_raises_does_not_lose_the_end(runner: Runner) -> None:
    """A fault in what watches a command is the watcher's fault and reaches the loop's handler, not the command."""
    faults: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context.get("exception")))

    def refuse(data: bytes) -> None:
        raise ValueError(data.decode())

    assert said(await runner.run(shell("echo x"), refuse)) == "x\n"
    assert [str(fault) for fault in faults] == ["x\n"]


async def test_an_id_names_one_running_command(runner: Runner) -> None:
    """Two commands under one id could not be told apart when one is to be stopped."""
    running = asyncio.ensure_future(runner.run(shell("sleep 60")))
    await asyncio.sleep(0)
    with pytest.raises(ValueError, match="already running"):
        await runner.run(shell("true"))
    assert await runner.stop("c")
    assert (await running).status is EndStatus.STOPPED
    assert said(await runner.run(shell("echo again"))) == "again\n"


async def test_commands_run_side_by_side(runner: Runner) -> None:
    """Twenty commands that wait for each other's start end together, so none waits for another's end."""
    script = "echo $$ >>{0}; until [ $(wc -l <{0}) = 20 ]; do sleep 0.01; done; echo met"
    meeting = f"/tmp/mtclaw-meeting-{os.getpid()}"
    try:
        ends = await asyncio.gather(*(runner.run(shell(script.format(meeting), name=f"c{n}")) for n in range(20)))
    finally:
        Path(meeting).unlink()
    assert [said(end) for end in ends] == ["met\n"] * 20


async def test_at_most_two_supervisors_wait(runner: Runner) -> None:
    """However many commands ran side by side, their supervisors end with them, but for two that may have another."""
    await asyncio.gather(*(runner.run(shell("true", name=f"c{n}")) for n in range(12)))
    assert await eventually(lambda: len(spawner_children(runner)) <= 2)


async def supervisor_of(runner: Runner, request: SpawnRequest) -> int:
    """Run a script that prints its parent first, and return that."""
    return int((await runner.run(request)).output.head.split()[0])


async def test_a_supervisor_may_have_another_command_after_a_clean_end(runner: Runner) -> None:
    """What ended of its own accord and left nothing costs no new fork, whatever its exit status."""
    used = {await supervisor_of(runner, shell(f"echo $PPID; exit {n}")) for n in range(10)}
    assert len(used) <= 2


@pytest.mark.parametrize(
    "script",
    [
        "echo $PPID; sleep 600",
        "echo $PPID; prlimit --pid $PPID --nofile=99",
        "echo $PPID; renice -n $(($(ps -o ni= -p $PPID) + 1)) -p $PPID >/dev/null",
        "echo $PPID; chrt -i -p 0 $PPID",
    ],
)
async def test_a_supervisor_that_has_been_touched_has_no_other_command(runner: Runner, script: str) -> None:
    """After a time-out, or with limits, priority or scheduling changed from below, it is not used again."""
    touched = await supervisor_of(runner, shell(script, timeout=0.3))
    used = {await supervisor_of(runner, shell("echo $PPID", name=f"c{n}")) for n in range(4)}
    assert touched not in used


async def test_a_supervisor_serves_a_limited_number_of_commands() -> None:
    """Nothing that might pile up in one can pile up for ever, and descriptors do not pile up at all."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # far fewer than commands, above those that this process happens to hold
    few = max(int(one.name) for one in Path("/proc/self/fd").iterdir()) + 40
    assert few < 300
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, hard))
    try:
        runner = Runner(start_spawner())
        await runner.ready()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    used: dict[int, int] = {}
    for _ in range(410):
        supervisor = await supervisor_of(runner, shell("echo $PPID"))
        used[supervisor] = used.get(supervisor, 0) + 1
    assert max(used.values()) == 200
    await runner.close()


async def test_the_spawner_reports_that_its_memory_is_hidden(runner: Runner) -> None:
    """The spawner cannot be traced or dumped by a command of the same user."""
    assert await runner.ready()


async def test_a_closed_runner_starts_nothing() -> None:
    """After close a request ends at once and says why."""
    runner = Runner(start_spawner())
    await runner.close()
    end = await runner.run(shell("true"))
    assert end == ProcessEnd(EndStatus.FAILED_TO_START, message="mtclaw is shutting down")


@pytest.mark.parametrize(
    "change",
    [
        {"argv": ()},
        {"argv": ("",)},
        {"argv": ("a\0b",)},
        {"env": {"A=B": "x"}},
        {"env": {"": "x"}},
        {"env": {"A": "x\0"}},
        {"cwd": "relative"},
        {"timeout_seconds": 0.0},
        {"timeout_seconds": -1.0},
        {"timeout_seconds": float("nan")},
        {"timeout_seconds": float("inf")},
        {"max_output_bytes": 0},
        {"max_output_bytes": 2**40},
    ],
)
def test_a_request_that_cannot_mean_anything_is_refused(change: dict[str, object]) -> None:
    """A zero time-out would kill every command and a zero limit hide every output: both are errors, not settings."""
    fields: dict[str, object] = {
        "id": "c",
        "argv": ("true",),
        "env": {},
        "cwd": "/",
        "timeout_seconds": 1.0,
        "max_output_bytes": 1,
    }
    with pytest.raises(BadRequest):
        SpawnRequest(**(fields | change))  # type: ignore[arg-type] # the table holds one wrong value at a time
