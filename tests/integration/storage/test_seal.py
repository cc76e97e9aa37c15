"""Boxes: they open only with their key, as their row, and unchanged."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtbot.bootstrap.stores import stores_of
from mtbot.domain.errors import SealError
from mtbot.domain.ids import BotName
from mtbot.storage import files
from mtbot.storage.engine import Database
from mtbot.storage.place import sqlite_place
from mtbot.storage.seal import Seal, create_key, read_key
from tests.integration.storage.samples import GROUP, NOW, approval, asked, question, reply, safe, turn_state, update

SEAL = Seal(bytes(range(32)))


@given(st.text(alphabet=st.characters(codec=None)))
def test_a_text_comes_out_as_it_went_in(text: str) -> None:
    """Whatever it holds, also what UTF-8 cannot."""
    assert SEAL.open(SEAL.close(text, "inbox", 5), "inbox", 5) == text


def test_a_box_of_an_earlier_version_opens() -> None:
    """Whatever library closed it: ChaCha20-Poly1305 of RFC 8439, behind a version and a nonce."""
    box = "01e21bdec34f15c634c685ab12d625ca39881fad7a6eff2e7b9cf2ed2b044fea5004594c6f5bb68911ccf397"
    assert SEAL.open(bytes.fromhex(box), "inbox", "ops\n5\nabc") == "hunter2 \u2603 \ud83d"


def test_the_same_text_never_looks_the_same() -> None:
    """Two rows with one content cannot be told to have it."""
    assert SEAL.close("x", "inbox", 5) != SEAL.close("x", "inbox", 5)


@pytest.mark.parametrize(("table", "row"), [("outbox", 5), ("inbox", 6), ("inbox", "5\n")])
def test_a_box_opens_only_as_its_row(table: str, row: object) -> None:
    """A box that was moved is found."""
    with pytest.raises(SealError, match=f"of {table} does not open with this key"):
        SEAL.open(SEAL.close("x", "inbox", 5), table, row)


def test_a_box_opens_only_with_its_key() -> None:
    """Another key is not enough."""
    with pytest.raises(SealError):
        Seal(bytes(32)).open(SEAL.close("x", "inbox", 5), "inbox", 5)


def test_a_changed_box_does_not_open() -> None:
    """Not one byte may change, be missing or be added."""
    box = SEAL.close("some text", "inbox", 5)
    changed = [box[:at] + bytes([box[at] ^ 1]) + box[at + 1 :] for at in range(len(box))]
    for one in (*changed, box[:-1], box + b"x", b"", b"\x01", box[:13]):
        with pytest.raises(SealError):
            SEAL.open(one, "inbox", 5)


def test_a_fingerprint_names_the_key_and_shows_nothing_of_it() -> None:
    """It lies in the database beside the boxes."""
    assert SEAL.fingerprint == Seal(bytes(range(32))).fingerprint
    assert SEAL.fingerprint != Seal(bytes(32)).fingerprint
    assert bytes(range(32)).hex()[:8] not in SEAL.fingerprint


def test_a_key_is_made_once(tmp_path: Path) -> None:
    """A second maker gets the first one's; no draft is left."""
    path = tmp_path / "mtclaw.db.key"
    assert read_key(path) is None
    made = create_key(path)
    again = create_key(path)
    found = read_key(path)
    assert found is not None
    assert made.fingerprint == again.fingerprint == found.fingerprint
    assert [one.name for one in tmp_path.iterdir()] == ["mtclaw.db.key"]
    assert create_key(tmp_path / "other.key").fingerprint != made.fingerprint


def test_a_key_that_vanishes_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody removes it between making and reading."""

    def lose(draft: Path, _path: Path) -> None:
        draft.unlink()

    monkeypatch.setattr("mtbot.storage.seal.publish", lose)
    with pytest.raises(SealError, match="has vanished"):
        create_key(tmp_path / "x.key")
    assert files.exists(tmp_path / "x.key") is False


async def test_no_file_of_a_database_holds_what_is_sealed_in_it(tmp_path: Path) -> None:
    """Message, parked turn and reply: none of their words lies in the database or its log, before or after its use."""
    place = sqlite_place(tmp_path / "mtclaw.db")
    db = await Database.open_for_writing(place)
    stores = stores_of(db, safe)
    words = "correct-horse-battery-staple"
    await stores.inbox.store([update(5, words)], NOW)
    await stores.consents.open(approval(), turn_state(secret=words), asked(), question())
    await stores.outbox.put(reply(words), now_ms=NOW)

    def files_with_words() -> list[str]:
        return [one.name for one in tmp_path.iterdir() if words.encode() in one.read_bytes()]

    assert files_with_words() == []
    await stores.inbox.done(BotName("ops"), 5)
    await stores.outbox.sent(2, 50)
    await stores.history.clear(GROUP.session)
    assert files_with_words() == []
    await db.close()
    assert files_with_words() == []
    assert "mtclaw.db-wal" not in {one.name for one in tmp_path.iterdir()}
