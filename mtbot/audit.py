"""The record as a chain: every event carries the SHA-256 of the one before it, over canonical, versioned bytes.

This is the pure half of the trail. The store (storage/trail) gives an event its place under a lock; here it is decided
what bytes are hashed and what an unbroken record looks like, so that writing and verifying can never differ.
"""

import hashlib
import json
from dataclasses import dataclass, replace

from mtbot.domain.ids import ApprovalId, BotName, CallId, Digest, SessionId
from mtbot.domain.record import AuditEvent, EventDraft, EventKind

GENESIS = "0" * 64
"""The previous hash of event 1."""

VERSION = 1
"""The version of the canonical bytes that new events get; old events keep theirs."""

TEXT_LIMIT = 65_536
"""No text of an event is longer than this many UTF-8 bytes."""

ENDS = frozenset({EventKind.FINISHED, EventKind.FAILED, EventKind.INTERRUPTED})
"""The kinds that end what a STARTED event began."""

BOUND: dict[int, tuple[str, ...]] = {
    1: (
        *("kind", "at_ms", "session", "call", "tool", "command", "cwd", "bot", "chat", "thread", "message"),
        *("requester", "decider", "via", "digest", "word", "stage", "rule", "reason", "approval", "profile"),
        *("exit_code", "duration_ms", "dropped", "detail"),
    ),
}
"""The fields of a draft that each version binds. A list is never changed; a new field is a new version."""


