"""The chain, without a database: what is hashed, how events are linked, and what verifying finds."""

import json
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtbot.audit import (
    BOUND,
    ENDS,
    GENESIS,
    START,
    TEXT_LIMIT,
    VERSION,
    ChainFault,
    ChainReport,
    Mark,
    Verifier,
    canonical,
    fingerprint,
    gap_draft,
    link,
    prune_draft,
    pruned_mark,
    settle,
    storable,
)
from mtbot.domain.ids import ApprovalId, BotName, CallId, ChatId, Digest, SessionId, ThreadId
from mtbot.domain.record import AuditEvent, EventDraft, EventKind, Via, Word

HERE = "nas:0a1b2c3d:42:1000"


def a_draft(kind: EventKind = EventKind.PROPOSED, call: str = "c1", at_ms: int = 1000) -> EventDraft:
    """An event as the gate would write it."""
    return EventDraft(kind, at_ms, SessionId("cli:local"), CallId(call), "exec", "ls -l")


def a_chain(*drafts: EventDraft) -> list[AuditEvent]:
    """Those drafts, linked from the start."""
    events: list[AuditEvent] = []
    mark = START
    for draft in drafts:
        events.append(link(draft, mark, HERE))
        mark = Mark(events[-1].seq, events[-1].hash)
    return events


def verdict(
    events: list[AuditEvent], head: Mark | None = None, anchor: Mark | None = None, against: str = ""
) -> ChainReport:
    """What a verifier says of those events."""
    verifier = Verifier(anchor, against)
    for event in events:
        verifier.feed(event, VERSION)
    return verifier.finish(head or (mark_of(events[-1]) if events else START))


def mark_of(event: AuditEvent) -> Mark:
    """The place of an event."""
    return Mark(event.seq, event.hash)


def three() -> list[AuditEvent]:
    """A short whole record."""
    return a_chain(a_draft(), a_draft(EventKind.STARTED), a_draft(EventKind.FINISHED))


class TestBytes:
    """What is hashed."""

    def test_the_canonical_bytes_of_version_one_never_change(self) -> None:
        """An old record must verify for ever, so the bytes and the hash are pinned here."""
        draft = EventDraft(
            kind=EventKind.DECIDED,
            at_ms=1_700_000_000_000,
            session=SessionId("telegram:ops:-1001:7"),
            call=CallId("c9"),
            tool="exec",
            command="echo ‹secret:3f9a›",
            cwd="/srv",
            bot=BotName("ops"),
            chat=ChatId(-1001),
            thread=ThreadId(7),
            message=12,
            requester="telegram:1001",
            decider="telegram:1002",
            via=Via.BUTTON,
            digest=Digest("d" * 64),
            word=Word.APPROVED,
            stage="person",
            rule="files.rm",
            reason="no rule allows it",
            approval=ApprovalId("K7QD"),
            profile="host",
            exit_code=0,
            duration_ms=5,
            dropped=0,
            detail="x",
        )
        event = AuditEvent(3, HERE, draft, "a" * 64, "")
        assert canonical(event, 1) == (
            b'{"approval":"K7QD","at_ms":1700000000000,"bot":"ops","call":"c9","chat":-1001,'
            b'"command":"echo \\u2039secret:3f9a\\u203a","cwd":"/srv","decider":"telegram:1002","detail":"x",'
            b'"digest":"' + b"d" * 64 + b'","dropped":0,"duration_ms":5,"exit_code":0,'
            b'"instance":"nas:0a1b2c3d:42:1000","kind":"decided","message":12,'
            b'"previous":"' + b"a" * 64 + b'","profile":"host","reason":"no rule allows it",'
            b'"requester":"telegram:1001","rule":"files.rm","seq":3,"session":"telegram:ops:-1001:7",'
            b'"stage":"person","thread":7,"tool":"exec","v":1,"via":"button","word":"approved"}'
        )
        assert fingerprint(event) == "f27f2c4a3a22e701fe84c2f45b01d9828e4345deb17bb67e087784035fe16b75"

    def test_every_field_of_a_draft_is_bound_by_the_newest_version(self) -> None:
        """A field that is not hashed could be edited unseen."""
        assert set(BOUND[VERSION]) == {field.name for field in fields(EventDraft)}
        assert max(BOUND) == VERSION

    def test_a_missing_number_differs_from_zero(self) -> None:
        """An exit code of 0 and no exit code are different statements."""
        assert link(replace(a_draft(), exit_code=0), START, HERE).hash != link(a_draft(), START, HERE).hash

    @given(st.sampled_from(sorted(BOUND[VERSION])), st.text(min_size=1))
    def test_changing_any_field_changes_the_hash(self, name: str, text: str) -> None:
        """No field can be edited without its event failing."""
        event = link(a_draft(), START, HERE)
        before = json.loads(canonical(event))
        number = isinstance(before[name], int) or name in ("thread", "message", "exit_code", "duration_ms", "dropped")
        value: object = 987_654 if number else f"{before[name]}{text}"
        changed = replace(event, draft=replace(event.draft, **{name: value}))  # type: ignore[arg-type]  # on purpose
        assert fingerprint(changed) != event.hash

    def test_an_unknown_version_has_no_bytes(self) -> None:
        """Nothing guesses how a later version hashes."""
        with pytest.raises(KeyError):
            canonical(link(a_draft(), START, HERE), 99)


