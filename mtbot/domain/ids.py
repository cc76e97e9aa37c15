"""Names for the identifiers and the two kinds of text, so that mixing them up is a type error.

A chat id and a user id are both integers and a command and its masked copy are both strings: the places where
mistaking one for the other costs most. `Raw` marks text that may hold a secret; every sink (chat, record, log,
model) asks for `SafeText`, which only `mtbot.redaction.mask` makes. An architecture test looks for other makers.
"""

from typing import NewType, final

UserId = NewType("UserId", int)
"""A person, as Telegram numbers people; never a name, which its owner can change."""

ChatId = NewType("ChatId", int)
"""A chat; negative for groups. In a private chat it equals the person's id."""

ThreadId = NewType("ThreadId", int)
"""A topic inside a chat."""

BotName = NewType("BotName", str)
"""A bot by its name in the configuration, not by its Telegram user name."""

SessionId = NewType("SessionId", str)
"""One conversation with its own history and its own lane."""

TurnId = NewType("TurnId", str)
"""One run of the loop, from a message to its reply, across restarts."""

CallId = NewType("CallId", str)
"""One tool call that a model proposed; at most one `started` event carries it."""

ApprovalId = NewType("ApprovalId", str)
"""One question put to a person; short enough to be typed."""

Digest = NewType("Digest", str)
"""Lower-case hexadecimal SHA-256 of everything that a decision covers."""

Raw = NewType("Raw", str)
"""Text as it came: from a person, a model, a program or an error. Not yet masked, so no sink takes it."""


@final
class SafeText(str):
    """Text that may leave the process: masked, and always encodable as UTF-8.

    It is a string, so it prints, serialises and compares as one. Everything that makes a new string out of it
    (`+`, slicing, f-strings, `join`) gives a plain `str`, which no sink accepts: two harmless halves can make a
    secret. `Redactor.join` and `Redactor.cut` put together and shorten, and stay `SafeText`.
    """

    __slots__ = ()

    @property
    def text(self) -> str:
        """The same characters as a plain string, for a library that insists on the exact type."""
        return str.__str__(self)

    def __repr__(self) -> str:
        """Name the type, so that a test that compares the wrong kinds shows why they differ."""
        return f"SafeText({str.__repr__(self)})"
