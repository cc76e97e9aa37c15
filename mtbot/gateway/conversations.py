"""Commands about conversations: which model answers here, which conversations there are, what need not be done after all."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from mtbot.domain.menu import FOR_OWNER
from mtbot.domain.ports import Clock, Inbox
from mtbot.domain.record import SessionSummary
from mtbot.domain.turn import Actor, ActorKind, Inbound, SurfaceName
from mtbot.gateway.commands import Command
from mtbot.gateway.lanes import Lanes
from mtbot.policy.people import People

SHOWN = 20
"""Conversations that are listed, the one that spoke last first."""


class Conversations(Protocol):
    """All conversations, as history keeps them."""

    async def sessions(self, limit: int | None = None) -> Sequence[SessionSummary]:
        """The latest ones first. StorageError."""
        ...


@dataclass(frozen=True, slots=True)
class Models:
    """The model of a place, those that answer when it cannot, and where that is configured."""

    first: str
    others: tuple[str, ...]
    host: str


class ConversationCommands:
    """``/model``, ``/sessions`` and ``/cancel``."""

    def __init__(
        self,
        conversations: Conversations,
        inbox: Inbox,
        lanes: Lanes,
        people: Callable[[], People],
        models: Callable[[Inbound], Models],
        clock: Clock,
    ) -> None:
        self._conversations = conversations
        self._inbox = inbox
        self._lanes = lanes
        self._people = people
        self._models = models
        self._clock = clock
        self.table = (
            Command("model", "which model answers here", self._model),
            Command("cancel", "drop the messages that wait; what runs goes on", self._cancel),
            Command("sessions", "all conversations of this bot", self._sessions, FOR_OWNER),
        )

    async def _model(self, inbound: Inbound) -> str:
        found = self._models(inbound)
        lines = [f"Model: {found.first}"]
        if found.others:
            lines.append(f"If it cannot answer: {', '.join(found.others)}")
        return "\n".join((*lines, f"To change it, on {found.host}: `agent.model` in the configuration."))

    async def _cancel(self, inbound: Inbound) -> str:
        """Withdraw what was said and not begun with. A question stays open, because it is about what runs. StorageError."""
        dropped = self._lanes.withdraw(inbound.address.session)
        for one in dropped:
            for update in one.ref.updates:
                await self._inbox.done(one.address.bot, update)
        if not dropped:
            return "No message is waiting here; /stop ends what runs."
        return f"{len(dropped)} waiting message{'s' if len(dropped) > 1 else ''} dropped. What runs goes on; /stop ends it."

    async def _sessions(self, inbound: Inbound) -> str:
        """The owner's alone: who speaks with a bot is nobody else's business. StorageError."""
        if not self._people().owns(inbound.sender):
            return "Only the owner of this bot can see its conversations."
        mine = f"telegram:{inbound.address.bot}:"
        # those that were put away are listed by /resume, in the chat that they belong to
        found = [
            one for one in await self._conversations.sessions() if str(one.id).startswith(mine) and "/" not in one.id
        ]
        lines = [self._line(one) for one in found[:SHOWN]]
        if len(found) > SHOWN:
            lines.append(f"and {len(found) - SHOWN} older ones: `mtclaw sessions list` on the host")
        return "\n".join(lines) or "No conversations yet."

    def _line(self, one: SessionSummary) -> str:
        name = self._people().name(Actor(ActorKind.TELEGRAM, int(one.chat)))
        who = name if one.surface is SurfaceName.PRIVATE else f"group {one.chat}"
        topic = f", topic {one.thread}" if one.thread is not None else ""
        tokens = one.prompt_tokens + one.completion_tokens
        at = self._clock.clock_text(one.updated_ms)
        return f"{who}{topic}: {one.messages} messages, {tokens} tokens, last at {at}"
