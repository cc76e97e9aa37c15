"""Requests and rulings over a real database: asked once, decided once, by who may, in time, and on record."""

import asyncio
from dataclasses import replace

import pytest

from mtbot.approvals.desk import NAME_TRIES
from mtbot.bootstrap.stores import stores_of
from mtbot.domain.call import Decision, Outcome, Stage, Status, Verdict
from mtbot.domain.errors import AlreadyDecided, NoSuchApproval, NotAllowed, NotUsable, RecordUnavailable
from mtbot.domain.ids import ApprovalId, CallId, ChatId, UserId
from mtbot.domain.record import (
    Approval,
    ApprovalState,
    EventDraft,
    EventKind,
    OutboxItem,
    OutKind,
    Ruling,
    Via,
    Word,
)
from mtbot.domain.turn import SYSTEM, Actor
from mtbot.policy.people import Approvers, BotPeople, Deciders
from mtbot.storage.engine import Database
from mtbot.storage.place import SqlitePlace
from tests.unit.approvals.office import DEPLOYS, NOT_REQUESTER, Office, no, yes
from tests.unit.approvals.samples import (
    BOT,
    CHIEF,
    DEPLOY,
    GROUP,
    HOST,
    MINUTE,
    PRIVATE,
    REDACTOR,
    REVIEW,
    START,
    STRANGER,
    Names,
    call,
    people,
    plain,
    question,
    safe,
    state,
)


class TestAsking:
    """A question is a row before it is a message."""

    async def test_request_turn_event_and_question_are_written_together(self, office: Office) -> None:
        """All there when it returns, and the outbox is woken."""
        ident = await office.ask()
        row = await office.stores.consents.get(ident)
        assert row == Approval(
            id=ident,
            call=CallId("c1"),
            turn=state().id,
            address=GROUP,
            requester=DEPLOY,
            tool="exec",
            command="./deploy.sh",
            digest=DEPLOYS.digest,
            card=row.card,
            token="token-2",
            opened_ms=START,
            expires_ms=START + 30 * MINUTE,
        )
        assert plain(row.card).startswith(f"Run this on nas?  #{ident}\n```\n./deploy.sh\n```\n1 script\n")
        assert await office.stores.consents.parked(row.turn) == state(DEPLOYS.call)
        assert await office.stores.consents.pending() == (row,)
        assert await office.said() == [OutboxItem(OutKind.CARD, GROUP, card=row.card, quote=6, approval=ident)]
        assert await office.events() == [
            EventDraft(
                EventKind.APPROVAL_REQUESTED,
                START,
                GROUP.session,
                CallId("c1"),
                "exec",
                "./deploy.sh",
                cwd="/srv/media",
                bot=BOT,
                chat=GROUP.chat,
                thread=GROUP.thread,
                requester="telegram:1002",
                digest=DEPLOYS.digest,
                stage="person",
                reason='no rule allows "docker compose pull"',
                approval=ident,
            )
        ]
        assert office.wakes == 1

    async def test_where_nobody_may_decide_it_goes_to_somebody_who_may(self, office: Office) -> None:
        """To the owner's own chat, quoting nothing there; the request still belongs to where it arose."""
        office.people = people(NOT_REQUESTER)
        what = question(call(address=replace(PRIVATE, chat=ChatId(1002)), requester=DEPLOY))
        row = await office.stores.consents.get(await office.ask(what))
        assert (row.address, row.asked_at) == (what.call.address, PRIVATE)
        assert "Asked by Deploy · Chief or Review decide · open until 19:36" in plain(row.card)
        said = await office.said()
        assert [(item.address, item.quote) for item in said] == [(PRIVATE, None)]

    async def test_no_question_lapses_at_once(self, office: Office) -> None:
        """A time-out of nothing is a second."""
        office.timeout = 0
        assert (await office.stores.consents.get(await office.ask())).expires_ms == START + 1000

    async def test_a_name_that_is_taken_is_replaced(self, office: Office) -> None:
        """Short names come up again, also those of old requests."""
        office.names = Names(["K7QD", "K7QD", "K7QD", "M3XA"])
        first = await office.ask()
        await office.desk().decide(first, no())
        second = await office.ask(question(call("id", ident="c2", turn="t2")))
        assert (first, second) == ("K7QD", "M3XA")
        assert (await office.stores.consents.get(second)).card.title == "Run this on nas?  #M3XA"
        assert [draft.approval for draft in await office.events("c2")] == ["M3XA"]

    async def test_without_a_free_name_nothing_is_asked(self, office: Office) -> None:
        """And the caller hears that nothing was written."""
        office.names = Names(["K7QD"] * (NAME_TRIES + 1))
        await office.ask()
        what = question(call("id", ident="c2", turn="t2"))
        with pytest.raises(RecordUnavailable, match="no free name"):
            await office.ask(what)
        assert [row.id for row in await office.stores.consents.pending()] == ["K7QD"]
        assert await office.stores.consents.parked(what.call.turn) is None
        assert await office.events("c2") == []

    async def test_where_nothing_can_be_written_nothing_is_asked(self, office: Office, place: SqlitePlace) -> None:
        """Not even said."""
        looking = await Database.open_read_only(place)
        desk = office.desk(stores_of(looking, REDACTOR.mask))
        with pytest.raises(RecordUnavailable):
            await desk.ask(DEPLOYS, state(DEPLOYS.call))
        await looking.close()
        assert office.wakes == 0
        assert await office.said() == []


