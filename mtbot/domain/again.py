"""The exact call of a start, kept until it ends, so that one that a crash cut off can be asked for again unchanged.

It is kept sealed and in the transaction of its start, named by the number of that event, and wiped with the call's end.
What a crash leaves stays until somebody asks for it again, puts it away or begins the conversation anew; which of these
it was is remembered, so that a button that is pressed late gets an answer and never a second request.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Protocol

from mtbot.domain.call import Call, Facts
from mtbot.domain.ids import Digest, SessionId, TurnId
from mtbot.domain.turn import Actor, SurfaceName

MOST = 65_536
"""Characters of a sealed call; a longer one is not kept, because every start would have to write it to the disk twice."""

_CHATS = (SurfaceName.PRIVATE, SurfaceName.GROUP)


@dataclass(frozen=True, slots=True)
class KeptCall:
    """What was started. ``arguments`` is JSON text, unmasked; ``digest`` what its start was bound to.

    ``tainted``: text from outside had been read before it was proposed. ``requester`` is the key of who asked for it.
    """

    tool: str
    arguments: str
    cwd: str
    digest: Digest
    session: SessionId
    requester: str
    tainted: bool = False

    def to_json(self) -> str:
        """JSON text; it holds unmasked arguments, so it must be stored sealed."""
        return json.dumps(asdict(self), ensure_ascii=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "KeptCall":
        """Read what ``to_json`` wrote. KeyError, TypeError or ValueError if it is anything else."""
        data: Mapping[str, object] = json.loads(text)
        words = {name: str(data[name]) for name in ("tool", "arguments", "cwd", "digest", "session", "requester")}
        return cls(
            words["tool"],
            words["arguments"],
            words["cwd"],
            Digest(words["digest"]),
            SessionId(words["session"]),
            words["requester"],
            data["tainted"] is True,
        )


@dataclass(frozen=True, slots=True)
class Keep:
    """What the transaction of a start keeps of its call, and which kept one the call repeats.

    ``call`` None: nothing, because nobody could ask for it again or it is too long. ``turn`` is the turn that starts it;
    ``repeats`` is the number of the start that was cut off.
    """

    turn: TurnId
    call: KeptCall | None = None
    repeats: int | None = None


def keep(call: Call, facts: Facts, digest: Digest, repeats: int | None) -> Keep:
    """What is kept of ``call``: everything where a chat could ask for it again."""
    kept = KeptCall(
        call.tool,
        json.dumps(dict(call.arguments), ensure_ascii=True, separators=(",", ":")),
        call.cwd,
        digest,
        call.address.session,
        call.requester.key,
        facts.tainted,
    )
    fits = call.address.surface in _CHATS and len(kept.to_json()) <= MOST
    return Keep(call.turn, kept if fits else None, repeats)


class KeptState(StrEnum):
    """What became of a kept call; only KEPT still holds it."""

    KEPT = "kept"
    ASKED = "asked"
    DISMISSED = "dismissed"
    CLEARED = "cleared"


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a kept call stands. ``by`` (``telegram:1001``) and ``at_ms`` say who changed that last, and when.

    ``call`` is there while it is KEPT, unless it does not open with this key.
    """

    state: KeptState
    by: str = ""
    at_ms: int = 0
    call: KeptCall | None = None


class KeptCalls(Protocol):
    """The kept calls, by the number of their start. They come with ``AuditLog.start`` and go with the call's end."""

    async def standing(self, start: int) -> Standing | None:
        """Where it stands; None if nothing is known of it (any more). StorageError."""
        ...

    async def dismiss(self, start: int, by: Actor, at_ms: int) -> None:
        """Wipe it, if it is still KEPT. StorageError."""
        ...
