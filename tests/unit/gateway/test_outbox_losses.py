"""What the outbox worker does not bring to its chat: kept while nothing can be reached, else named there."""

from collections import deque

import pytest

from mtbot.domain.errors import Ambiguous, ChannelError, ChatGone, StorageError, Unreachable
from mtbot.domain.record import Attachment, OutboxItem, OutKind
from mtbot.gateway import outbox as module
from tests.unit.approvals.office import Office
from tests.unit.approvals.samples import PRIVATE, safe
from tests.unit.gateway.test_outbox import Chat, note, put, serving


async def test_nothing_is_lost_while_the_server_cannot_be_reached(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An outage of an hour delays what was said; only one of a day ends it."""
    monkeypatch.setattr(module, "PATIENT_ATTEMPTS", module.MAX_ATTEMPTS + 5)
    for tries, arrives in ((module.PATIENT_ATTEMPTS, ["a", "b"]), (module.PATIENT_ATTEMPTS + 1, ["b", module.LOST])):
        chat = Chat(deque(Unreachable("no") for _ in range(tries)))
        await put(office, note("a"), note("b"))
        for _ in range(tries + 1):
            async with serving(office, chat):
                pass
            office.clock.now += 60_000
        assert chat.texts() == arrives


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (ChannelError("Request Entity Too Large", status=413), ["I could not send the file `report´s.txt`."]),
        (Ambiguous("broke"), ["I can't tell whether the file `report´s.txt` reached you."]),
        (OSError(), ["I could not send the file `report´s.txt`."]),
        (ChatGone("blocked"), []),
    ],
)
async def test_a_file_that_is_not_sent_is_missed_in_words(office: Office, fault: Exception, words: list[str]) -> None:
    """The model has said already that it is there."""
    chat = Chat(deque([fault]))
    file = Attachment(safe("report`s.txt"), b"x", readable=False)
    await put(office, OutboxItem(OutKind.NOTICE, PRIVATE, text=safe("report"), silent=True, file=file))
    async with serving(office, chat):
        pass
    assert chat.texts() == words


async def test_a_notice_that_is_refused_is_not_talked_about(office: Office) -> None:
    """Words about words that cannot be sent would never end."""
    chat = Chat(deque([ChannelError("bad", status=400)]))
    await put(office, OutboxItem(OutKind.NOTICE, PRIVATE, text=safe("a")))
    async with serving(office, chat):
        pass
    assert chat.texts() == []


async def test_words_about_a_loss_that_cannot_be_kept_hold_up_nobody(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database may be full just then."""
    chat = Chat(deque([ChannelError("bad", status=400)]))
    await put(office, note("a"), note("b"))

    async def full(*_items: OutboxItem, now_ms: int) -> None:
        raise StorageError(f"full at {now_ms}")

    monkeypatch.setattr(office.stores.outbox, "put", full)
    async with serving(office, chat):
        pass
    assert chat.texts() == ["b"]
