"""read_file and write_file: what the model gets to read, and what it cannot touch."""

import os
from pathlib import Path

import pytest

from mtbot.domain.call import Basis, Outcome, Risk, Status, ToolDefault
from mtbot.tools.files import READ_SPEC, WRITE_SPEC, FileSettings, ReadFileTool, WriteFileTool
from mtbot.tools.listing import ListDirTool
from tests.unit.tools.builders import MASK, REDACTOR, SECRET, Desk, call, nothing, permit, read_only, state_of


def _said(outcome: Outcome) -> tuple[Status, str]:
    return outcome.status, str(outcome.text)


def test_the_specs_say_what_policy_needs() -> None:
    """Both tools name their path and what they do there; policy decides about the rest."""
    assert [
        (spec.risk, spec.default, [(arg.name, arg.access.value) for arg in spec.path_args])
        for spec in (READ_SPEC, WRITE_SPEC)
    ] == [
        (Risk.READ, ToolDefault.ALLOW, [("path", "read")]),
        (Risk.WRITE_LOCAL, ToolDefault.ALLOW, [("path", "write")]),
    ]


async def test_a_file_is_read_with_its_size(desk: Desk, workspace: Path) -> None:
    """The text stands exactly as it is in the file."""
    (workspace / "a.txt").write_text("one\n  two\n")
    outcome = await desk.use(ReadFileTool, "a.txt")
    assert _said(outcome) == (Status.OK, f"path: {workspace}/a.txt\nsize: 10 bytes\ncontent:\none\n  two\n")
    assert outcome.tainted is False


async def test_an_empty_file_is_said_to_be_empty(desk: Desk, workspace: Path) -> None:
    """No text must not look like a failed read."""
    (workspace / "a.txt").touch()
    assert "content: (the file is empty)" in (await desk.use(ReadFileTool, "a.txt")).text


async def test_a_part_says_where_it_ends_and_how_to_go_on(desk: Desk, workspace: Path) -> None:
    """Offsets count bytes, and the next one is named."""
    (workspace / "a.txt").write_text("0123456789")
    outcome = await desk.use(ReadFileTool, "a.txt", offset=2, limit=3)
    assert outcome.text.splitlines()[1:] == [
        "size: 10 bytes",
        "shown: bytes 2 to 5",
        "content:",
        "234",
        "[truncated: 5 bytes follow; go on with offset 5]",
    ]


async def test_a_read_is_never_larger_than_configured(desk: Desk, workspace: Path) -> None:
    """A limit above the configured one is brought down to it, and a sparse giant costs nothing."""
    with (workspace / "big").open("wb") as file:
        file.write(b"x" * 100_000)
        file.truncate(1 << 40)
    outcome = await desk.use(ReadFileTool, "big", limit=1 << 50)
    assert "shown: bytes 0 to 65536" in outcome.text
    assert outcome.text.count("x") == 65536


async def test_an_offset_past_the_end_is_said(desk: Desk, workspace: Path) -> None:
    """It must not look like an empty file."""
    (workspace / "a.txt").write_text("12345")
    assert _said(await desk.use(ReadFileTool, "a.txt", offset=5)) == (
        Status.REFUSED,
        "[Invalid] Not read: the offset 5 is past the end of the file (size 5).",
    )


async def test_what_is_no_text_is_not_read(desk: Desk, workspace: Path) -> None:
    """A NUL near the beginning says that the file is for programs."""
    (workspace / "a.bin").write_bytes(b"ELF\0" + b"x" * 100)
    assert _said(await desk.use(ReadFileTool, "a.bin")) == (
        Status.REFUSED,
        "Not read: a.bin is not text (size 104 bytes).",
    )


async def test_secrets_are_masked_on_the_way_out(desk: Desk, workspace: Path) -> None:
    """The value is not in the result, and the model is told that something is."""
    (workspace / "a.conf").write_text(f"key: {SECRET}\n")
    outcome = await desk.use(ReadFileTool, "a.conf")
    assert SECRET not in outcome.text
    assert f"key: {MASK}" in outcome.text
    assert "secrets are masked" in outcome.text


async def test_a_mask_is_never_written_back(desk: Desk, workspace: Path) -> None:
    """What was read with a mask would overwrite the secret by it."""
    (workspace / "a.conf").write_text(f"key: {SECRET}\n")
    await desk.use(ReadFileTool, "a.conf")
    outcome = await desk.use(WriteFileTool, "a.conf", content=f"key: {MASK}\nport: 80\n")
    assert outcome.status is Status.REFUSED
    assert outcome.text.startswith("[Invalid] Not written: the content holds a mask")
    assert (workspace / "a.conf").read_text() == f"key: {SECRET}\n"


