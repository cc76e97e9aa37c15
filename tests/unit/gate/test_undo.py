"""What is done with the trash is on record before it is done, and what policy refuses is not done."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from mtbot.domain.again import Keep
from mtbot.domain.call import Below, Target, TargetKind, Weight
from mtbot.domain.errors import NotAllowed, RecordUnavailable, StateError
from mtbot.domain.ids import ApprovalId, CallId, Digest
from mtbot.domain.record import AuditEvent, EventDraft, EventKind, Via, Word
from mtbot.domain.trash import Trashed
from mtbot.domain.turn import Actor, ActorKind
from mtbot.gate.facts import FactFinder, Surroundings
from mtbot.gate.gate import GateProfile
from mtbot.gate.undo import HOST, Ground, TrashKeeper
from mtbot.policy.ruleset import Root, RuleSet
from mtbot.redaction.mask import Redactor
from tests.unit.approvals.samples import Clock, Names, approval

CHIEF = Actor(ActorKind.TELEGRAM, 1001, "Chief")
OWNER = Actor(ActorKind.LOCAL, 1000, "chief")
OLD = Trashed("ABCDEF", CallId("c1"), ("/srv/ws/old",), overwritten=False, files=2, size=7, at_ms=10, until_ms=100)
NEW = replace(OLD, id="GHJKLM", call=CallId("c2"), paths=("/srv/ws/b",), at_ms=20, until_ms=200)


@dataclass
class Log:
    """A record that a test reads; ``broken`` refuses to begin anything."""

    drafts: list[EventDraft] = field(default_factory=list)
    broken: bool = False

    async def append(self, *drafts: EventDraft) -> tuple[AuditEvent, ...]:
        """Note."""
        self.drafts += drafts
        return tuple(AuditEvent(len(self.drafts), "", draft, "", "") for draft in drafts)

    async def start(
        self,
        draft: EventDraft,
        approval: ApprovalId | None,
        grant: ApprovalId | None = None,
        keep: Keep | None = None,
    ) -> AuditEvent:
        """Note, unless broken."""
        assert (approval, grant, keep) == (None, None, None)
        if self.broken:
            raise RecordUnavailable("the disk is full")
        return (await self.append(draft))[0]

    async def end(self, draft: EventDraft, started: int) -> AuditEvent:
        """Note."""
        del started
        return (await self.append(draft))[0]

    def told(self) -> list[tuple[str, ...]]:
        """What is on record, without what is the same everywhere."""
        return [
            (one.kind.value, one.tool, one.word.value, one.via.value, one.decider, one.rule, one.reason)
            for one in self.drafts
        ]


@dataclass
class Bin:
    """A trash that notes what is done at which length of the record."""

    log: Log
    inside: list[Trashed] = field(default_factory=lambda: [OLD, NEW])
    done: list[tuple[str, int]] = field(default_factory=list)
    fault: str = ""

    async def listed(self) -> tuple[Trashed, ...]:
        """All."""
        return tuple(self.inside)

    async def bring_back(self, ident: str) -> None:
        """Take it out."""
        await self.remove(ident)

    async def remove(self, ident: str) -> None:
        """Take it out, or fail."""
        if self.fault:
            raise StateError(self.fault)
        self.done.append((ident, len(self.log.drafts)))
        self.inside = [one for one in self.inside if one.id != ident]


class World:
    """Nothing lies anywhere."""

    async def resolve(self, written: str, cwd: str) -> Target:
        """Itself."""
        return Target(written, written, TargetKind.MISSING)

    async def digest(self, path: str) -> Digest | None:
        """None."""

    async def below(self, path: str) -> Below:
        """Nothing."""
        return Below.NOTHING

    async def weigh(self, path: str) -> Weight | None:
        """Nothing."""

    async def repository_keys(self, directory: str) -> frozenset[str] | None:
        """None."""

    async def program(self, word: str, cwd: str, path: Sequence[str] = ()) -> str | None:
        """None."""


@pytest.fixture
def log() -> Log:
    """An empty record."""
    return Log()


@pytest.fixture
def bin_(log: Log) -> Bin:
    """A trash with two entries."""
    return Bin(log)


def keeper(bin_: Bin, *, root: str = "", now: int = 150) -> TrashKeeper:
    """For the host, or with ``root`` for a chat whose profile has that root."""
    profile = GateProfile({}, RuleSet(roots=(Root(root),)), "/srv/ws", (), 1.0, Surroundings("/", ()))
    ground = Ground(lambda _: profile, FactFinder(World())) if root else None
    return TrashKeeper(bin_, bin_.log, Names(), Clock(now), Redactor({}, b"k"), ground)


ASKED = approval()


async def test_a_press_brings_back_what_its_call_took_away(bin_: Bin, log: Log) -> None:
    """Started before it is done, ended after it, in the session of the chat and by the presser."""
    await keeper(bin_, root="/srv/ws").undo(ASKED, CHIEF, Via.BUTTON)
    assert bin_.done == [("ABCDEF", 3)]
    why = "restore asks first"
    assert log.told() == [
        ("proposed", "restore", "", "", "", "", ""),
        ("decided", "restore", "", "policy", "", "tool.asks", why),
        ("started", "restore", "approved", "button", "telegram:1001", "tool.asks", why),
        ("finished", "restore", "approved", "button", "telegram:1001", "tool.asks", ""),
    ]
    assert {(one.session, one.requester, one.command) for one in log.drafts} == {
        (ASKED.address.session, "telegram:1001", "id=ABCDEF paths=/srv/ws/old")
    }
    with pytest.raises(StateError, match="not in the trash any more"):
        await keeper(bin_, root="/srv/ws").undo(ASKED, CHIEF, Via.BUTTON)


async def test_what_policy_refuses_by_now_does_not_come_back(bin_: Bin, log: Log) -> None:
    """The roots were narrowed meanwhile: a press does not lift that."""
    with pytest.raises(NotAllowed, match="Not restored: /srv/ws/old leads outside the roots"):
        await keeper(bin_, root="/srv/other").undo(ASKED, CHIEF, Via.BUTTON)
    assert bin_.done == []
    assert [one[:3] for one in log.told()] == [("proposed", "restore", ""), ("decided", "restore", "denied_rule")]


async def test_nothing_is_done_without_its_record(bin_: Bin, log: Log) -> None:
    """A full disk keeps everything in the trash."""
    log.broken = True
    with pytest.raises(RecordUnavailable):
        await keeper(bin_).restore("ABCDEF", OWNER, Via.CLI)
    with pytest.raises(RecordUnavailable):
        await keeper(bin_).expire()
    assert bin_.done == []


async def test_a_failure_is_on_record_and_told(bin_: Bin, log: Log) -> None:
    """The reason reaches whoever asked."""
    bin_.fault = "something else lies there"
    with pytest.raises(StateError, match="something else lies there"):
        await keeper(bin_).restore("ABCDEF", OWNER, Via.CLI)
    assert (log.drafts[-1].kind, log.drafts[-1].reason) == (EventKind.FAILED, "failed")


async def test_the_owner_of_the_host_restores_by_id(bin_: Bin, log: Log) -> None:
    """In a session of its own, by uid; an unknown id is said to be one."""
    assert await keeper(bin_).restore("GHJKLM", OWNER, Via.CLI) == NEW
    assert bin_.done == [("GHJKLM", 3)]
    assert {(one.session, one.word, one.decider) for one in log.drafts[2:]} == {
        (HOST.session, Word.APPROVED, "local:1000")
    }
    with pytest.raises(StateError, match="nothing called ZZZZZZ"):
        await keeper(bin_).restore("ZZZZZZ", OWNER, Via.CLI)


@pytest.mark.parametrize(("before", "gone"), [(10, ()), (11, (OLD,)), (21, (OLD, NEW))])
async def test_only_what_is_older_is_emptied(bin_: Bin, log: Log, before: int, gone: tuple[Trashed, ...]) -> None:
    """By one call, which names all of it; nothing to do leaves no record."""
    assert await keeper(bin_).empty(before, OWNER, Via.CLI) == gone
    assert [ident for ident, _ in bin_.done] == [one.id for one in gone]
    assert [one.kind for one in log.drafts] == (
        [EventKind.PROPOSED, EventKind.DECIDED, EventKind.STARTED, EventKind.FINISHED] if gone else []
    )
    if gone:
        paths = ", ".join(path for one in gone for path in one.paths)
        assert log.drafts[0].command == f"ids={', '.join(one.id for one in gone)} paths={paths}"


async def test_what_has_lapsed_goes_by_the_rule_that_said_so(bin_: Bin, log: Log) -> None:
    """At the very moment that was promised, by nobody's hand."""
    assert await keeper(bin_, now=99).expire() == ()
    assert await keeper(bin_, now=100).expire() == (OLD,)
    assert [(one.word, one.via, one.rule, one.decider) for one in log.drafts[1:]] == [
        (Word.ALLOWED_RULE, Via.POLICY, "trash.keep_days", "")
    ] * 3
