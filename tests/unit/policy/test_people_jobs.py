"""Who decides what a scheduled job asks, and who hears of it."""

from dataclasses import replace

import pytest

from mtbot.domain.turn import SYSTEM, Actor, Address
from mtbot.policy.people import Approvers, JobPeople, People, Say
from tests.unit.policy.test_people import (
    ANY,
    CHIEF,
    CRON,
    DEPLOY,
    ELSEWHERE,
    HOST,
    LISTED,
    NOT_REQUESTER,
    OPS,
    REQUESTER,
    REVIEW,
    STRANGER,
    group,
    people,
    person,
    private,
)


def by_night(place: Address, approvers: Approvers = ANY, *, asks: bool = True) -> People:
    """The same people, and a job whose results go to ``place``."""
    return replace(people(approvers), jobs={"nightly": JobPeople(place, asks)})


class TestJobs:
    """Nobody asked for what a job does, so its place says who decides."""

    RUN = replace(CRON, label="job:nightly:run-5")

    def test_a_question_goes_where_the_result_goes(self) -> None:
        """A run of its own session, too; else to a decider's own chat."""
        for run in (CRON, self.RUN):
            assert by_night(group()).ask_at(run, SYSTEM) == group()
        assert by_night(private(REVIEW), REQUESTER).ask_at(CRON, SYSTEM) == private(CHIEF)

    @pytest.mark.parametrize(
        "told",
        [people(), by_night(group(), asks=False), by_night(group(ELSEWHERE)), by_night(group(OPS, "gone"))],
        ids=["no delivery", "refuses", "group gone", "bot gone"],
    )
    def test_where_it_can_reach_nobody_it_asks_nobody(self, told: People) -> None:
        """And then nobody can allow it anything either."""
        assert told.ask_at(CRON, SYSTEM) is None
        assert told.may_decide(person(CHIEF), CRON, SYSTEM, elevates=False) in (Say.JOB_GONE, Say.NOT_LISTED)

    def test_whether_it_may_wait_is_the_jobs_matter(self) -> None:
        """No other place has questions that wait for somebody to come."""
        assert by_night(group()).asks_later(CRON)
        assert not by_night(group(), asks=False).asks_later(CRON)
        assert not by_night(group()).asks_later(replace(CRON, label="job:weekly"))
        assert not by_night(group()).asks_later(group())

    def test_where_people_hear_of_it(self) -> None:
        """A chat hears of itself, a job speaks where it delivers."""
        assert by_night(group(), asks=False).told_of(CRON) == group()
        assert people().told_of(CRON) is None
        assert people().told_of(group()) == group()

    def test_who_asks_in_words(self) -> None:
        """The job has a name, a person has one."""
        assert people().asker(self.RUN, SYSTEM) == "the job nightly"
        assert people().asker(group(), person(CHIEF)) == "Chief"

    @pytest.mark.parametrize(
        ("approvers", "actor", "say"),
        [
            (ANY, person(DEPLOY), Say.YES),
            (ANY, person(STRANGER), Say.NOT_LISTED),
            (ANY, HOST, Say.YES),
            (REQUESTER, person(CHIEF), Say.YES),
            (REQUESTER, person(DEPLOY), Say.NOT_YOURS),
            (REQUESTER, HOST, Say.CANNOT_TELL),
            (NOT_REQUESTER, person(CHIEF), Say.YES),
            (NOT_REQUESTER, HOST, Say.YES),
            (LISTED, person(REVIEW), Say.YES),
            (LISTED, person(CHIEF), Say.NOT_YOURS),
        ],
    )
    def test_who_decides(self, approvers: Approvers, actor: Actor, say: Say) -> None:
        """By the rule of the chat; ``requester`` is the owner."""
        assert by_night(group(), approvers).may_decide(actor, CRON, SYSTEM, elevates=False) is say

    def test_a_job_that_is_gone_is_allowed_nothing_and_can_be_refused(self) -> None:
        """From the host, whoever else has lost their say."""
        for actor in (HOST, person(CHIEF)):
            assert people().may_decide(actor, CRON, SYSTEM, elevates=False) is Say.JOB_GONE
        assert people().may_deny(HOST, CRON, SYSTEM) is Say.YES
        assert people().may_deny(person(CHIEF), CRON, SYSTEM) is Say.JOB_GONE
