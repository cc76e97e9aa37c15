"""``/grants``: what runs in a chat for a while without a question, and taking it back by command or button."""

from mtbot.approvals.grants import GrantDesk
from mtbot.domain.errors import AlreadyDecided, NoSuchApproval, NotAllowed, NotWrittenYet, StorageError
from mtbot.domain.ids import ApprovalId
from mtbot.domain.ports import Clock, Consents
from mtbot.domain.record import ApprovalState, Card, Ruling, Via
from mtbot.domain.turn import Inbound


async def command(desk: GrantDesk, consents: Consents, clock: Clock, inbound: Inbound) -> str | Card:
    """``/grants`` lists those of the chat with a button each, ``/grants revoke ID`` takes one back."""
    word, _, ident = inbound.text.strip().partition(" ")
    ident = ident.strip().lstrip("#").upper()
    if word == "revoke" and ident:
        return await revoke(desk, consents, clock, inbound, ApprovalId(ident))
    if word:
        return "Say /grants to see what runs here for a while without a question, /grants revoke ID to end it."
    try:
        found = await desk.here(inbound.address)
    except StorageError as error:
        return f"The database cannot be read: {error.message}"
    return desk.card(found) if found else "Nothing here runs for a while without a question."


async def revoke(desk: GrantDesk, consents: Consents, clock: Clock, inbound: Inbound, ident: ApprovalId) -> str:
    """Take back a grant of that chat for whoever says so there; the answer."""
    none = f"There is no grant #{ident} here."
    via = Via.BUTTON if inbound.press_id else Via.COMMAND
    try:
        if not (await consents.get(ident)).concerns(inbound.address):
            return none
        await desk.revoke(ident, Ruling(ApprovalState.REVOKED, inbound.sender, via, clock.now_ms()))
    except NoSuchApproval:
        return none
    except AlreadyDecided as lost:
        at = clock.clock_text(lost.at_ms)
        over = "lapsed" if lost.state == ApprovalState.EXPIRED else f"was revoked by {lost.decider}"
        return f"#{ident} {over} {at} already."
    except NotAllowed as refused:
        return refused.message
    except NotWrittenYet:
        return f"#{ident} asks again from now on. It is written down as soon as the database can be written."
    except StorageError as error:
        return f"The database cannot be read: {error.message}"
    return f"#{ident} asks again from now on."
