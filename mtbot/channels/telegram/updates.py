"""The fields of an update that decide something here, and no others.

aiogram's own models hold a message's every field, and the first one that is read builds some three hundred validators:
60 ms and 4 MB for a dozen fields. These read the same JSON (Bot API, "Getting updates") strictly, pass over what they do
not know, and so can still read a message when a newer server puts something new into it.
"""

from pydantic import BaseModel, ConfigDict, Field


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class User(_Part):
    """Who wrote or pressed."""

    id: int
    is_bot: bool
    first_name: str


class Chat(_Part):
    """Where."""

    id: int
    type: str


class Entity(_Part):
    """A stretch of a text, in UTF-16 units."""

    type: str
    offset: int = Field(ge=0)
    length: int = Field(ge=0)
    user: User | None = None


class Document(_Part):
    """A file that is attached."""

    file_id: str
    file_name: str | None = None
    mime_type: str | None = None
    file_size: int | None = None


class PhotoSize(_Part):
    """One size of a photo, in pixels and bytes."""

    file_id: str
    width: int
    height: int
    file_size: int | None = None


class Written(_Part):
    """Whoever is said to have written something, and what makes it nobody's own words; those fields matter by being there."""

    message_id: int
    from_user: User | None = Field(None, alias="from")
    text: str | None = None
    caption: str | None = None
    sender_chat: object = None
    forward_origin: object = None
    forward_date: object = None
    """In place of ``forward_origin`` on a server older than Bot API 7.0."""
    via_bot: object = None
    """The inline bot that made the text; its sender may have seen no more than a title of it."""
    sender_business_bot: object = None
    """The bot that sent it in the name of a business account."""


class Origin(Written):
    """The message that this one answers."""


class Message(Written):
    """A message; one that Telegram does not show any more has little more than its chat and its id.

    The fields of type ``object`` matter only by being there.
    """

    chat: Chat
    message_thread_id: int | None = None
    is_topic_message: bool | None = None
    entities: list[Entity] | None = None
    caption_entities: list[Entity] | None = None
    reply_to_message: Origin | None = None
    document: Document | None = None
    photo: list[PhotoSize] | None = None
    media_group_id: str | None = None
    migrate_to_chat_id: int | None = None
    migrate_from_chat_id: int | None = None
    voice: object = None
    video_note: object = None
    audio: object = None
    video: object = None
    sticker: object = None
    story: object = None
    contact: object = None
    location: object = None
    poll: object = None
    dice: object = None
    game: object = None


class CallbackQuery(_Part):
    """A press on a button."""

    id: str
    from_user: User = Field(alias="from")
    message: Message | None = None
    data: str | None = None


class Update(_Part):
    """What ``getUpdates`` gave; of everything it may hold, what is asked for (transport.ALLOWED_UPDATES)."""

    update_id: int
    message: Message | None = None
    edited_message: Message | None = None
    callback_query: CallbackQuery | None = None