class TestDeciding:
    """One compare-and-set, with its event."""

    async def test_a_yes_is_written_with_its_event_and_shown(self, office: Office) -> None:
        """The row, the record, the edit below the question, and the turn that can go on."""
        ident = await office.ask()
        before = await office.stores.consents.get(ident)
        await office.said()
        office.clock.now += MINUTE
        ruled = await office.desk().decide(ident, yes(REVIEW))
        ruling = Ruling(ApprovalState.APPROVED, REVIEW, Via.BUTTON, START + MINUTE)
        assert ruled == replace(before, state=ApprovalState.APPROVED, ruling=ruling)
        assert await office.stores.consents.get(ident) == ruled
        assert await office.stores.consents.resumable() == (ruled,)
        card = before.card.closed(safe("✅ Approved once by Review 19:07"))
        assert await office.said() == [OutboxItem(OutKind.EDIT, GROUP, card=card, approval=ident, silent=True)]
        requested, resolved = await office.events()
        assert resolved == replace(
            requested,
            kind=EventKind.APPROVAL_RESOLVED,
            at_ms=START + MINUTE,
            cwd="",
            decider="telegram:1003",
            via=Via.BUTTON,
            word=Word.APPROVED,
            reason="",
        )
        assert office.wakes == 2

    async def test_a_no_keeps_its_reason_and_no_secret(self, office: Office) -> None:
        """Word for word for the model, masked for every sink."""
        ident = await office.ask()
        ruled = await office.desk().decide(ident, no(DEPLOY, "not with swordfish9\nplease"))
        masked = str(safe("not with swordfish9\nplease"))
        assert ruled.ruling == Ruling(ApprovalState.DENIED, DEPLOY, Via.REPLY, START, masked)
        assert [(one.word, one.reason) for one in await office.events()][1] == (Word.DENIED_USER, masked)
        assert "swordfish9" not in masked

    async def test_of_fifty_deciders_one_is_first(self, office: Office, place: SqlitePlace) -> None:
        """Two processes, presses and commands, yes and no: one ruling, one event, and everybody else reads whose it was."""
        ident = await office.ask()
        other = await Database.open_for_writing(place)
        desks = (office.desk(), office.desk(stores_of(other, REDACTOR.mask)))
        rulings = [yes(CHIEF), no(REVIEW, "no"), yes(REVIEW, Via.COMMAND), no(DEPLOY), yes(HOST, Via.CLI)] * 10
        results = await asyncio.gather(
            *(desks[number % 2].decide(ident, ruling) for number, ruling in enumerate(rulings)), return_exceptions=True
        )
        await other.close()
        winners = [one for one in results if isinstance(one, Approval)]
        losers = [one for one in results if isinstance(one, AlreadyDecided)]
        assert (len(winners), len(losers)) == (1, 49)
        row = await office.stores.consents.get(ident)
        assert row == winners[0]
        assert row.ruling is not None
        who = office.people.name(row.ruling.decider)
        assert {(one.state, one.decider, one.at_ms) for one in losers} == {(row.state.value, who, START)}
        assert [one.kind for one in await office.events()] == [
            EventKind.APPROVAL_REQUESTED,
            EventKind.APPROVAL_RESOLVED,
        ]
        assert (await office.stores.trail.verify()).whole

    async def test_who_comes_later_reads_who_was_first(self, office: Office) -> None:
        """By name, never by number."""
        ident = await office.ask()
        await office.desk().decide(ident, yes(CHIEF))
        office.clock.now += MINUTE
        with pytest.raises(AlreadyDecided) as caught:
            await office.desk().decide(ident, no(REVIEW))
        assert (caught.value.state, caught.value.decider, caught.value.at_ms) == ("approved", "Chief", START)

    async def test_an_unknown_request_is_none(self, office: Office) -> None:
        """Nothing is written about it."""
        with pytest.raises(NoSuchApproval):
            await office.desk().decide(ApprovalId("ZZZZ"), yes())


