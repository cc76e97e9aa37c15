"""What an answer took: the provider's own count with a price, or an estimate where it counts nothing.

Without the estimate a cap would never be reached at a server that reports no usage.
"""

import json
from dataclasses import replace

from mtbot.domain.model import ModelAnswer, ModelRequest, OnText
from mtbot.domain.ports import Provider
from mtbot.domain.spending import CHARACTERS_PER_TOKEN, Price
from mtbot.domain.turn import Message, Usage


class Metered:
    """Implements Provider: ``provider`` with every answer counted and priced; ``price`` None keeps a reported cost."""

    def __init__(self, provider: Provider, price: Price | None) -> None:
        self._provider = provider
        self._price = price

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelAnswer:
        """As the provider does."""
        answer = await self._provider.complete(request, on_text)
        usage = took(request, answer)
        if self._price is not None:
            usage = replace(usage, cost=self._price.of(usage))
        return replace(answer, usage=usage)


def took(request: ModelRequest, answer: ModelAnswer) -> Usage:
    """What an answer took."""
    return answer.usage if answer.usage.tokens else estimate(request, answer)


def lost(request: ModelRequest, beginning: ModelAnswer) -> Usage:
    """What an answer took that broke off: by then a server has counted what was sent, and of what it said a part at most."""
    counted, guess = beginning.usage, estimate(request, beginning)
    return replace(counted, prompt=counted.prompt or guess.prompt, completion=max(counted.completion, guess.completion))


def estimate(request: ModelRequest, answer: ModelAnswer) -> Usage:
    """Tokens by the length of what was sent and said."""
    sent = sum(map(_length, request.messages))
    sent += sum(len(tool.name) + len(tool.description) + len(json.dumps(dict(tool.schema))) for tool in request.tools)
    said = len(answer.text) + sum(len(call.name) + len(call.arguments) for call in answer.calls)
    return Usage(-(-sent // CHARACTERS_PER_TOKEN), -(-said // CHARACTERS_PER_TOKEN))


def _length(message: Message) -> int:
    return len(message.content) + sum(len(call.name) + len(call.arguments) for call in message.calls)
