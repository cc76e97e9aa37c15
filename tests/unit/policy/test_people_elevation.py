"""Who may answer a question about what changes the user."""

from dataclasses import replace

import pytest

from mtbot.policy.people import Approvers, Say
from tests.unit.policy.test_people import (
    ANY,
    CHIEF,
    DEPLOY,
    HOST,
    LISTED,
    NOT_REQUESTER,
    REQUESTER,
    REVIEW,
    group,
    people,
    person,
    private,
)


@pytest.mark.parametrize("approvers", [ANY, REQUESTER, NOT_REQUESTER, LISTED])
def test_root_is_not_granted_from_the_host_but_used_there(approvers: Approvers) -> None:
    """Whoever sits there runs it themselves, whoever asked."""
    say = people(approvers).may_decide(HOST, group(), person(DEPLOY), elevates=True)
    assert say is Say.OWN_TERMINAL


def test_what_the_owner_listed_is_for_the_owner_alone() -> None:
    """Of the people in the chat, and only where the owner may decide at all."""
    for user in (DEPLOY, REVIEW):
        say = people(ANY).may_decide(person(user), group(), person(DEPLOY), elevates=False, owner_only=True)
        assert say is Say.OWNER_ONLY
    for approvers, asker, wanted in (
        (ANY, CHIEF, Say.YES),
        (NOT_REQUESTER, DEPLOY, Say.YES),
        (NOT_REQUESTER, CHIEF, Say.OWN_REQUEST),
        (REQUESTER, DEPLOY, Say.NOT_YOURS),
    ):
        here = people(approvers)
        say = here.may_decide(person(CHIEF), group(), person(asker), elevates=False, owner_only=True)
        assert say is wanted
        asked_of = (CHIEF,) if wanted is Say.YES else ()
        assert here.deciders(group(), person(asker), owner_only=True) == asked_of
    assert people(ANY).may_decide(HOST, group(), person(DEPLOY), elevates=False, owner_only=True) is Say.YES


def test_a_question_for_the_owner_goes_where_the_owner_is() -> None:
    """Here, or into the owner's private chat, or nowhere; and the card names the owner."""
    assert people(ANY).ask_at(group(), person(DEPLOY), owner_only=True) == group()
    elsewhere = private(DEPLOY)
    assert people(ANY).ask_at(elsewhere, person(DEPLOY), owner_only=True) == private(CHIEF)
    assert replace(people(ANY), owner=None).ask_at(group(), person(DEPLOY), owner_only=True) is None
    assert people(ANY).deciders_line(group(), person(DEPLOY), owner_only=True) == "Chief decides"
    assert people(ANY).deciders_line(group(), person(DEPLOY)) == ""
