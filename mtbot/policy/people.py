"""Who may speak, who may decide and who hears of trouble: the only place that knows.

Everything is judged by the numeric id of the person who acts, against the configuration of that moment; a group's or
channel's id is never a person.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from mtbot.domain.ids import BotName, ChatId, UserId
from mtbot.domain.turn import Actor, ActorKind, Address, Inbound, InboundKind, SurfaceName

IMPERSONAL = frozenset({UserId(1087968824), UserId(136817688), UserId(777000)})
"""Ids that Telegram writes where no person is shown: anonymous admins, channels, linked-channel forwards."""

OWN_COMMANDS = frozenset(
    [
        "whoami",
        "stop",
        "new",
        "status",
        "help",
        "start",
        "pending",
        "approve",
        "deny",
        "grants",
        "cancel",
        "model",
        "output",
        "sessions",
        "usage",
        "pair",
        "jobs",
        "tail",
        "kill",
    ]
)
"""Commands that a listed person may use bare in a group that wants a mention."""

MAX_NAME = 64
"""Characters of a name that its bearer chose; a longer one would push the rest of a line out of sight."""


class Deciders(StrEnum):
    """Who may answer a question: everybody listed in the chat, only who asked, anybody else, or named people."""

    ANY = "any"
    REQUESTER = "requester"
    NOT_REQUESTER = "not_requester"
    LISTED = "listed"


@dataclass(frozen=True, slots=True)
class Approvers:
    """The rule for deciding; ``ids`` counts for LISTED only."""

    who: Deciders = Deciders.ANY
    ids: frozenset[UserId] = frozenset()


@dataclass(frozen=True, slots=True)
class GroupPeople:
    """A group that the bot serves. ``allow`` is the effective list (a group without its own has the bot's)."""

    allow: frozenset[UserId]
    require_mention: bool = True
    approvers: Approvers = Approvers()


@dataclass(frozen=True, slots=True)
class BotPeople:
    """The people of one bot. ``anywhere`` serves groups that are not listed (the ``"*"`` entry), None for none."""

    allow: frozenset[UserId]
    approvers: Approvers = Approvers()
    groups: Mapping[ChatId, GroupPeople] = field(default_factory=dict)
    anywhere: GroupPeople | None = None


@dataclass(frozen=True, slots=True)
class JobPeople:
    """A scheduled job that tells somebody: ``place`` gets its results, and its questions too if they may wait."""

    place: Address
    asks: bool = False


class Admission(StrEnum):
    """What becomes of an inbound. MAY_PAIR: somebody who is not listed, with a code in their own chat; nothing else."""

    ADMIT = "admit"
    NOT_LISTED = "not_listed"
    NOT_ADDRESSED = "not_addressed"
    UNKNOWN_GROUP = "unknown_group"
    IMPERSONAL = "impersonal"
    MAY_PAIR = "may_pair"


class Say(StrEnum):
    """Whether somebody may decide, and if not, why."""

    YES = "yes"
    NOT_LISTED = "not_listed"
    OWN_REQUEST = "own_request"
    NOT_YOURS = "not_yours"
    CANNOT_TELL = "cannot_tell"
    HOST_ONLY = "host_only"
    JOB_GONE = "job_gone"
    OWNER_ONLY = "owner_only"
    OWN_TERMINAL = "own_terminal"


@dataclass(frozen=True, slots=True)
class People:
    """Everybody that the configuration knows, compiled; swapped whole on reload."""

    names: Mapping[UserId, str] = field(default_factory=dict)
    owner: UserId | None = None
    bots: Mapping[BotName, BotPeople] = field(default_factory=dict)
    jobs: Mapping[str, JobPeople] = field(default_factory=dict)

    def name(self, actor: Actor) -> str:
        """How that person is called here, with a capital, on one line; never a number of Telegram."""
        known = self.names.get(UserId(actor.id)) if actor.kind is ActorKind.TELEGRAM else None
        if known:
            return known[:1].upper() + known[1:]
        chosen = " ".join(actor.name.split())[:MAX_NAME]
        return chosen or ("somebody" if actor.kind is ActorKind.TELEGRAM else "the owner of this host")

    def owns(self, actor: Actor) -> bool:
        """Whether that is the owner."""
        return self.owner is not None and _person(actor) == self.owner

    def following(self, moves: Mapping[tuple[BotName, ChatId], ChatId]) -> "People":
        """These people where groups moved: a group goes on under its old id, with what is configured for the new one."""
        bots = dict(self.bots)
        for (name, old), new in moves.items():
            bot = bots.get(name)
            if bot is not None and new in bot.groups:
                bots[name] = replace(bot, groups={**bot.groups, old: bot.groups[new]})
        return replace(self, bots=bots)

    def asker(self, address: Address, requester: Actor) -> str:
        """Who a question at ``address`` comes from, in words: a person by name, or the job."""
        return f"the job {address.job}" if address.job else self.name(requester)

    def told_of(self, address: Address) -> Address | None:
        """Where people hear of what happens at ``address``: there; for a job where its results go, if anywhere."""
        if address.surface is not SurfaceName.CRON:
            return address
        job = self.jobs.get(address.job)
        return job.place if job else None

    def asks_later(self, address: Address) -> bool:
        """Whether a question of an unattended turn at ``address`` may wait until somebody sees it."""
        job = self.jobs.get(address.job)
        return job is not None and job.asks

    def admit(self, inbound: Inbound) -> Admission:
        """Whether this may start a turn, decide something or command the bot."""
        if inbound.address.surface in (SurfaceName.TERMINAL, SurfaceName.CRON):
            return Admission.ADMIT
        user = _person(inbound.sender)
        if user is None:
            return Admission.IMPERSONAL
        bot = self.bots.get(inbound.address.bot)
        if bot is None:
            return Admission.NOT_LISTED
        if inbound.address.surface is SurfaceName.PRIVATE:
            if user in bot.allow:
                return Admission.ADMIT
            pairs = inbound.kind is InboundKind.COMMAND and inbound.command == "pair"
            return Admission.MAY_PAIR if pairs else Admission.NOT_LISTED
        group = bot.groups.get(inbound.address.chat, bot.anywhere)
        if group is None:
            return Admission.UNKNOWN_GROUP
        if user not in group.allow:
            return Admission.NOT_LISTED
        if not group.require_mention or inbound.addressed or inbound.kind is InboundKind.PRESS:
            return Admission.ADMIT
        if inbound.kind is InboundKind.COMMAND and inbound.command in OWN_COMMANDS:
            return Admission.ADMIT
        return Admission.NOT_ADDRESSED

    def may_decide(
        self, actor: Actor, address: Address, requester: Actor, *, elevates: bool, owner_only: bool = False
    ) -> Say:
        """Whether ``actor`` may answer a question that ``requester`` caused at ``address``, as things stand now.

        A person of this host (uid, already checked by the caller) may decide everything, because whoever holds that
        account writes the lists too. Only a rule about who asked is beyond them: a uid does not tell whether it is the
        same person as a Telegram id. What a job asks, nobody asked for, so ``not_requester`` is everybody and
        ``requester`` the owner; a job that is gone or asks no more can be allowed nothing.

        ``elevates``: nobody approves it from afar, not even by hand on this host, because it is not mtclaw that runs it
        then but the person, in their own terminal. ``owner_only``: of the people in the chat, only the owner.
        """
        if address.surface is SurfaceName.CRON and not self.asks_later(address):
            return Say.JOB_GONE
        listed, rule = self._circle(address)
        if actor.kind is ActorKind.LOCAL:
            if address.surface is SurfaceName.TERMINAL:
                return Say.YES
            if elevates:
                return Say.OWN_TERMINAL
            about_the_asker = rule.who is Deciders.REQUESTER or (
                rule.who is Deciders.NOT_REQUESTER and address.surface is not SurfaceName.CRON
            )
            return Say.CANNOT_TELL if about_the_asker else Say.YES
        user = _person(actor)
        if user is None:
            return Say.NOT_LISTED
        if user not in listed and not (rule.who is Deciders.LISTED and user in rule.ids):
            return Say.NOT_LISTED
        if elevates:
            return Say.HOST_ONLY
        if owner_only and user != self.owner:
            return Say.OWNER_ONLY
        if rule.who is Deciders.ANY:
            return Say.YES
        if rule.who is Deciders.REQUESTER:
            return Say.YES if user == self._asked_by(address, requester) else Say.NOT_YOURS
        if rule.who is Deciders.NOT_REQUESTER:
            return Say.OWN_REQUEST if user == requester.user else Say.YES
        return Say.YES if user in rule.ids else Say.NOT_YOURS

    def may_deny(self, actor: Actor, address: Address, requester: Actor) -> Say:
        """Whether ``actor`` may turn a question down: whoever may decide it, and always the one who asked or the host."""
        if actor.kind is ActorKind.LOCAL:
            return Say.YES
        if actor.key == requester.key and actor.user in self._circle(address)[0]:
            return Say.YES
        return self.may_decide(actor, address, requester, elevates=False)

    def still_welcome(self, requester: Actor, address: Address) -> bool:
        """Whether the person who asked is still listed; a removed person's old yes is void."""
        if requester.kind is not ActorKind.TELEGRAM:
            return True
        return requester.user in self._circle(address)[0]

    def deciders(self, address: Address, requester: Actor, *, owner_only: bool = False) -> tuple[UserId, ...]:
        """The people who can answer a question asked at ``address``, the owner first, then by id."""
        listed, rule = self._circle(address)
        pool = rule.ids if rule.who is Deciders.LISTED else listed
        if rule.who is Deciders.REQUESTER:
            pool = frozenset(user for user in listed if user == self._asked_by(address, requester))
        if rule.who is Deciders.NOT_REQUESTER:
            pool = frozenset(user for user in listed if user != requester.user)
        if owner_only:
            pool = frozenset(user for user in pool if user == self.owner)
        return tuple(sorted(pool, key=lambda user: (user != self.owner, user)))

    def deciders_line(self, address: Address, requester: Actor, *, owner_only: bool = False) -> str:
        """Who decides, in words, if not everybody who is listed: ``Chief or Review decide``; else the empty string."""
        _, rule = self._circle(address)
        if address.surface is SurfaceName.TERMINAL or (rule.who is Deciders.ANY and not owner_only):
            return ""
        names = self.decider_names(address, requester, owner_only=owner_only)
        if not names:
            return "nobody here can decide"
        return f"{' or '.join(names)} {'decides' if len(names) == 1 else 'decide'}"

    def decider_names(self, address: Address, requester: Actor, *, owner_only: bool = False) -> tuple[str, ...]:
        """The names of ``deciders``, in the same order."""
        users = self.deciders(address, requester, owner_only=owner_only)
        return tuple(self.name(Actor(ActorKind.TELEGRAM, user)) for user in users)

    def ask_at(self, address: Address, requester: Actor, *, owner_only: bool = False) -> Address | None:
        """Where to put a question: where it was asked, else a decider's private chat, else None (nobody reachable)."""
        if address.surface is SurfaceName.TERMINAL:
            return address
        deciders = self.deciders(address, requester, owner_only=owner_only)
        if address.surface is SurfaceName.CRON:
            job = self.jobs.get(address.job)
            if job is None or not job.asks:
                return None
            address = job.place
        listed = self._circle(address)[0]
        if address.surface is SurfaceName.GROUP and any(user in listed for user in deciders):
            return address
        if address.surface is SurfaceName.PRIVATE and any(int(user) == int(address.chat) for user in deciders):
            return address
        bot = self.bots.get(address.bot)
        for user in deciders:
            if bot is not None and user in bot.allow:
                return Address(SurfaceName.PRIVATE, address.bot, ChatId(int(user)))
        return None

    def _asked_by(self, address: Address, requester: Actor) -> UserId | None:
        """Whose question it is: who asked; the owner where the clock did."""
        return self.owner if address.surface is SurfaceName.CRON else requester.user

    def _circle(self, address: Address) -> tuple[frozenset[UserId], Approvers]:
        if address.surface is SurfaceName.CRON:
            place = self.told_of(address)
            return self._circle(place) if place else (frozenset(), Approvers())
        bot = self.bots.get(address.bot)
        if bot is None:
            return frozenset(), Approvers()
        if address.surface is SurfaceName.GROUP:
            group = bot.groups.get(address.chat, bot.anywhere)
            return (group.allow, group.approvers) if group else (frozenset(), Approvers())
        return bot.allow, bot.approvers


def _person(actor: Actor) -> UserId | None:
    """The Telegram id of somebody who is a person; None for chats, channels, the host and mtclaw itself."""
    user = actor.user
    return None if user is None or user <= 0 or user in IMPERSONAL else user
