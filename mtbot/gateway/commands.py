"""The commands of a chat, one table, the same on every surface; their words are stated here.

A command never waits for the turn that runs: it is answered past the lane.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from mtbot.approvals.desk import Desk
from mtbot.domain.errors import AlreadyDecided, ConsentError, NoSuchApproval, NotAllowed, NotWrittenYet, StorageError
from mtbot.domain.ids import ApprovalId, SessionId
from mtbot.domain.menu import EVERYWHERE, IN_PRIVATE, Menu
from mtbot.domain.ports import Clock, Consents, History, Inbox
from mtbot.domain.record import Approval, ApprovalState, Card, Ruling, Via
from mtbot.domain.span import span_text
from mtbot.domain.turn import Address, Inbound
from mtbot.gateway import grants
from mtbot.gateway.lanes import Halted, Lanes
from mtbot.gateway.outputs import OutputDesk
from mtbot.policy.people import People

SETTLE_SECONDS = 10.0
STOP_SECONDS = 0.95
"""An answer comes within a second; a program that ignores being asked is killed at about that moment."""
NOT_WRITTEN_YET = "Denied, and nothing of it will run. It is written down as soon as the database can be written."


@dataclass(frozen=True, slots=True)
class About:
    """What /start and /status tell about a place. ``containment`` is what commands can be kept from, or why not.

    ``poll_age`` is seconds since the chat service last answered.
    """

    host: str
    user: str
    model: str
    mode: str
    rules: str
    uptime_s: int
    containment: str
    poll_age: Callable[[], float | None]


@dataclass(frozen=True, slots=True)
class CommandStores:
    """What commands read and clear."""

    history: History
    consents: Consents
    inbox: Inbox


@dataclass(frozen=True, slots=True)
class Left:
    """A conversation that was left: why it could not be, or what to add to the answer, each in sentences or empty."""

    refusal: str
    said: str = ""
    going_on: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its word, what it is for, and what it does; the answer is Markdown, empty for none, or a card.

    ``menus`` says where it is offered. Where it may be used is another matter, which its answer knows.
    """

    word: str
    help: str
    run: Callable[[Inbound], Awaitable[str | Card]]
    menus: frozenset[Menu] = EVERYWHERE


class GoingOn(Protocol):
    """What goes on behind the turns of a chat (gateway/background)."""

    def going_on(self, address: Address) -> str:
        """What /stop and /new leave alone, in one sentence; empty if there is nothing."""
        ...


