"""What a bot asks and tells Telegram about itself when it starts."""

from collections.abc import Sequence

from aiogram.methods import DeleteWebhook, GetMe, SetMyCommands
from aiogram.types import (
    BotCommand,
    BotCommandScopeAllGroupChats,
    BotCommandScopeAllPrivateChats,
    BotCommandScopeChat,
    BotCommandScopeUnion,
)

from mtbot.channels.telegram.translate import Me
from mtbot.channels.telegram.transport import Transport
from mtbot.domain.errors import TokenRejected
from mtbot.domain.menu import Menu

MAX_DESCRIPTION = 256


async def who_am_i(transport: Transport) -> Me:
    """The bot's own account. TokenRejected names the bot; other ChannelErrors as they come."""
    name = transport.account.name
    try:
        me = await transport.call(GetMe())
    except TokenRejected as error:
        raise TokenRejected(
            f"Telegram does not accept the token of bot {name}", status=401, hint="check it with @BotFather"
        ) from error
    return Me(name, me.id, me.username or "")


async def drop_webhook(transport: Transport) -> None:
    """Take away a webhook that somebody set: with one, polling gets nothing. ChannelError."""
    await transport.call(DeleteWebhook())


async def announce(
    transport: Transport, commands: Sequence[tuple[str, str]], menu: Menu = Menu.PRIVATE, owner: int = 0
) -> None:
    """Tell Telegram which commands a menu has, each with what it is for; ``owner`` is whose chat OWNER is. ChannelError."""
    listed = [BotCommand(command=word, description=says[:MAX_DESCRIPTION]) for word, says in commands]
    scope: BotCommandScopeUnion = BotCommandScopeAllPrivateChats()
    if menu is Menu.GROUPS:
        scope = BotCommandScopeAllGroupChats()
    elif menu is Menu.OWNER:
        scope = BotCommandScopeChat(chat_id=owner)
    await transport.call(SetMyCommands(commands=listed, scope=scope))
