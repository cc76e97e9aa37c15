"""A grant: a person's yes to one exact command that holds for some minutes, and the border to where grants are kept."""

from dataclasses import dataclass
from typing import Protocol

from mtbot.domain.ids import ApprovalId, CallId, Digest, SessionId
from mtbot.domain.record import EventDraft, OutboxItem, Ruling, Via
from mtbot.domain.turn import Actor, Address

MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Grant:
    """The same command may run again at ``address``, for ``requester`` alone, without a new question.

    ``id``, ``call`` and ``token`` are those of the question that was answered so, ``giver`` answered it by the road ``via``.
    ``binding`` is the identity of what may run (policy/grants). ``command`` is the masked text that was shown. Times are
    Unix milliseconds; ``uses`` counts the runs so far.
    """

    id: ApprovalId
    call: CallId
    address: Address
    requester: Actor
    giver: Actor
    via: Via
    command: str
    binding: Digest
    token: str
    given_ms: int
    until_ms: int
    revoked: Ruling | None = None
    uses: int = 0

    @property
    def rule(self) -> str:
        """What the record names as the rule of a run by this grant."""
        return rule_of(self.id)

    def live(self, now_ms: int) -> bool:
        """Whether it holds at that moment; a clock that was set back behind the yes ends it, too."""
        return self.revoked is None and self.given_ms <= now_ms < self.until_ms

    def concerns(self, address: Address) -> bool:
        """Whether it belongs to that chat."""
        return (self.address.bot, self.address.chat) == (address.bot, address.chat)


def rule_of(grant: ApprovalId) -> str:
    """The rule name of a grant in the record."""
    return f"grant.{grant}"


class Grants(Protocol):
    """Grants as rows. A grant comes into being with the ruling that gives it (``Consents.rule``)."""

    async def live(self, now_ms: int, session: SessionId | None = None) -> tuple[Grant, ...]:
        """Those that hold then, of that session or of all, the oldest first. StorageError."""
        ...

    async def get(self, grant: ApprovalId) -> Grant:
        """The grant of that name. NoSuchApproval, StorageError."""
        ...

    async def revoke(self, grant: ApprovalId, ruling: Ruling, draft: EventDraft, *items: OutboxItem) -> Grant:
        """Compare-and-set a live grant to revoked, with its event and ``items`` to send; the grant as it is now.

        No use starts after this has returned. AlreadyDecided (revoked or expired) if it was over, NoSuchApproval,
        RecordUnavailable.
        """
        ...