class TestWhoMay:
    """The people of the moment of the decision."""

    @pytest.mark.parametrize(
        ("approvers", "decider", "words"),
        [
            (Approvers(), STRANGER, "You are not on the list of this chat."),
            (NOT_REQUESTER, DEPLOY, "You asked for this one. Chief or Review can decide."),
            (Approvers(Deciders.REQUESTER), CHIEF, "This one is not yours to decide. Deploy can decide."),
            (Approvers(Deciders.LISTED), CHIEF, "This one is not yours to decide. Nobody here can decide."),
            (
                NOT_REQUESTER,
                HOST,
                "Who you are in the chat can't be told from here. Chief or Review can decide, with the button there.",
            ),
            (Approvers(), SYSTEM, "You are not on the list of this chat."),
        ],
    )
    async def test_who_may_not_is_told_why_and_nothing_changes(
        self, office: Office, approvers: Approvers, decider: Actor, words: str
    ) -> None:
        """No row, no event; mtclaw itself never grants anything."""
        office.people = people(approvers)
        ident = await office.ask()
        with pytest.raises(NotAllowed) as caught:
            await office.desk().decide(ident, yes(decider))
        assert caught.value.message == words
        assert (await office.stores.consents.get(ident)).state is ApprovalState.PENDING
        assert len(await office.events()) == 1

    async def test_a_person_who_was_removed_since_the_question_decides_nothing(self, office: Office) -> None:
        """The list of now counts."""
        ident = await office.ask()
        chief_only = BotPeople(frozenset({UserId(1001)}))
        office.people = replace(office.people, bots={BOT: chief_only})
        with pytest.raises(NotAllowed, match="not on the list"):
            await office.desk().decide(ident, yes(REVIEW))

    async def test_who_asked_may_always_withdraw(self, office: Office) -> None:
        """Also where only others may approve."""
        office.people = people(NOT_REQUESTER)
        ident = await office.ask()
        assert (await office.desk().decide(ident, no(DEPLOY))).state is ApprovalState.DENIED

    async def test_mtclaw_itself_may_end_a_request(self, office: Office) -> None:
        """When it stops, or a session is forgotten."""
        ident = await office.ask()
        assert (await office.desk().decide(ident, no(SYSTEM, via=Via.STOP))).state is ApprovalState.DENIED


