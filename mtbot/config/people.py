"""Settings to the people who may speak and decide."""

from mtbot.config.channels import EVERY_GROUP, BotSettings, GroupSettings
from mtbot.config.channels import Approvers as ApproversSetting
from mtbot.config.service import OnAsk
from mtbot.config.settings import Settings
from mtbot.domain.ids import BotName, ThreadId, UserId
from mtbot.domain.turn import Address, SurfaceName
from mtbot.policy.people import Approvers, BotPeople, GroupPeople, JobPeople, People


def compile_people(settings: Settings) -> People:
    """Who may speak and decide."""
    bots = {BotName(name): _bot(bot) for name, bot in settings.channels.telegram.bots.items()}
    names = {UserId(int(user)): name for name, user in settings.people.items()}
    return People(names=names, owner=settings.owner, bots=bots, jobs=_jobs(settings))


def _jobs(settings: Settings) -> dict[str, JobPeople]:
    """The jobs that tell somebody, by name; a job without a bot of its own speaks by the first one."""
    first = next(iter(settings.channels.telegram.bots), "")
    found = {}
    for job in settings.cron.jobs:
        to = job.deliver_to
        if to is not None:
            surface = SurfaceName.PRIVATE if to.chat_id > 0 else SurfaceName.GROUP
            thread = None if to.thread_id is None else ThreadId(to.thread_id)
            place = Address(surface, BotName(to.bot or first), to.chat_id, thread)
            found[job.name] = JobPeople(place, job.on_ask is OnAsk.PARK)
    return found


def _bot(bot: BotSettings) -> BotPeople:
    approvers = _approvers(bot.approvers)
    groups = {chat: _group(bot, group, approvers) for chat, group in bot.groups.items()}
    anywhere = groups.pop(EVERY_GROUP, None)
    return BotPeople(frozenset(bot.allow_from), approvers, groups, anywhere)


def _group(bot: BotSettings, group: GroupSettings, approvers: Approvers) -> GroupPeople:
    own = approvers if group.approvers is None else _approvers(group.approvers)
    return GroupPeople(frozenset(group.allow_from or bot.allow_from), group.require_mention, own)


def _approvers(setting: ApproversSetting) -> Approvers:
    return Approvers(setting.who, frozenset(setting.people))
