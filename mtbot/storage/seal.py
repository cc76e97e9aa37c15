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
_NONCE, _TAG = 12, 16


class Seal:
    """Closes and opens boxes with one key: ChaCha20-Poly1305 (RFC 8439), by libsodium."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @property
    def fingerprint(self) -> str:
        """Names the key without showing anything of it."""
        return hashlib.sha256(b"mtclaw seal fingerprint\n" + self._key).hexdigest()[:32]

    def close(self, text: str, table: str, row: object) -> bytes:
        """``text`` in a box that opens only as that row of that table."""
        from nacl.bindings import crypto_aead_chacha20poly1305_ietf_encrypt as encrypt  # noqa: PLC0415  few verbs seal

        nonce = os.urandom(_NONCE)
        data = text.encode("utf-8", "surrogatepass")
        return _BOX + nonce + encrypt(data, _binding(table, row), nonce, self._key)

    def open(self, box: bytes, table: str, row: object) -> str:
        """The text of a box. SealError if it was not closed with this key for that row, or was changed since."""
        from nacl.bindings import crypto_aead_chacha20poly1305_ietf_decrypt as decrypt  # noqa: PLC0415  as above
        from nacl.exceptions import CryptoError  # noqa: PLC0415  as above

        nonce, sealed = box[1 : 1 + _NONCE], box[1 + _NONCE :]
        try:
            if box[:1] != _BOX or len(sealed) < _TAG:
                raise CryptoError
            return decrypt(sealed, _binding(table, row), nonce, self._key).decode("utf-8", "surrogatepass")
        except (CryptoError, ValueError) as fault:
            raise SealError(
                f"row {row} of {table} does not open with this key", hint="was the key file or the row replaced?"
            ) from fault


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