async def test_asterisks_that_a_person_typed_are_written(desk: Desk, workspace: Path) -> None:
    """Only masks of this process are refused."""
    assert (await desk.use(WriteFileTool, "a.txt", content="password: ********\n")).status is Status.OK
    assert (workspace / "a.txt").read_text() == "password: ********\n"


async def test_a_file_that_was_read_can_be_overwritten_again_and_again(desk: Desk, workspace: Path) -> None:
    """The turn's own write is known to it."""
    (workspace / "a.txt").write_text("one")
    await desk.use(ReadFileTool, "a.txt")
    first = await desk.use(WriteFileTool, "a.txt", content="two")
    assert _said(first) == (Status.OK, f"written: {workspace}/a.txt\nbytes given: 3\nsize now: 3 bytes")
    assert (await desk.use(WriteFileTool, "a.txt", content="three")).status is Status.OK
    assert (workspace / "a.txt").read_text() == "three"


async def test_another_turn_has_to_read_for_itself(desk: Desk, workspace: Path) -> None:
    """What an earlier turn saw may be long gone from the model's context."""
    (workspace / "a.txt").write_text("one")
    await desk.use(ReadFileTool, "a.txt", turn="t1")
    outcome = await desk.use(WriteFileTool, "a.txt", turn="t2", content="two")
    assert _said(outcome) == (
        Status.REFUSED,
        "Not written: a.txt exists and was not read in this turn; read it first, then write.",
    )
    assert (workspace / "a.txt").read_text() == "one"


async def test_a_file_that_somebody_changed_is_not_overwritten(desk: Desk, workspace: Path) -> None:
    """A person's edit between read and write is never lost."""
    (workspace / "a.txt").write_text("one")
    await desk.use(ReadFileTool, "a.txt")
    (workspace / "a.txt").write_text("by hand")
    assert (await desk.use(WriteFileTool, "a.txt", content="two")).status is Status.REFUSED
    assert (workspace / "a.txt").read_text() == "by hand"


async def test_modes_append_and_create_new(desk: Desk, workspace: Path) -> None:
    """Both need no read; create_new never touches what is there."""
    assert "created: " in (await desk.use(WriteFileTool, "new/a.txt", content="one\n", mode="create_new")).text
    assert "written: " in (await desk.use(WriteFileTool, "new/a.txt", content="two\n", mode="append")).text
    assert (await desk.use(WriteFileTool, "new/a.txt", content="x", mode="create_new")).status is Status.REFUSED
    assert (workspace / "new/a.txt").read_text() == "one\ntwo\n"


async def test_what_is_too_long_or_no_text_is_not_written(desk: Desk, workspace: Path) -> None:
    """The limit counts bytes; a lone surrogate has none."""
    assert _said(await desk.use(WriteFileTool, "a", content="é" * 513)) == (
        Status.REFUSED,
        "[Invalid] Not written: the content has 1026 bytes and one write may hold 1024.",
    )
    assert (await desk.use(WriteFileTool, "a", content="x\ud800")).text.startswith("[Invalid] Not written")
    assert list(workspace.iterdir()) == []


ESCAPES = [
    "../outside/notes.txt",
    "~/notes.txt",
    "link",
    "dir/notes.txt",
    "dangling",
    "pipe",
    "/proc/self/root/etc/passwd",
    "/proc/self/environ",
    "/dev/zero",
    "../ws-sibling/notes.txt",
    "../ws./notes.txt",
    "../ws /notes.txt",
    "../WS/notes.txt",
    "../w\u0073\u0307/notes.txt",
    "two",
    ".",
]


@pytest.mark.parametrize("path", ESCAPES)
async def test_nothing_outside_the_root_can_be_reached(desk: Desk, workspace: Path, outside: Path, path: str) -> None:
    """Neither reading nor writing gets out, by whatever name, and what lies there is as before."""
    for sibling in ("ws-sibling", "ws.", "ws ", "WS", "ws\u0307"):
        place = workspace.with_name(sibling)
        place.mkdir()
        (place / "notes.txt").write_text("not yours\n")
    (workspace / "link").symlink_to(outside / "notes.txt")
    (workspace / "dir").symlink_to(outside)
    (workspace / "dangling").symlink_to(outside / "new.txt")
    os.link(outside / "notes.txt", workspace / "two")
    os.mkfifo(workspace / "pipe")
    before = state_of(workspace.parent)
    read = await desk.use(ReadFileTool, path)
    assert read.status is Status.REFUSED
    assert "not yours" not in read.text
    for mode in ("overwrite", "append", "create_new"):
        assert (await desk.use(WriteFileTool, path, content="x", mode=mode)).status is Status.REFUSED
    assert state_of(workspace.parent) == before


