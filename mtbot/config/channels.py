"""People, the owner and the Telegram bots: who may speak, in which chats, and who may decide."""

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import BeforeValidator, ValidationInfo

from mtbot.config.problems import nearest, printable
from mtbot.config.proxy import OptionalProxy, secret_problem
from mtbot.config.values import (
    EnvName,
    Flag,
    Name,
    NoSecret,
    OptionalPath,
    OptionalUrl,
    Person,
    Rule,
    SecretRef,
    Section,
    frame,
    key,
    person_id,
    whole,
)
from mtbot.domain.ids import ChatId, UserId
from mtbot.domain.live import Verbosity
from mtbot.policy.people import Deciders

EVERY_GROUP: Final = ChatId(0)
"""The key of the ``"*"`` entry of ``groups``: any group that has no entry of its own."""

MAIN_BOT: Final = "main"
"""The name of the one bot that the short form of ``channels.telegram`` describes."""

DEFAULT_TOKEN_ENV: Final = "TELEGRAM_BOT_TOKEN"  # noqa: S105 - the name of a variable


class Approvers(Section):
    """Who may decide: a relation to the requester, or a closed list of people (then ``who`` is LISTED)."""

    who: Deciders = Deciders.ANY
    people: tuple[UserId, ...] = ()


def _approvers(value: object, info: ValidationInfo) -> Approvers:
    if isinstance(value, Approvers):
        return value
    words = [Deciders.ANY, Deciders.REQUESTER, Deciders.NOT_REQUESTER]
    if isinstance(value, str):
        if value in words:
            return Approvers(who=Deciders(value))
        names = frame(info).people
        if value in names:
            raise ValueError(f"must be any, requester, not_requester or a list; for one person write [{value}]")
        raise ValueError(f"must be any, requester, not_requester or a list of people{nearest(value, words)}")
    if not isinstance(value, list):
        raise ValueError("must be any, requester, not_requester or a list of people")
    if not value:
        raise ValueError("an empty list would let no one decide; leave the key out, or name people")
    people = tuple(dict.fromkeys(person_id(item, frame(info).people) for item in value))
    return Approvers(who=Deciders.LISTED, people=people)


ApproversRule = Annotated[
    Approvers, BeforeValidator(_approvers), Rule("any, requester, not_requester, or a list of people")
]


def _own_approvers(value: object, info: ValidationInfo) -> Approvers | None:
    return None if value is None else _approvers(value, info)


OwnApprovers = Annotated[
    Approvers | None, BeforeValidator(_own_approvers), Rule("any, requester, not_requester, or a list of people")
]


def _group_key(value: object) -> ChatId:
    text = str(value)
    if text == "*":
        return EVERY_GROUP
    try:
        number = int(text)
    except ValueError:
        raise ValueError(f'must be the numeric id of a group or "*", not "{printable(text)}"') from None
    if str(number) != text or number >= 0 or number < -(2**52):
        raise ValueError("must be the negative id of a group (the bot tells its owner the id when it is added)")
    return ChatId(number)


GroupKey = Annotated[ChatId, BeforeValidator(_group_key), Rule("negative group id, or *")]


class GroupSettings(Section):
    """One group, or with the key ``"*"`` every group that has no entry of its own."""

    require_mention: Flag = key(default=True, says="Answer only when mentioned, replied to or given a command.")
    allow_from: tuple[Person, ...] = key((), says="Who may speak in this group; empty takes the list of the bot.")
    approvers: OwnApprovers = key(
        None, says="Which of them may decide the questions of this group; without it, those of the bot."
    )


class BotSettings(Section):
    """One Telegram bot: its token, its rights, and the people it listens to."""

    token_env: EnvName = key(
        "", says="Environment variable that holds the bot token; if it is set, it wins over the file."
    )
    token_file: OptionalPath = key(None, says="File that holds the bot token and nothing else.")
    token: NoSecret = key("", exclude=True, says="Exists only to refuse a token that was written here.")
    profile: Name | None = key(None, says="Entry of profiles that this bot works under.")
    allow_from: tuple[Person, ...] = key((), says="Who may speak to this bot.")
    approvers: ApproversRule = key(Approvers(), says="Which of the people allowed in a chat may decide its questions.")
    verbosity: Verbosity = key(
        Verbosity.NORMAL,
        says="What a chat sees while work goes on: quiet (typing), normal (what runs, for how long, its last line, a Stop "
        "button) or verbose (its last lines, and that the model thinks).",
    )
    groups: Mapping[GroupKey, GroupSettings] = key(
        {}, says='Groups that the bot works in, by id; "*" stands for every other group.'
    )

    def group(self, chat: ChatId) -> GroupSettings | None:
        """The settings that hold in that group, or None where the bot does not listen."""
        return self.groups.get(chat) or self.groups.get(EVERY_GROUP)

    def allowed_in(self, chat: ChatId) -> tuple[UserId, ...]:
        """Who may speak in that group (a group without a list of its own has the bot's), nobody in a strange one."""
        group = self.group(chat)
        return () if group is None else group.allow_from or self.allow_from


class TelegramSettings(Section):
    """The bots of this gateway; with one bot its keys may stand here directly and it is named ``main``."""

    short_form = tuple(BotSettings.model_fields)

    enabled: Flag = key(default=True, says="Whether the gateway serves Telegram.")
    api_base_url: OptionalUrl = key(
        "", says="Another Bot API server; it sees the token and every message. Empty is Telegram's own."
    )
    proxy: OptionalProxy = key(
        "",
        says="Proxy on the way to the Bot API server, which also looks up the server's name; over https it sees no more "
        "than that name. Empty is none.",
    )
    proxy_env: EnvName = key("", says="Environment variable that holds a proxy with its user and password.")
    proxy_file: OptionalPath = key(None, says="File that holds a proxy with its user and password, and nothing else.")
    drafts: Flag = key(
        default=True,
        says="Whether a private chat sees an answer while it is written, as a draft that the answer replaces. It needs a "
        "provider that streams, a Bot API server that knows drafts, and a verbosity other than quiet.",
    )
    max_file_bytes: Annotated[int, whole(0, 2_000_000_000)] = key(
        20_000_000,
        says="Largest file that is taken from a message into inbox/ of the workspace; 0 takes none. "
        "Telegram's own server hands out no more than 20 MB.",
    )
    max_inbox_bytes: Annotated[int, whole(0, 1_000_000_000_000_000)] = key(
        1_000_000_000,
        says="Most that inbox/ of a workspace may hold in all, with what else lies there; a file that would make it more "
        "is not taken. 0 takes none.",
    )
    bots: Mapping[Name, BotSettings] = key({}, says="The bots by name.")

    @property
    def proxy_ref(self) -> SecretRef:
        """Where a proxy with its password is to be found; names nothing where ``proxy`` itself is used."""
        return SecretRef("channels.telegram.proxy", self.proxy_env, self.proxy_file, secret_problem)

    def token_ref(self, bot: str) -> SecretRef:
        """Where the token of that bot is to be found. KeyError for an unknown bot."""
        settings = self.bots[bot]
        return SecretRef(f"channels.telegram.bots.{bot}.token", settings.token_env, settings.token_file)


class ChannelsSettings(Section):
    """The ways in."""

    telegram: TelegramSettings = key({}, says="")
