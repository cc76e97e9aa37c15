"""Where files go that a turn sends: into its own chat, and from a scheduled job to where its results go."""

from collections.abc import Awaitable, Callable

from mtbot.bootstrap.offline import Loaded
from mtbot.config.service import JobSettings
from mtbot.domain.ids import BotName
from mtbot.domain.record import OutboxItem
from mtbot.tools.send import Post

Put = Callable[[OutboxItem], Awaitable[None]]


def post_of(loaded: Loaded, put: Put) -> Post:
    """The way into the chats of this configuration, over ``put``."""

    return Post(loaded.people.told_of, put)


def job_bot(loaded: Loaded, job: JobSettings) -> BotName:
    """The bot under which a job runs; the first one where the job names none."""
    named = job.deliver_to.bot if job.deliver_to else None
    return BotName(named or next(iter(loaded.settings.channels.telegram.bots), ""))