async def test_links_inside_are_followed(desk: Desk, workspace: Path) -> None:
    """A link that stays within the root is a name like any other."""
    (workspace / "real").mkdir()
    (workspace / "real/a.txt").write_text("one")
    (workspace / "link").symlink_to("real")
    assert "one" in (await desk.use(ReadFileTool, "link/a.txt")).text
    assert (await desk.use(WriteFileTool, "link/a.txt", content="two")).status is Status.OK
    assert (workspace / "real/a.txt").read_text() == "two"
    assert (workspace / "link").is_symlink()


async def test_a_read_only_root_is_not_written_to_even_inside_another(workspace: Path) -> None:
    """The longest root decides."""
    inner = workspace / "inner"
    inner.mkdir()
    desk = Desk(workspace, read_only(inner))
    outcome = await desk.use(WriteFileTool, "inner/a.txt", content="x")
    assert _said(outcome) == (
        Status.REFUSED,
        f"Not written: inner/a.txt lies in {inner}, which file tools may only read.",
    )
    assert list(inner.iterdir()) == []
    (inner / "a.txt").write_text("readable")
    assert "readable" in (await desk.use(ReadFileTool, "inner/a.txt")).text


async def test_what_a_person_approved_is_opened_wherever_it_lies(desk: Desk, outside: Path) -> None:
    """A ruling is about one path, and roots are for what nobody was asked."""
    path = str(outside / "notes.txt")
    assert (await desk.use(ReadFileTool, path)).status is Status.REFUSED
    assert "not yours" in (await desk.use(ReadFileTool, path, basis=Basis.RULING)).text


async def test_only_the_decided_path_is_opened(desk: Desk, workspace: Path, outside: Path) -> None:
    """A permit for one file opens no other, whatever the argument says or has become since."""
    (workspace / "a.txt").write_text("a")
    (workspace / "b.txt").write_text("b")
    tool = ReadFileTool(desk.settings, REDACTOR)
    wanted = call("read_file", {"path": "b.txt"}, workspace)
    assert "content:\na" in (await tool.perform(wanted, permit(f"{workspace}/a.txt"), nothing)).text
    for targets in ((), (f"{workspace}/a.txt", f"{workspace}/b.txt"), (f"{workspace}/./a.txt",), ("a.txt",)):
        assert (await tool.perform(wanted, permit(*targets), nothing)).status is Status.REFUSED
    (workspace / "a.txt").unlink()
    (workspace / "a.txt").symlink_to("b.txt")
    assert _said(await tool.perform(wanted, permit(f"{workspace}/a.txt"), nothing)) == (
        Status.REFUSED,
        "Not read: b.txt does not lead where it led when this was decided.",
    )


async def test_errors_of_the_system_are_one_line(desk: Desk) -> None:
    """A missing file is a result for the model."""
    assert _said(await desk.use(ReadFileTool, "none.txt")) == (
        Status.FAILED,
        "Not read: none.txt: no such file or directory.",
    )


async def test_a_secret_in_a_path_is_masked(desk: Desk) -> None:
    """Errors pass the redactor like everything else."""
    assert SECRET not in (await desk.use(ReadFileTool, f"{SECRET}.txt")).text


async def test_a_file_system_that_does_not_answer_is_a_result(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The turn goes on without the thread that hangs."""

    async def hanging(_work: object, seconds: float) -> object:
        assert seconds == 3.0
        raise TimeoutError

    for module in ("files", "listing"):
        monkeypatch.setattr(f"mtbot.tools.{module}.off_loop", hanging)
    desk = Desk(workspace)
    desk.settings = FileSettings(desk.settings.roots, timeout=3.0)
    for tool, arguments in ((ReadFileTool, {}), (WriteFileTool, {"content": "x"}), (ListDirTool, {})):
        outcome = await desk.use(tool, "a", **arguments)  # type: ignore[arg-type]  # the three are built alike
        assert outcome.status is Status.TIMED_OUT
        assert "does not answer" in outcome.text
