"""Who is served where a group became a supergroup."""

from mtbot.domain.ids import BotName, ChatId
from mtbot.policy.people import Admission, BotPeople, GroupPeople, People
from tests.unit.policy.test_people import ALL, ANY, CHIEF, DEPLOY, NAMES, OPS, group, inbound, people, person


class TestMoves:
    """Groups that became supergroups."""

    NEW = ChatId(-1000000000100)

    def test_a_group_goes_on_under_its_old_id_with_what_is_configured_for_the_new_one(self) -> None:
        """Also while both are configured: the new entry is what the owner wrote last."""
        known = people()
        wanted = GroupPeople(frozenset({CHIEF}))
        bot = known.bots[BotName("ops")]
        for groups in ({self.NEW: wanted}, {OPS: bot.groups[OPS], self.NEW: wanted}):
            written = People(NAMES, CHIEF, {BotName("ops"): BotPeople(ALL, ANY, groups)})
            followed = written.following({(BotName("ops"), OPS): self.NEW})
            assert followed.admit(inbound(group(), person(CHIEF))) is Admission.ADMIT
            assert followed.admit(inbound(group(), person(DEPLOY))) is Admission.NOT_LISTED

    def test_what_is_not_configured_anew_stays_as_it_was(self) -> None:
        """The old entry counts; a bot or a group that nobody configured gains nothing."""
        known = people()
        moves = {(BotName("ops"), OPS): self.NEW, (BotName("gone"), OPS): self.NEW}
        assert known.following(moves) == known
        assert known.following({}) == known
