"""send_file: what was decided on, masked where it is text, to the chat of the turn and nowhere else."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mtbot.domain.call import Outcome, Status
from mtbot.domain.errors import RecordUnavailable
from mtbot.domain.ports import Masker, Tool
from mtbot.domain.record import Attachment, OutboxItem, OutKind
from mtbot.domain.turn import Address
from mtbot.tools.file_access import FileSettings
from mtbot.tools.send import MAX_NAME, Post, SendFileTool
from tests.unit.tools.builders import REDACTOR, SECRET, Desk, call


@dataclass
class Letterbox:
    """Takes what is sent. ``closed``: there is no chat; ``broken``: nothing can be queued."""

    items: list[OutboxItem] = field(default_factory=list)
    closed: bool = False
    broken: bool = False

    def place(self, address: Address) -> Address | None:
        """The chat of the turn."""
        return None if self.closed else address

    async def put(self, item: OutboxItem) -> None:
        """Keep it."""
        if self.broken:
            raise RecordUnavailable("the disk is full")
        self.items.append(item)


@pytest.fixture
def box() -> Letterbox:
    """An empty one."""
    return Letterbox()


async def send(desk: Desk, box: Letterbox, path: str, most: int = 1000) -> Outcome:
    """Send a file."""

    def tool(settings: FileSettings, masker: Masker) -> Tool:
        return SendFileTool(settings, most, Post(box.place, box.put), masker)

    return await desk.use(tool, path)


async def test_a_text_goes_to_the_chat_of_the_turn_with_its_secrets_masked(
    desk: Desk, box: Letterbox, workspace: Path
) -> None:
    """The model hears how many, the chat gets none."""
    (workspace / "a.txt").write_text(f"ä\nkey {SECRET}\n")
    outcome = await send(desk, box, "a.txt")
    masked = str(REDACTOR.mask(f"ä\nkey {SECRET}\n")).encode()
    assert outcome.text.splitlines() == [
        f"on its way: {workspace}/a.txt ({len(masked)} bytes)",
        "note: 1 secret in it masked",
    ]
    assert box.items == [
        OutboxItem(
            OutKind.NOTICE,
            call("send_file", {}).address,
            text=REDACTOR.mask(f"File: {workspace}/a.txt"),
            silent=True,
            file=Attachment(REDACTOR.mask("a.txt"), masked, readable=True),
        )
    ]
    assert SECRET.encode() not in masked


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\0\xff", b"\xff\xfe\xfd"])
async def test_what_is_no_text_goes_as_it_is(desk: Desk, box: Letterbox, workspace: Path, data: bytes) -> None:
    """Byte for byte."""
    (workspace / "a.png").write_bytes(data)
    assert (await send(desk, box, "a.png")).status is Status.OK
    assert [item.file for item in box.items] == [Attachment(REDACTOR.mask("a.png"), data, readable=False)]


async def test_what_cannot_be_masked_must_hold_no_secret(desk: Desk, box: Letterbox, workspace: Path) -> None:
    """A database with a key in it stays."""
    (workspace / "a.db").write_bytes(b"\0" + SECRET.encode() + b"\xff")
    outcome = await send(desk, box, "a.db")
    assert (outcome.status, box.items) == (Status.REFUSED, [])
    assert "holds what looks like a secret" in outcome.text


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("none", "Not sent: none: no such file or directory."),
        ("empty", "[Invalid] Not sent: the file is empty, and an empty file cannot be sent."),
        ("large", "Not sent: large has 1001 bytes, and at most 1000 are sent."),
        ("two", "Not sent: two has 2 names (hard links), and another one may lie outside the roots."),
        ("d", "Not sent: d is a directory, not a regular file."),
        ("link", "Not sent: link lies outside the directories that file tools may use."),
    ],
)
async def test_what_is_not_sent_and_why(
    desk: Desk, box: Letterbox, workspace: Path, outside: Path, path: str, said: str
) -> None:
    """Nothing is queued."""
    (workspace / "empty").touch()
    (workspace / "large").write_bytes(b"x" * 1001)
    (workspace / "one").write_text("x")
    (workspace / "two").hardlink_to(workspace / "one")
    (workspace / "d").mkdir()
    (workspace / "link").symlink_to(outside / "notes.txt")
    outcome = await send(desk, box, path)
    assert (outcome.text, box.items) == (said, [])
    assert outcome.status is not Status.OK


async def test_to_the_last_byte_it_is_sent(desk: Desk, box: Letterbox, workspace: Path) -> None:
    """The limit is the largest that goes."""
    (workspace / "a").write_bytes(b"x" * 1000)
    assert (await send(desk, box, "a")).status is Status.OK


async def test_without_a_chat_or_a_queue_nothing_is_sent(desk: Desk, box: Letterbox, workspace: Path) -> None:
    """And the model is told which."""
    (workspace / "a").write_text("x")
    box.broken = True
    assert (await send(desk, box, "a")).text == "Not sent: a could not be queued: the disk is full."
    box.closed = True
    assert "has no chat that its results go to" in (await send(desk, box, "a")).text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (f"{SECRET}.txt", f"{REDACTOR.mask(SECRET)}.txt"),
        ("x" * 100 + ".tar.gz", "x" * 43 + "…" + "x" * 9 + ".tar.gz"),
        ("a\u202egpj.exe", "a\\u202egpj.exe"),
    ],
)
async def test_a_name_is_masked_short_and_visible(
    desk: Desk, box: Letterbox, workspace: Path, name: str, shown: str
) -> None:
    """What it ends in is seen."""
    (workspace / name).write_text("x")
    await send(desk, box, name)
    assert [str(item.file.name) for item in box.items if item.file] == [shown]
    assert len(shown) <= MAX_NAME


async def test_half_a_secret_in_a_long_name_is_not_shown(desk: Desk, box: Letterbox, workspace: Path) -> None:
    """It is masked before the name is cut."""
    (workspace / f"{'x' * 30}{SECRET}{'y' * 30}.txt").write_text("x")
    await send(desk, box, f"{'x' * 30}{SECRET}{'y' * 30}.txt")
    (name,) = [str(item.file.name) for item in box.items if item.file]
    assert SECRET[:8] not in name
