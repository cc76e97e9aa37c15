"""What must be replayed word for word lies in the database only inside an AEAD box, whose key lies outside it.

A box is bound to its table and row, so that a box that is moved does not open. The key is made once, together with the
database; a key that is lost is said so, and never replaced while something is sealed with it.
"""

import hashlib
import os
import secrets
import stat
from pathlib import Path

from mtbot.domain.errors import SealError
from mtbot.storage.files import draft_beside, publish

_HEAD = b"mtclaw-seal-1 "
_BOX = b"\x01"
_NONCE = 12


class Seal:
    """Closes and opens boxes with one key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @property
    def fingerprint(self) -> str:
        """Names the key without showing anything of it."""
        return hashlib.sha256(b"mtclaw seal fingerprint\n" + self._key).hexdigest()[:32]

    def close(self, text: str, table: str, row: object) -> bytes:
        """``text`` in a box that opens only as that row of that table."""
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305  # noqa: PLC0415  12 ms, rarely needed

        nonce = os.urandom(_NONCE)
        data = text.encode("utf-8", "surrogatepass")
        return _BOX + nonce + ChaCha20Poly1305(self._key).encrypt(nonce, data, _binding(table, row))

    def open(self, box: bytes, table: str, row: object) -> str:
        """The text of a box. SealError if it was not closed with this key for that row, or was changed since."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415  as above
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305  # noqa: PLC0415  as above

        nonce, sealed = box[1 : 1 + _NONCE], box[1 + _NONCE :]
        try:
            if box[:1] != _BOX:
                raise InvalidTag
            return (
                ChaCha20Poly1305(self._key)
                .decrypt(nonce, sealed, _binding(table, row))
                .decode("utf-8", "surrogatepass")
            )
        except (InvalidTag, ValueError) as fault:
            raise SealError(
                f"row {row} of {table} does not open with this key", hint="was the key file or the row replaced?"
            ) from fault


class BlankSeal(Seal):
    """Closes empty boxes, which never open: for what is undone, so that nobody waits for cryptography and its 9 MB."""

    def __init__(self) -> None:
        super().__init__(b"")

    def close(self, text: str, table: str, row: object) -> bytes:
        """A box of nothing."""
        del text, table, row
        return _BOX


def _binding(table: str, row: object) -> bytes:
    return f"mtclaw\n{table}\n{row}".encode()


def read_key(path: Path) -> Seal | None:
    """The seal whose key is in that file; None if there is no such file. SealError if it cannot be used."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as fault:
        raise SealError(f"the key file {path} cannot be opened: {fault.strerror}") from fault
    with os.fdopen(fd, "rb") as file:
        kind = os.fstat(fd)
        if not stat.S_ISREG(kind.st_mode):
            raise SealError(f"the key file {path} is not a regular file")
        if kind.st_mode & 0o077:
            raise SealError(f"the key file {path} can be read by others", hint=f"chmod 600 {path}")
        text = file.read(256)
    word = text.removeprefix(_HEAD).strip()
    try:
        key = bytes.fromhex(word.decode("ascii"))
    except ValueError:
        key = b""
    if not text.startswith(_HEAD) or len(key) != 32:
        raise SealError(f"the key file {path} is damaged", hint="put back the copy from your backup")
    return Seal(key)


def create_key(path: Path) -> Seal:
    """Make a new key, readable by its owner only; if somebody else just did, theirs. SealError if it cannot be."""
    try:
        draft = draft_beside(path)
        try:
            with draft.open("wb") as file:
                file.write(_HEAD + secrets.token_hex(32).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
            publish(draft, path)
        finally:
            draft.unlink(missing_ok=True)
    except FileExistsError:
        pass  # somebody was faster; theirs is as good
    except OSError as fault:
        raise SealError(f"the key file {path} cannot be made: {fault.strerror}") from fault
    seal = read_key(path)
    if seal is None:
        raise SealError(f"the key file {path} has vanished")
    return seal