class TestLapsing:
    """A question is open until its time, and not a moment longer."""

    async def test_the_last_moment_still_counts(self, office: Office) -> None:
        """To the millisecond."""
        ident = await office.ask()
        office.clock.now = START + 30 * MINUTE - 1
        assert (await office.desk().decide(ident, yes())).state is ApprovalState.APPROVED

    @pytest.mark.parametrize("ruling", [yes(at_ms=START), no(), yes(HOST, Via.CLI)])
    async def test_what_comes_too_late_finds_it_expired(self, office: Office, ruling: Ruling) -> None:
        """Whatever moment the ruling claims; it is written down as what it is, and can be asked again."""
        ident = await office.ask()
        await office.said()
        office.clock.now = START + 45 * MINUTE
        with pytest.raises(AlreadyDecided) as caught:
            await office.desk().decide(ident, ruling)
        assert (caught.value.state, caught.value.decider) == ("expired", "mtclaw")
        assert caught.value.at_ms == START + 30 * MINUTE
        row = await office.stores.consents.get(ident)
        assert row.ruling == Ruling(ApprovalState.EXPIRED, SYSTEM, Via.EXPIRY, START + 30 * MINUTE, "timeout")
        assert [plain(item.card).splitlines()[-2:] for item in await office.said() if item.card] == [
            ["Expired 19:36, nothing ran.", "[Ask again]"]
        ]
        event = (await office.events())[1]
        assert (event.word, event.via, event.reason, event.decider, event.at_ms) == (
            Word.EXPIRED,
            Via.EXPIRY,
            "timeout",
            "system:0",
            START + 45 * MINUTE,
        )

    async def test_a_yes_lapses_before_it_is_used_too(self, office: Office) -> None:
        """Approved in time, started too late: nothing starts."""
        ident = await office.ask()
        await office.desk().decide(ident, yes())
        requested = (await office.events())[0]
        start = replace(requested, kind=EventKind.STARTED, at_ms=START + 30 * MINUTE)
        with pytest.raises(NotUsable) as caught:
            await office.stores.trail.start(start, ident)
        assert caught.value.why == "expired"
        started = await office.stores.trail.start(replace(start, at_ms=start.at_ms - 1), ident)
        assert started.draft.approval == ident

    async def test_only_what_is_due_lapses(self, office: Office) -> None:
        """The rest stays open, and what lapsed is told to the caller."""
        early = await office.ask()
        office.clock.now += MINUTE
        late = await office.ask(question(call("id", ident="c2", turn="t2")))
        office.clock.now = START + 30 * MINUTE - 1
        assert await office.desk().lapse_due() == ()
        office.clock.now += 1
        assert [row.id for row in await office.desk().lapse_due()] == [early]
        assert [row.id for row in await office.stores.consents.pending()] == [late]

    async def test_a_ruling_in_the_last_moment_wins_over_the_clock(self, office: Office) -> None:
        """The clock reads that somebody was first and leaves it."""
        ident = await office.ask()
        seen = await office.stores.consents.get(ident)
        ruled = await office.desk().decide(ident, yes())
        await office.desk().lapse(seen)
        assert await office.stores.consents.get(ident) == ruled
        assert len(await office.events()) == 2


class TestTelling:
    """What is said about a call; the record has it already, so none of this can fail a turn."""

    OUTCOME = Outcome(Status.OK, safe("x"), exit_code=0, duration_ms=9_000, lines=12)

    async def test_how_it_ended_stands_below_its_question(self, office: Office) -> None:
        """Where the question was put, with sound, because it is an answer."""
        ruled = await office.desk().decide(await office.ask(), yes(REVIEW))
        await office.said()
        await office.desk().ended(ruled, self.OUTCOME)
        card = ruled.card.closed(safe("✅ Approved once by Review 19:06 · exit 0 · 9 s · 12 lines"))
        assert await office.said() == [OutboxItem(OutKind.EDIT, GROUP, card=card, approval=ruled.id)]

    async def test_what_nobody_ruled_on_has_no_end(self, office: Office) -> None:
        """Nothing is said."""
        row = await office.stores.consents.get(await office.ask())
        await office.said()
        await office.desk().ended(row, self.OUTCOME)
        assert await office.said() == []

    async def test_a_refusal_is_told_where_the_call_arose(self, office: Office) -> None:
        """As a silent notice."""
        decision = Decision(Verdict.REFUSE, Stage.DENY, "files.rm-recursive", "recursive or forced delete")
        await office.desk().refused(call("rm -rf x"), safe("rm -rf x"), decision)
        (item,) = await office.said()
        assert (item.kind, item.address, item.silent) == (OutKind.NOTICE, PRIVATE, True)
        assert item.card is not None
        assert item.card.title == "⛔ Not run: rm -rf x"

    async def test_what_cannot_be_queued_is_let_go(self, office: Office, place: SqlitePlace) -> None:
        """The database is in the way, and the turn goes on."""
        ruled = await office.desk().decide(await office.ask(), yes())
        await office.said()
        wakes = office.wakes
        looking = await Database.open_read_only(place)
        await office.desk(stores_of(looking, REDACTOR.mask)).ended(ruled, self.OUTCOME)
        await looking.close()
        assert await office.said() == []
        assert office.wakes == wakes
