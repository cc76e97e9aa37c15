"""The names of things as types: identifiers that cannot be mixed up, and the two kinds of text.

``Raw`` is text that may hold a secret; ``SafeText`` has passed the redactor. Every sink demands SafeText, so that a
missing mask is a type error and not a leak.
"""

from typing import NewType, final

UserId = NewType("UserId", int)
ChatId = NewType("ChatId", int)
ThreadId = NewType("ThreadId", int)
BotName = NewType("BotName", str)
SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)
CallId = NewType("CallId", str)
ApprovalId = NewType("ApprovalId", str)
Digest = NewType("Digest", str)

Raw = NewType("Raw", str)


@final
class SafeText(str):
    """Text that the redactor has passed; only redaction/mask makes one.

    It is a str, so it can be printed and stored; joining or formatting gives a plain str, which has to pass the
    redactor again.
    """

    __slots__ = ()

    @property
    def text(self) -> str:
        """The text itself."""
        return str(self)
