"""Pruning: a beginning can be removed, and the rest still proves itself."""

from dataclasses import replace

from mtbot.domain.ids import ApprovalId
from mtbot.domain.record import EventKind, Word
from mtbot.storage.consent import ConsentStore
from mtbot.storage.trail import Trail
from tests.integration.storage.samples import (
    MINUTE,
    NOW,
    approval,
    asked,
    draft,
    end,
    no,
    question,
    resolved,
    start,
    turn_state,
    yes,
)


class TestPrune:
    """Removing a beginning."""

    async def test_a_pruned_record_is_whole(self, trail: Trail) -> None:
        """Old events go, a pruned event keeps their hash, later events go on."""
        events = await trail.append(*(draft(call=f"c{n}", at_ms=NOW + n) for n in range(6)))
        assert await trail.prune(NOW + 4, NOW + 100, "local:1000") == 4
        pruned, *kept = await trail.page()
        assert (pruned.draft.kind, pruned.draft.digest, pruned.draft.detail) == (EventKind.PRUNED, events[3].hash, "4")
        assert tuple(kept) == (events[5], events[4])
        await trail.append(end())
        report = await trail.verify(against=events[3].hash)
        assert (report.first, report.events, report.fault) == (5, 4, None)

    async def test_pruning_again_goes_on_from_there(self, trail: Trail) -> None:
        """In pieces of a limited size, until nothing is left to remove."""
        await trail.append(*(draft(call=f"c{n}", at_ms=NOW + n) for n in range(6)))
        removed = [await trail.prune(NOW + 5, NOW + 100, "x", limit=2) for _ in range(4)]
        assert removed == [2, 2, 1, 0]
        report = await trail.verify()
        assert (report.first, report.fault) == (6, None)

    async def test_nothing_is_removed_from_an_empty_or_young_record(self, trail: Trail) -> None:
        """And nothing is written then."""
        assert await trail.prune(NOW, NOW, "x") == 0
        await trail.append(draft())
        assert await trail.prune(NOW, NOW, "x") == 0
        assert (await trail.head()).seq == 1

    async def test_a_call_that_runs_or_waits_is_kept_whole(self, trail: Trail, consents: ConsentStore) -> None:
        """Its end would otherwise have no beginning."""
        await trail.append(draft(call="old"), draft(call="c1"))
        await consents.open(approval(), turn_state(), asked(), question())
        assert await trail.prune(NOW + 1, NOW, "x") == 1
        await consents.rule(ApprovalId("K7QD"), no(), resolved(word=Word.DENIED_USER, at_ms=NOW))
        begun = await trail.start(start("c3", at_ms=NOW), None)
        assert await trail.prune(NOW + 1, NOW, "x") == 4
        assert (await trail.page())[-1] == begun
        assert await trail.prune(NOW + 1, NOW, "x") == 0

    async def test_a_yes_that_lapsed_unused_keeps_nothing(self, trail: Trail, consents: ConsentStore) -> None:
        """Otherwise one forgotten request would stop pruning for ever."""
        await consents.open(approval(), turn_state(), asked(), question())
        await consents.rule(ApprovalId("K7QD"), yes(NOW), resolved(at_ms=NOW))
        assert await trail.prune(NOW + 1, NOW + 29 * MINUTE, "x") == 0
        assert await trail.prune(NOW + 1, NOW + 30 * MINUTE, "x") == 2

    async def test_a_gap_is_kept_until_somebody_acknowledged_it(self, trail: Trail) -> None:
        """Pruning must not make a red record green."""
        await trail.append(draft(), replace(draft(EventKind.GAP), reason="cut"), draft())
        assert await trail.prune(NOW + 1, NOW + 1, "x") == 1
        assert await trail.prune(NOW + 1, NOW + 1, "x") == 0
        await trail.acknowledge("known: restored a backup", "local:1000", NOW)
        assert await trail.prune(NOW + 1, NOW + 2, "x") > 0
        assert (await trail.verify()).whole
