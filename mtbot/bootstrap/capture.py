"""What onboard asks of the outside: a server's models, a bot's own account, and who writes to it."""

import asyncio
import time

import mtbot.channels.telegram  # noqa: F401 - holds aiogram's model building back before it is imported
from mtbot.channels.telegram.transport import Account, Transport
from mtbot.domain.errors import ChannelError
from mtbot.domain.ids import BotName

GRACE_SECONDS = 2
"""Telegram's dates are whole seconds of its own clock."""


async def list_models(base_url: str, key: str) -> tuple[str, ...]:
    """The models that a server lists. ProviderError."""
    from mtbot.llm.openai import OpenAIProvider, Server

    provider = OpenAIProvider(Server(base_url, key, 15.0, 0))
    try:
        return await provider.models()
    finally:
        await provider.close()


async def ask_name(token: str, api_base_url: str, proxy: str = "") -> str:
    """The bot's username. ChannelError; ValueError for what is no token at all."""
    from mtbot.channels.telegram.account import who_am_i

    transport = Transport(Account(BotName("main"), token, api_base_url, proxy))
    try:
        return (await who_am_i(transport)).username
    finally:
        await transport.close()


async def capture(token: str, api_base_url: str, seconds: float, proxy: str = "") -> dict[int, str]:
    """Everybody (id to first name) who writes to the bot in a private chat from now on, until one did and 3 s passed.

    Messages from before do not count: a stranger may have written yesterday.
    """
    transport = Transport(Account(BotName("main"), token, api_base_url, proxy))
    since = time.time() - GRACE_SECONDS
    found: dict[int, str] = {}
    offset: int | None = None
    try:
        async with asyncio.timeout(seconds) as limit:
            while True:
                for update in await _updates(transport, offset):
                    ident = update.get("update_id")
                    offset = ident + 1 if isinstance(ident, int) else offset
                    who = _writer(update, since)
                    if who is not None and who[0] not in found:
                        found[who[0]] = who[1]
                        limit.reschedule(asyncio.get_running_loop().time() + 3)
    except TimeoutError:
        return found
    finally:
        await transport.close()


async def _updates(transport: Transport, offset: int | None) -> list[dict[str, object]]:
    try:
        return await transport.updates(offset)
    except ChannelError:
        await asyncio.sleep(1)
        return []


def _writer(update: dict[str, object], since: float) -> tuple[int, str] | None:
    """Who wrote a fresh private message."""
    message = update.get("message")
    if not isinstance(message, dict):
        return None
    sender, chat, date = message.get("from"), message.get("chat"), message.get("date")
    if not isinstance(sender, dict) or not isinstance(chat, dict) or not isinstance(date, int):
        return None
    if sender.get("is_bot") or chat.get("type") != "private" or date < since:
        return None
    ident = sender.get("id")
    return (ident, str(sender.get("first_name", ""))) if isinstance(ident, int) else None
