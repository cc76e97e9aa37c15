"""Questions about what changes the user: the host runs them, and some the owner may approve."""

import pytest

from mtbot.domain.errors import NotAllowed
from mtbot.domain.record import ApprovalState, Via
from tests.unit.approvals.office import Office, no, yes
from tests.unit.approvals.samples import CHIEF, HOST, REVIEW, call, question


async def test_root_is_approved_nowhere_and_denied_anywhere(office: Office) -> None:
    """A chat can only say no; the host is told how it runs there."""
    root = [question(call("sudo id", ident=f"c{n}", turn=f"t{n}"), elevates=True) for n in (1, 2)]
    first, second = [await office.ask(one) for one in root]
    with pytest.raises(NotAllowed) as caught:
        await office.desk().decide(first, yes(CHIEF))
    assert caught.value.message == f"This can only be run at the host itself, by `mtclaw approvals run {first}`."
    denied = await office.desk().decide(first, no(CHIEF))
    for via in (Via.CLI, Via.TERMINAL):
        with pytest.raises(NotAllowed, match=f"runs in your own terminal: `mtclaw approvals run {second}`"):
            await office.desk().decide(second, yes(HOST, via))
    withdrawn = await office.desk().decide(second, no(HOST, via=Via.CLI))
    assert (denied.state, withdrawn.state) == (ApprovalState.DENIED, ApprovalState.DENIED)


async def test_what_the_owner_listed_is_the_owners(office: Office) -> None:
    """Everybody else in the chat is told whose it is, and the card says so."""
    ident = await office.ask(question(call("sudo id"), owner_only=True))
    with pytest.raises(NotAllowed) as caught:
        await office.desk().decide(ident, yes(REVIEW))
    assert caught.value.message == "Only the owner can approve this one. Chief can decide."
    approved = await office.desk().decide(ident, yes(CHIEF))
    assert (approved.state, approved.owner_only) == (ApprovalState.APPROVED, True)
    assert any("Chief decides" in line for line in approved.card.lines)