_ENCODER = json.JSONEncoder(ensure_ascii=True, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in the chain: a sequence number and the hash of the event that holds it."""

    seq: int
    hash: str


START = Mark(0, GENESIS)
"""The place before event 1."""


@dataclass(frozen=True, slots=True)
class ChainFault:
    """The first thing that is wrong with a record, and the event where it shows."""

    seq: int
    what: str

    def __str__(self) -> str:
        return f"event {self.seq}: {self.what}"


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What a look over the whole record found; ``first`` is the oldest event that is kept (0: there is none)."""

    events: int
    first: int
    head: Mark
    fault: ChainFault | None

    @property
    def whole(self) -> bool:
        """Whether nothing is wrong."""
        return self.fault is None


def storable(text: str) -> str:
    """``text`` as every database returns it unchanged: NUL made visible, lone surrogates replaced."""
    clean = text.replace("\x00", "\u2400")
    return clean if clean.isascii() else clean.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def settle(draft: EventDraft) -> EventDraft:
    """``draft`` with every text storable and none longer than ``TEXT_LIMIT``; a cut text says how much is missing."""
    return replace(
        draft,
        session=SessionId(_settled(draft.session)),
        call=CallId(_settled(draft.call)),
        tool=_settled(draft.tool),
        command=_settled(draft.command),
        cwd=_settled(draft.cwd),
        bot=BotName(_settled(draft.bot)),
        requester=_settled(draft.requester),
        decider=_settled(draft.decider),
        digest=Digest(_settled(draft.digest)),
        stage=_settled(draft.stage),
        rule=_settled(draft.rule),
        reason=_settled(draft.reason),
        approval=None if draft.approval is None else ApprovalId(_settled(draft.approval)),
        profile=_settled(draft.profile),
        detail=_settled(draft.detail),
    )


def _settled(text: str) -> str:
    clean = storable(text)
    if len(clean) * 4 <= TEXT_LIMIT:
        return clean
    data = clean.encode()
    if len(data) <= TEXT_LIMIT:
        return clean
    kept = data[: TEXT_LIMIT - 64].decode(errors="ignore")
    return f"{kept}… ({len(data) - len(kept.encode())} more bytes)"


def canonical(event: AuditEvent, version: int = VERSION) -> bytes:
    """The bytes whose SHA-256 is the hash of ``event``. KeyError for a version that does not exist."""
    bound: dict[str, object] = {name: getattr(event.draft, name) for name in BOUND[version]}
    bound |= {"v": version, "seq": event.seq, "instance": event.instance, "previous": event.previous}
    return _ENCODER.encode(bound).encode()


def fingerprint(event: AuditEvent, version: int = VERSION) -> str:
    """The hash that ``event`` ought to carry."""
    return hashlib.sha256(canonical(event, version)).hexdigest()


def link(draft: EventDraft, after: Mark, instance: str) -> AuditEvent:
    """``draft``, settled, in the place that follows ``after``, written by ``instance``."""
    settled = settle(draft)
    bare = AuditEvent(after.seq + 1, instance, settled, after.hash, "")
    return AuditEvent(bare.seq, instance, settled, after.hash, fingerprint(bare))


class Verifier:
    """Reads a record once, oldest event first, and names the first thing that is wrong with it.

    ``anchor`` is a place that must lie in the record (or in the part that was pruned); ``against`` is a hash that was
    noted elsewhere and must be found. Memory does not grow with the record.
    """

    def __init__(self, anchor: Mark | None = None, against: str = "") -> None:
        self._anchor = anchor
        self._anchored = False
        self._against = against
        self._found = not against
        self._first: Mark | None = None
        self._last = START
        self._events = 0
        self._pruned = START
        self._gap: ChainFault | None = None
        self._fault: ChainFault | None = None

    def feed(self, event: AuditEvent, version: int) -> None:
        """The next event, in the order of sequence numbers."""
        self._note(self._judge(event, version))
        if self._first is None:
            self._first = Mark(event.seq - 1, event.previous)
        self._events += 1
        self._last = Mark(event.seq, event.hash)
        self._found = self._found or event.hash == self._against
        self._remember(event.seq, event.draft)

    def unreadable(self, seq: int, why: str) -> None:
        """The next row is no event at all."""
        self._note(ChainFault(seq, f"cannot be read: {why}"))
        self._events += 1
        self._last = Mark(seq, "")
        if self._first is None:
            self._first = Mark(seq - 1, "")

    def finish(self, head: Mark) -> ChainReport:
        """The judgement, once every event has been fed; ``head`` is where the store says the record ends."""
        first = self._first or self._pruned
        beginning = self._beginning(first)
        if self._fault is not None and self._fault.seq == first.seq + 1:
            beginning = None  # an event that is bad itself says nothing about what was before it
        fault = beginning or self._fault or self._end(head) or self._gap
        return ChainReport(self._events, first.seq + 1 if self._events else 0, self._last, fault)

    def _note(self, fault: ChainFault | None) -> None:
        if self._fault is None:
            self._fault = fault

    def _judge(self, event: AuditEvent, version: int) -> ChainFault | None:
        if self._first is not None:
            if event.seq != self._last.seq + 1:
                return ChainFault(event.seq, f"follows event {self._last.seq}; what was between them is missing")
            if event.previous != self._last.hash:
                return ChainFault(event.seq, f"does not carry the hash of event {self._last.seq}")
        if version not in BOUND:
            return ChainFault(event.seq, f"has the unknown version {version}")
        if event.hash != fingerprint(event, version):
            return ChainFault(event.seq, "its content does not match its hash")
        if self._anchor is not None and event.seq == self._anchor.seq:
            self._anchored = True
            if event.hash != self._anchor.hash:
                return ChainFault(event.seq, "is not the event that this host's anchor remembers")
        return None

    def _remember(self, seq: int, draft: EventDraft) -> None:
        if draft.kind is EventKind.PRUNED:
            self._pruned = pruned_mark(draft) or self._pruned
            self._found = self._found or self._pruned.hash == self._against
        elif draft.kind is EventKind.GAP and self._gap is None:
            self._gap = ChainFault(seq, f"reports a gap that nobody has acknowledged: {draft.reason}")
        elif draft.kind is EventKind.ACKNOWLEDGED:
            self._gap = None

    def _beginning(self, first: Mark) -> ChainFault | None:
        if first in (START, self._pruned):
            return None
        return ChainFault(first.seq + 1, "is the oldest one kept, and no pruned event accounts for what came before")

    def _end(self, head: Mark) -> ChainFault | None:
        if head != self._last:
            return ChainFault(self._last.seq, f"is the last one, but the record ended with event {head.seq}")
        anchor = self._anchor
        if anchor is not None and not self._anchored and anchor.seq >= self._pruned.seq and anchor != self._pruned:
            return ChainFault(self._last.seq, f"is the last one, but this host's anchor remembers event {anchor.seq}")
        if not self._found:
            return ChainFault(self._last.seq, f"is the last one, and none of the record has the hash {self._against}")
        return None


def prune_draft(boundary: Mark, at_ms: int, decider: str) -> EventDraft:
    """The event that accounts for the removal of everything up to and including ``boundary``."""
    return EventDraft(
        kind=EventKind.PRUNED,
        at_ms=at_ms,
        session=SessionId(""),
        call=CallId(""),
        tool="",
        command="",
        decider=decider,
        digest=Digest(boundary.hash),
        reason=f"events up to {boundary.seq} were removed",
        detail=str(boundary.seq),
    )


def pruned_mark(draft: EventDraft) -> Mark | None:
    """The last event that a PRUNED event says was removed; None if it says nothing of the kind."""
    return Mark(int(draft.detail), draft.digest) if draft.detail.isdecimal() else None


def gap_draft(why: str, remembered: Mark | None, at_ms: int) -> EventDraft:
    """The event that says the record is shorter than, or other than, what was ``remembered``."""
    return EventDraft(
        kind=EventKind.GAP,
        at_ms=at_ms,
        session=SessionId(""),
        call=CallId(""),
        tool="",
        command="",
        digest=Digest("" if remembered is None else remembered.hash),
        reason=why,
        detail="" if remembered is None else str(remembered.seq),
    )