class Commands:
    """The table. ``doing`` tells what a session's turn is at, in one masked line; ``outward`` how a chat is called now."""

    def __init__(
        self,
        desk: Desk,
        lanes: Lanes,
        stores: CommandStores,
        people: Callable[[], People],
        about: Callable[[Inbound], About],
        clock: Clock,
    ) -> None:
        self._desk = desk
        self._lanes = lanes
        self._stores = stores
        self._people = people
        self._about = about
        self._clock = clock
        self.outward: Callable[[Address], Address] = lambda address: address
        self.standing: Callable[[Inbound], Awaitable[str]] = _no_standing
        self.usage: Callable[[Inbound], Awaitable[str]] = _no_usage
        self.afresh: Callable[[Inbound], Awaitable[str]] = _no_new
        self.doing: Callable[[SessionId], str] = lambda _session: ""
        self.outputs: OutputDesk | None = None
        self.jobs: GoingOn | None = None
        self.table: tuple[Command, ...] = (
            Command("start", "what I am", self._start, IN_PRIVATE),
            Command("help", "these commands", self._help),
            Command("new", "put this conversation away and begin afresh", self._new),
            Command("status", "what I am doing", self._status),
            Command("usage", "what the model cost, and what may still be spent", self._usage),
            Command("whoami", "your ids and what you may do here", self._whoami),
            Command("stop", "stop what is running and drop what is waiting", self._stop),
            Command("pending", "open questions", self._pending),
            Command("approve", "approve a question: /approve ID", self._approve),
            Command("deny", "deny a question: /deny ID reason", self._deny),
            Command("output", "the whole of an output that was cut: /output ID", self._output),
            Command("grants", "what runs here for a while without a question; /grants revoke ID", self._grants),
        )

    def add(self, *commands: Command) -> None:
        """Have these commands too."""
        self.table = (*self.table, *commands)

    def find(self, word: str) -> Command | None:
        """The command of that word."""
        return next((command for command in self.table if command.word == word), None)

    async def _start(self, inbound: Inbound) -> str:
        about = self._about(inbound)
        name = self._people().name(inbound.sender)
        return (
            f"Hello {name}. I run on {about.host} as user {about.user} and can use a shell there.\n"
            "What no rule of yours allows, I ask you first, here, with buttons.\n"
            f"Mode: {about.mode} · rules: {about.rules} · model: {about.model}\n"
            "/status /pending /stop /new /help"
        )

    async def _help(self, inbound: Inbound) -> str:
        about = self._about(inbound)
        menu = Menu.OWNER if self._people().owns(inbound.sender) else Menu.PRIVATE
        lines = [f"/{command.word} {command.help}" for command in self.table if menu in command.menus]
        return "\n".join((*lines, "", "Reply to a question of mine to deny it with a reason.", f"Model: {about.model}"))

    async def _usage(self, inbound: Inbound) -> str:
        return await self.usage(inbound)

    async def _whoami(self, inbound: Inbound) -> str:
        address = inbound.address
        shown = self.outward(address).chat
        lines = [f"You are {self._people().name(inbound.sender)}, id {inbound.sender.id}.", f"Chat {shown}"]
        if address.thread is not None:
            lines[-1] += f", topic {address.thread}"
        lines[-1] += f", session {address.session}."
        return "\n".join(lines)

    async def _status(self, inbound: Inbound) -> str:
        about = self._about(inbound)
        session = inbound.address.session
        summary = await self._stores.history.summary(session)
        pending = await self._open_here(inbound.address)
        now = self._clock.now_ms()
        waiting = ", ".join(f"#{a.id}, {max(0, (a.expires_ms - now) // 60_000)} min left" for a in pending)
        age = about.poll_age()
        polled = "not yet" if age is None else f"{age:.0f} s ago"
        tokens = summary.prompt_tokens + summary.completion_tokens if summary else 0
        return "\n".join(
            (
                f"{about.host} · up {span_text(about.uptime_s)} · mode {about.mode} · containment {about.containment}",
                f"Running: {self._lanes.running or 'nothing'} · waiting: {waiting or 'nothing'}",
                f"Telegram: last poll {polled} · model: {about.model}",
                f"This conversation: {summary.messages if summary else 0} messages, {tokens} tokens",
                *((await self.standing(inbound)).splitlines()),
            )
        )

    async def _new(self, inbound: Inbound) -> str:
        return await self.afresh(inbound)

    async def leave(self, inbound: Inbound) -> Left:
        """End what runs and waits in a conversation that is left, as far as whoever leaves it may. StorageError."""
        session = inbound.address.session
        halted = self._lanes.halt(session)
        await self._drop(halted)
        await self._take_back(halted, inbound)
        _, kept = await self._deny_open(inbound, "a new conversation was begun")
        if kept:
            return Left(f"{_named(kept)} is open and not yours to turn down, so nothing was changed.")
        again = f"Please try /{inbound.command} again."
        if not await self._lanes.settle(session, SETTLE_SECONDS):
            return Left(f"What was running did not end in time, so nothing was changed. {again}")
        at_host = self._lanes.resting(session)
        if at_host is not None and await _is_there(self._stores.consents, at_host):
            # put away with its conversation, its result would find nobody
            return Left(f"#{at_host} was approved at the host and has not ended, so nothing was changed. {again}")
        if at_host is not None:
            self._lanes.free(session, at_host)
        # what was given in a conversation ends with it, on record as far as whoever begins anew may end it
        await self._desk.grants.end_all(inbound.address, inbound.sender)
        stopped = " I stopped what was running." if halted.running else ""
        return Left("", stopped, "".join(f" {line}" for line in self._going_on(inbound)))

    async def _stop(self, inbound: Inbound) -> str:
        """Acts even when the database cannot be written: what runs is stopped first, what is written comes after."""
        session = inbound.address.session
        doing = self.doing(session)
        halted = self._lanes.halt(session)
        said = []
        if halted.running:
            what = f"`{doing.replace('`', '´')}`" if doing else "what was running"
            ended = await self._lanes.settle(session, STOP_SECONDS)
            said.append(f"⏹ Stopped: {what}." if ended else f"⏹ Stopping {what}; it is being killed.")
        if halted.withdrawn:
            said.append(f"⏹ Stopped before it began: {_named(halted.withdrawn)}.")
        if halted.dropped:
            count = len(halted.dropped)
            said.append(f"{count} waiting message{'s' if count > 1 else ''} dropped.")
        try:
            denied, kept = await self._deny_open(inbound, "")
            said += [f"#{one} denied." for one in denied]
            said += [f"#{one} stays open: it is not yours to turn down." for one in kept]
            over, others = await self._desk.grants.end_all(inbound.address, inbound.sender)
            said += [f"#{one} asks again from now on." for one in over]
            said += [f"The grant #{one} stays: it is not yours to take back." for one in others]
            await self._take_back(halted, inbound)
            await self._drop(halted)
        except StorageError:
            said.append("The database cannot be written, so a restart may bring back what was waiting.")
        said += self._going_on(inbound)
        return " ".join(said) or "Nothing is running here."

    async def _take_back(self, halted: Halted, inbound: Inbound) -> None:
        """Put on record that a yes counts no more whose call had not begun."""
        for one in (*halted.withdrawn, *([halted.resumed] if halted.resumed is not None else [])):
            await self._desk.taken_back(one, inbound.sender)

    def _going_on(self, inbound: Inbound) -> list[str]:
        line = self.jobs.going_on(inbound.address) if self.jobs is not None else ""
        return [line] if line else []

    async def _drop(self, halted: Halted) -> None:
        """Close the inbox rows of dropped messages, so that a restart does not bring them back."""
        for dropped in halted.dropped:
            for update in dropped.ref.updates:
                await self._stores.inbox.done(dropped.address.bot, update)

    async def _deny_open(self, inbound: Inbound, reason: str) -> tuple[list[ApprovalId], list[ApprovalId]]:
        """Turn down the session's open questions on behalf of whoever stops it: those that were, and those not theirs."""
        closed, kept = [], []
        for approval in await self._stores.consents.pending(inbound.address.session):
            ruling = Ruling(ApprovalState.DENIED, inbound.sender, Via.STOP, self._clock.now_ms(), reason)
            try:
                await self._desk.decide(approval.id, ruling)
                closed.append(approval.id)
            except NotAllowed:
                kept.append(approval.id)
                continue
            except NotWrittenYet:
                closed.append(approval.id)
                continue
            except ConsentError:
                pass  # it lapsed or was decided a moment ago, which closes it just as well
            self._lanes.resume(inbound.address.session, approval.id)
        return closed, kept

    async def _pending(self, inbound: Inbound) -> str:
        pending = await self._open_here(inbound.address)
        if not pending:
            return "No open questions here."
        return "\n".join(self._pending_line(approval) for approval in pending)

    async def _open_here(self, address: Address) -> list[Approval]:
        """The questions of that session, and those of others that are shown there."""
        pending = await self._stores.consents.pending()
        return [one for one in pending if one.address.session == address.session or one.place == address]

    def _pending_line(self, approval: Approval) -> str:
        until = self._clock.clock_text(approval.expires_ms)
        first = approval.command.splitlines()[0] if approval.command else approval.tool
        asker = self._people().asker(approval.address, approval.requester)
        shown = first if len(first) <= 80 else first[:79] + "…"
        return f"#{approval.id} until {until}, asked by {asker}: `{shown.replace('`', '´')}`"

    async def _output(self, inbound: Inbound) -> str:
        which = inbound.text.strip()
        if not which or self.outputs is None:
            return "Which one? Say /output ID, as it stands beside what was cut."
        try:
            return await self.outputs.send(which, inbound.address, inbound.ref.message)
        except StorageError as error:
            return f"That cannot be sent now: {error.message}"

    async def _grants(self, inbound: Inbound) -> str | Card:
        return await grants.command(self._desk.grants, self._stores.consents, self._clock, inbound)

    async def _approve(self, inbound: Inbound) -> str:
        return await self._ruled(inbound, ApprovalState.APPROVED)

    async def _deny(self, inbound: Inbound) -> str:
        return await self._ruled(inbound, ApprovalState.DENIED)

    async def _ruled(self, inbound: Inbound, state: ApprovalState) -> str:
        ident, _, reason = inbound.text.strip().partition(" ")
        ident = ident.lstrip("#").upper()
        if not ident:
            return "Which one? Say /approve ID or /deny ID; /pending lists them."
        now = self._clock.now_ms()
        try:
            approval = await self._stores.consents.get(ApprovalId(ident))
            if not approval.concerns(inbound.address):
                raise NoSuchApproval("not here")
            ruling = Ruling(state, inbound.sender, Via.COMMAND, now, reason.strip())
            await self._desk.decide(approval.id, ruling)
        except NoSuchApproval:
            return f"There is no question #{ident} here."
        except AlreadyDecided as lost:
            self._lanes.resume(approval.address.session, approval.id)
            at = self._clock.clock_text(lost.at_ms)
            if lost.state == ApprovalState.EXPIRED:
                return f"#{ident} expired {at}, nothing ran."
            return f"#{ident} was {lost.state} by {lost.decider} {at} already."
        except NotAllowed as refused:
            return refused.message
        except NotWrittenYet:
            return NOT_WRITTEN_YET
        except StorageError as error:
            return f"That could not be written down, so it does not count: {error.message}"
        self._lanes.resume(approval.address.session, approval.id)
        return ""


async def _no_standing(_inbound: Inbound) -> str:
    return ""


async def _no_usage(_inbound: Inbound) -> str:
    return "Nothing is counted here."


async def _no_new(_inbound: Inbound) -> str:
    return "There is nothing to begin afresh here."


def _named(approvals: Sequence[ApprovalId]) -> str:
    return ", ".join(f"#{one}" for one in approvals)


async def _is_there(consents: Consents, approval: ApprovalId) -> bool:
    """Whether that request still exists. StorageError."""
    try:
        await consents.get(approval)
    except NoSuchApproval:
        return False
    return True