class TestSettle:
    """What is stored equals what is hashed."""

    def test_nul_and_lone_surrogates_become_storable(self) -> None:
        """PostgreSQL refuses NUL, and UTF-8 has no lone surrogates; both can come from a model."""
        assert storable("a\x00b\ud800c😀") == "a␀b�c😀"

    def test_plain_text_stays_as_it_is(self) -> None:
        """Nothing is changed without need."""
        assert storable("ls\t-l\n") == "ls\t-l\n"
        assert settle(a_draft()) == a_draft()

    def test_a_long_text_is_cut_at_a_character_and_says_so(self) -> None:
        """400 KB of command must not fill the record, and no half character may enter it."""
        command = "あ" * 30_000
        kept = settle(replace(a_draft(), command=command)).command
        assert len(kept.encode()) <= TEXT_LIMIT
        text, _, rest = kept.partition("…")
        assert set(text) == {"あ"}
        assert rest == f" ({90_000 - len(text.encode())} more bytes)"

    def test_a_text_of_exactly_the_limit_is_whole(self) -> None:
        """The limit itself is allowed."""
        command = "x" * TEXT_LIMIT
        assert settle(replace(a_draft(), command=command)).command == command

    @given(st.text(alphabet=st.characters(codec=None), max_size=50))
    def test_settling_twice_changes_nothing_more(self, text: str) -> None:
        """The store may settle what was settled already."""
        once = settle(replace(a_draft(), command=text, approval=ApprovalId(text)))
        assert settle(once) == once
        once.command.encode()


class TestLink:
    """Places in the chain."""

    def test_the_first_event_follows_the_start(self) -> None:
        """Event 1 carries the agreed first hash."""
        event = link(a_draft(), START, HERE)
        assert (event.seq, event.previous, event.instance) == (1, GENESIS, HERE)
        assert event.hash == fingerprint(event)

    def test_an_event_carries_the_hash_of_the_one_before_it(self) -> None:
        """This is what makes it a chain."""
        first, second, third = three()
        assert [second.previous, third.previous] == [first.hash, second.hash]
        assert [first.seq, second.seq, third.seq] == [1, 2, 3]

    def test_ends_are_the_three_kinds_that_close_a_start(self) -> None:
        """Recovery and pruning read this set."""
        assert {EventKind.FINISHED, EventKind.FAILED, EventKind.INTERRUPTED} == ENDS


