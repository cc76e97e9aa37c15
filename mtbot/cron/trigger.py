"""Our crontab lines as an APScheduler trigger: its own cron numbers Monday 0 and ANDs the two day fields."""

from datetime import UTC, datetime

from apscheduler.triggers.base import BaseTrigger

from mtbot.cron.schedule import Schedule


class CrontabTrigger(BaseTrigger):  # type: ignore[misc] # the library has no types
    """Rings at every occurrence of a schedule."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        """The next occurrence after the last one that rang, or after now."""
        after = previous_fire_time or now
        return datetime.fromtimestamp(self._schedule.next_after(round(after.timestamp() * 1000)) / 1000, UTC)
