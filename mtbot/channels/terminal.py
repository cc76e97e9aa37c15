"""The terminal as a surface: the same cards, answered by typing.

Consent is tied to its question: what was typed before a question appeared is thrown away, only ``y`` or ``yes`` runs
(and ``a`` where it can be for a while), and where the input is closed nobody can be asked, now and ever after.
"""

import asyncio
import os
import sys
import termios
from collections.abc import Callable
from typing import TextIO

from mtbot.domain.ids import ApprovalId, BotName
from mtbot.domain.record import ApprovalState, Card, CardKind, ChoiceAction, OutboxItem, OutKind, Via
from mtbot.redaction.display import terminal_safe

LONGEST_MS = 86_400_000
"""For a yes that is to last; the desk cuts it to what the question offered."""

Decide = Callable[[ApprovalId, ApprovalState, Via, str, int], None]
"""Told of an answer: how, by which road, the reason, and for how long a yes is to last (ms; 0: this once)."""


class TerminalInput:
    """One reader for the whole process. On a terminal, what was typed before the question is dropped.

    ``piped`` says that answers may come from a pipe or file, in order; without it only a terminal can answer.
    """

    def __init__(self, fd: int, *, piped: bool = False) -> None:
        self._fd = fd
        self._terminal = os.isatty(fd)
        self._buffer = b""
        self._closed = not self._terminal and not piped

    @property
    def closed(self) -> bool:
        """Whether no answer can come any more."""
        return self._closed

    async def answer(self) -> str | None:
        """The next line typed after this call; None once the input has ended, for ever."""
        if self._closed:
            return None
        if self._terminal:
            self._buffer = b""
            termios.tcflush(self._fd, termios.TCIFLUSH)
        while b"\n" not in self._buffer:
            await self._readable()
            chunk = os.read(self._fd, 4096)
            if not chunk:
                self._closed = True
                return None
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode("utf-8", "replace").strip()

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        ready = loop.create_future()
        try:
            loop.add_reader(self._fd, lambda: None if ready.done() else ready.set_result(None))
        except PermissionError:  # a regular file cannot be watched and never blocks
            return
        try:
            await ready
        finally:
            loop.remove_reader(self._fd)


class Terminal:
    """Delivers to standard output and asks on standard error, so that a pipe gets the answer alone."""

    def __init__(self, source: TerminalInput, out: TextIO = sys.stdout, err: TextIO = sys.stderr) -> None:
        self._source = source
        self._out = out
        self._err = err
        self._asking: set[asyncio.Task[None]] = set()
        self.decide: Decide = lambda _id, _state, _via, _reason, _lasts: None

    async def deliver(self, item: OutboxItem, message: int | None) -> int | None:
        """Print the item; a question is asked in the background, so that the outbox goes on."""
        del message
        if item.kind is OutKind.REPLY and item.text is not None:
            print(terminal_safe(item.text, table=False), file=self._out, flush=True)
        elif item.text is not None:
            print(terminal_safe(item.text, table=False), file=self._err, flush=True)
        elif item.card is not None:
            self._show(item.card)
            if item.card.kind is CardKind.QUESTION and item.approval is not None:
                task = asyncio.create_task(self._ask(item.approval, item.card))
                self._asking.add(task)
                task.add_done_callback(self._asking.discard)
        return None

    async def answer_press(self, bot: BotName, press_id: str, note: str) -> None:
        """Say a note."""
        del bot, press_id
        print(terminal_safe(note, table=False), file=self._err, flush=True)

    def _show(self, card: Card) -> None:
        lines = [str(card.title)]
        body = card.attachment if card.attachment is not None else card.body
        if body and card.kind is not CardKind.RESULT:
            lines += ["", *(f"    {line}" for line in body.splitlines()), ""]
        lines += [str(line) for line in card.lines]
        print(terminal_safe("\n".join(lines), table=False), file=self._err, flush=True)

    async def _ask(self, approval: ApprovalId, card: Card) -> None:
        lasting = [choice.label for choice in card.choices if choice.action is ChoiceAction.GRANT]
        more = f"a to {lasting[0].lstrip('✅ ').lower()}, " if lasting else ""
        ask = f"Run it? Type y to approve once, {more}anything else is a no and its reason: "
        print(ask, end="", file=self._err, flush=True)
        said = await self._source.answer()
        if said is not None and (said.lower() in ("y", "yes") or (lasting and said.lower() == "a")):
            self.decide(approval, ApprovalState.APPROVED, Via.TERMINAL, "", LONGEST_MS if said.lower() == "a" else 0)
            return
        if said is None:
            print("(nobody is there to answer)", file=self._err, flush=True)
            self.decide(approval, ApprovalState.EXPIRED, Via.EXPIRY, "no_approver", 0)
            return
        reason = "" if said.lower() in ("", "n", "no") else said
        self.decide(approval, ApprovalState.DENIED, Via.TERMINAL, reason, 0)