class TestVerifier:
    """What verifying finds."""

    def test_an_empty_record_is_whole(self) -> None:
        """A fresh database is fine."""
        assert verdict([]) == ChainReport(0, 0, START, None)

    def test_a_whole_record_is_whole(self) -> None:
        """Nothing is wrong, and the numbers say what was seen."""
        events = three()
        report = verdict(events, anchor=mark_of(events[1]), against=events[0].hash)
        assert report == ChainReport(3, 1, mark_of(events[2]), None)
        assert report.whole

    def test_an_edited_event_is_named(self) -> None:
        """Changing a text without its hash shows at that event."""
        events = three()
        events[1] = replace(events[1], draft=replace(events[1].draft, command="ls"))
        report = verdict(events)
        assert report.fault == ChainFault(2, "its content does not match its hash")
        assert not report.whole
        assert str(report.fault) == "event 2: its content does not match its hash"

    def test_an_edit_with_a_new_hash_shows_at_the_next_event(self) -> None:
        """Recomputing one hash is not enough."""
        events = three()
        changed = replace(events[1], draft=replace(events[1].draft, command="ls"))
        events[1] = replace(changed, hash=fingerprint(changed))
        assert verdict(events).fault == ChainFault(3, "does not carry the hash of event 2")

    def test_a_removed_event_is_named(self) -> None:
        """A hole in the middle shows at the event behind it."""
        first, _, third = three()
        assert verdict([first, third]).fault == ChainFault(3, "follows event 1; what was between them is missing")

    def test_a_cut_tail_shows_against_the_head(self) -> None:
        """The store's own head remembers the end."""
        events = three()
        assert verdict(events[:2], head=mark_of(events[2])).fault == ChainFault(
            2, "is the last one, but the record ended with event 3"
        )

    def test_a_record_that_was_emptied_shows_against_the_head(self) -> None:
        """Deleting everything is found as well."""
        assert verdict([], head=mark_of(three()[2])).fault == ChainFault(
            0, "is the last one, but the record ended with event 3"
        )

    def test_a_cut_tail_with_its_head_shows_against_the_anchor(self) -> None:
        """Whoever edits the database does not reach the file beside it."""
        events = three()
        assert verdict(events[:2], anchor=mark_of(events[2])).fault == ChainFault(
            2, "is the last one, but this host's anchor remembers event 3"
        )

    def test_a_rewritten_record_shows_at_the_anchor(self) -> None:
        """A chain that was computed anew has another hash where the anchor is."""
        old, new = three(), a_chain(a_draft(call="x"), a_draft(EventKind.STARTED), a_draft(EventKind.FINISHED))
        assert verdict(new, anchor=mark_of(old[1])).fault == ChainFault(
            2, "is not the event that this host's anchor remembers"
        )

    def test_a_rewritten_record_shows_against_a_hash_noted_elsewhere(self) -> None:
        """`verify --against` finds what a recomputed chain and anchor would hide."""
        noted = three()[2].hash
        new = a_chain(a_draft(call="x"))
        assert verdict(new, against=noted).fault == ChainFault(
            1, f"is the last one, and none of the record has the hash {noted}"
        )

    def test_a_removed_beginning_is_named(self) -> None:
        """Only a pruned event may account for a missing prefix."""
        events = three()
        assert verdict(events[1:]).fault == ChainFault(
            2, "is the oldest one kept, and no pruned event accounts for what came before"
        )

    def test_the_first_event_must_carry_the_agreed_hash(self) -> None:
        """A chain that begins at 1 with another past is not ours."""
        event = link(a_draft(), Mark(0, "f" * 64), HERE)
        assert verdict([event]).fault == ChainFault(
            1, "is the oldest one kept, and no pruned event accounts for what came before"
        )

    def test_a_pruned_beginning_is_whole(self) -> None:
        """The hash of what was removed is on record, so the rest still verifies, also from an older anchor."""
        first, second, third = three()
        pruned = link(prune_draft(mark_of(second), 2000, "local:1000"), mark_of(third), HERE)
        assert verdict([third, pruned]) == ChainReport(2, 3, mark_of(pruned), None)
        for anchor in (mark_of(first), mark_of(second), mark_of(third)):
            assert verdict([third, pruned], anchor=anchor).whole
        assert verdict([third, pruned], against=second.hash).whole

    def test_an_anchor_at_the_pruned_boundary_must_have_its_hash(self) -> None:
        """The last event that was removed is still known by its hash."""
        _, second, third = three()
        pruned = link(prune_draft(mark_of(second), 2000, "local:1000"), mark_of(third), HERE)
        assert verdict([third, pruned], anchor=Mark(2, "e" * 64)).fault == ChainFault(
            4, "is the last one, but this host's anchor remembers event 2"
        )

    def test_everything_but_the_pruned_event_may_be_gone(self) -> None:
        """Pruning can go up to the end."""
        third = three()[2]
        pruned = link(prune_draft(mark_of(third), 2000, "local:1000"), mark_of(third), HERE)
        assert verdict([pruned]).whole

    def test_a_pruned_event_that_names_no_number_accounts_for_nothing(self) -> None:
        """A forged one does not help."""
        third = three()[2]
        forged = replace(prune_draft(mark_of(third), 2000, ""), detail="all")
        assert pruned_mark(forged) is None
        assert verdict([link(forged, mark_of(third), HERE)]).fault == ChainFault(
            4, "is the oldest one kept, and no pruned event accounts for what came before"
        )

    def test_a_gap_stays_red_until_it_is_acknowledged(self) -> None:
        """A start reports and never repairs."""
        gap = gap_draft("the record ends with event 1, but this host remembers event 9", Mark(9, "9" * 64), 3000)
        events = a_chain(a_draft(), gap, gap_draft("again", None, 3001), a_draft())
        assert verdict(events).fault == ChainFault(
            2,
            "reports a gap that nobody has acknowledged: the record ends with event 1, but this host remembers event 9",
        )
        known = link(a_draft(EventKind.ACKNOWLEDGED), mark_of(events[-1]), HERE)
        assert verdict([*events, known]).whole
        late = link(gap_draft("later", None, 4000), mark_of(known), HERE)
        assert verdict([*events, known, late]).fault == ChainFault(
            6, "reports a gap that nobody has acknowledged: later"
        )

    def test_a_gap_keeps_what_was_remembered(self) -> None:
        """The anchor moves on afterwards, so the chain takes over its memory."""
        gap = gap_draft("why", Mark(9, "9" * 64), 3000)
        assert (gap.kind, gap.detail, gap.digest, gap.reason) == (EventKind.GAP, "9", "9" * 64, "why")
        bare = gap_draft("why", None, 3000)
        assert (bare.detail, bare.digest) == ("", "")

    def test_an_unknown_version_is_named(self) -> None:
        """An event that this program cannot hash is not waved through."""
        verifier = Verifier()
        (event,) = a_chain(a_draft())
        verifier.feed(event, 99)
        assert verifier.finish(mark_of(event)).fault == ChainFault(1, "has the unknown version 99")

    def test_a_row_that_is_no_event_is_named(self) -> None:
        """Somebody may write a word that does not exist."""
        events = three()
        verifier = Verifier()
        verifier.feed(events[0], VERSION)
        verifier.unreadable(2, "'x' is not a valid EventKind")
        verifier.feed(events[2], VERSION)
        assert verifier.finish(mark_of(events[2])).fault == ChainFault(
            2, "cannot be read: 'x' is not a valid EventKind"
        )

    def test_a_first_row_that_is_no_event_is_named(self) -> None:
        """What is wrong with it is said, and not that something before it is missing."""
        verifier = Verifier()
        verifier.unreadable(1, "broken")
        report = verifier.finish(Mark(1, "f" * 64))
        assert report == ChainReport(1, 1, Mark(1, ""), ChainFault(1, "cannot be read: broken"))

    def test_the_first_fault_is_reported_and_not_the_last(self) -> None:
        """Whoever looks begins where it began."""
        events = three()
        events[0] = replace(events[0], draft=replace(events[0].draft, command="x"))
        events[2] = replace(events[2], draft=replace(events[2].draft, command="x"))
        assert verdict(events).fault == ChainFault(1, "its content does not match its hash")

    @given(
        st.lists(st.sampled_from([EventKind.PROPOSED, EventKind.DECIDED, EventKind.FINISHED]), min_size=2), st.data()
    )
    def test_removing_or_swapping_any_event_is_found(self, kinds: list[EventKind], data: st.DataObject) -> None:
        """Property: no single removal or swap leaves a record whole."""
        events = a_chain(*(a_draft(kind, f"c{number}") for number, kind in enumerate(kinds)))
        head = mark_of(events[-1])
        place = data.draw(st.integers(0, len(events) - 1))
        assert not verdict(events[:place] + events[place + 1 :], head=head).whole
        other = data.draw(st.integers(0, len(events) - 1))
        if place != other:
            events[place], events[other] = events[other], events[place]
            assert not verdict(events, head=head).whole
