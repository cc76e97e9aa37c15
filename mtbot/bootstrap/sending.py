"""Where files go that a turn sends: into its own chat, and from a scheduled job to where its results go."""

from collections.abc import Awaitable, Callable

from mtbot.bootstrap.offline import Loaded
from mtbot.config.service import JobSettings
from mtbot.domain.ids import BotName, ChatId, ThreadId
from mtbot.domain.record import OutboxItem
from mtbot.domain.turn import Address, SurfaceName
from mtbot.tools.send import Post

Put = Callable[[OutboxItem], Awaitable[None]]


def post_of(loaded: Loaded, put: Put) -> Post:
    """The way into the chats of this configuration, over ``put``."""

    def place(address: Address) -> Address | None:
        if address.surface is not SurfaceName.CRON:
            return address
        for job in loaded.settings.cron.jobs:
            label = f"job:{job.name}"
            if address.label == label or address.label.startswith(f"{label}:run-"):
                return delivery_place(loaded, job)
        return None

    return Post(place, put)


def job_bot(loaded: Loaded, job: JobSettings) -> BotName:
    """The bot under which a job runs; the first one where the job names none."""
    named = job.deliver_to.bot if job.deliver_to else None
    return BotName(named or next(iter(loaded.settings.channels.telegram.bots), ""))


def delivery_place(loaded: Loaded, job: JobSettings) -> Address | None:
    """The chat that a job's results go to."""
    if job.deliver_to is None:
        return None
    chat = ChatId(int(job.deliver_to.chat_id))
    thread = None if job.deliver_to.thread_id is None else ThreadId(job.deliver_to.thread_id)
    surface = SurfaceName.PRIVATE if chat > 0 else SurfaceName.GROUP
    return Address(surface, job_bot(loaded, job), chat, thread)
