"""Turn what a command wrote into text that cannot harm whoever reads, stores or shows it.

A command's output is untrusted bytes: it may be no UTF-8 at all, may move a cursor, set a clipboard, reverse the reading
order or hide words. Nothing of it is silently lost: sequences that only colour are removed, everything else that has no
printable form is shown by a visible name. Redaction comes after this, because a secret may be torn apart by colours.
"""

import re
from dataclasses import dataclass

_EDGE_BYTES = 1024
_NO_OUTPUT = "(no output)"

# Colours and cursor moves: ESC [ parameters letter. They carry numbers only, so nothing readable goes with them.
_CSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_APART = re.compile(rb"[\s\"'`;&|$()<>\\]")
"""What no credential has in it, so that a word ends there."""

_LINE_ENDS = re.compile(r"\r+\n")


def _visible_names() -> dict[int, str]:
    """Map each code point that acts instead of being read to a form that can be read."""
    names = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
    names[0x7F] = "\u2421"
    names |= {code: f"<U+{code:04X}>" for code in range(0x80, 0xA0)}  # C1 controls, 8-bit forms of ESC sequences
    names |= {
        code: f"<U+{code:04X}>" for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
    }
    names |= {code: f"<U+{code:04X}>" for code in (0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF, *range(0xFFF9, 0xFFFC))}
    names |= {code: f"<U+{code:05X}>" for code in range(0xE0000, 0xE0080)}  # tag characters: text that no one sees
    return names


_VISIBLE = _visible_names()


def harmless(data: bytes) -> str:
    """Return ``data`` as text without any control, bidi or tag character but newline and tab; never raises.

    Invalid UTF-8 becomes U+FFFD, NUL becomes a visible sign, a lone carriage return becomes a newline so that a progress
    bar cannot overwrite what was said before it.
    """
    text = data.decode("utf-8", "replace")
    text = _LINE_ENDS.sub("\n", _CSI.sub("", text)).replace("\r", "\n")
    return text.translate(_VISIBLE)


@dataclass(frozen=True, slots=True)
class Output:
    """The kept bytes of a command: ``head`` from the start, ``tail`` from the end, ``dropped`` bytes between them.

    With ``dropped`` 0 nothing is missing and ``tail`` follows ``head`` directly.
    """

    head: bytes = b""
    tail: bytes = b""
    dropped: int = 0

    @property
    def empty(self) -> bool:
        """Whether the command wrote nothing at all."""
        return not self.head and not self.tail and not self.dropped

    @property
    def size(self) -> int:
        """How many bytes the command wrote, kept or not."""
        return len(self.head) + len(self.tail) + self.dropped

    def pieces(self) -> tuple[str, str, int]:
        """Return harmless head, harmless tail and the count of bytes between them.

        At the cut, half a line is dropped (half a word, if the line is long; half a character, if the word is) and
        counted: half a secret is a thing that no redactor knows. Without a cut the tail is empty.
        """
        if not self.dropped:
            return harmless(self.head + self.tail), "", 0
        head, tail = _up_to_a_line(self.head), _from_a_line(self.tail)
        return harmless(head), harmless(tail), self.size - len(head) - len(tail)

    def text(self) -> str:
        """Return all that was kept as harmless text; a line of its own says how many bytes are left out."""
        if self.empty:
            return _NO_OUTPUT
        head, tail, dropped = self.pieces()
        if not dropped:
            return head
        joint = "" if head.endswith("\n") or not head else "\n"
        return f"{head}{joint}[… {dropped} bytes left out …]\n{tail}"


def _up_to_a_line(head: bytes) -> bytes:
    edge = max(0, len(head) - _EDGE_BYTES)
    at = head.rfind(b"\n", edge)
    if at < 0:
        at = max((found.start() for found in _APART.finditer(head, edge)), default=-1)
    if at >= 0:
        return head[: at + 1]
    for cut in range(1, min(4, len(head)) + 1):
        byte = head[-cut]
        if byte & 0xC0 != 0x80:  # a leading byte or ASCII: is its character whole?
            width = 1 if byte < 0xC0 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return head[:-cut] if width > cut else head
    return head


def _from_a_line(tail: bytes) -> bytes:
    at = tail.find(b"\n", 0, _EDGE_BYTES)
    if 0 <= at < len(tail) - 1:
        return tail[at + 1 :]
    apart = _APART.search(tail, 0, _EDGE_BYTES)
    if apart is not None:
        return tail[apart.start() :]
    start = 0
    while start < min(3, len(tail)) and tail[start] & 0xC0 == 0x80:
        start += 1
    return tail[start:]
