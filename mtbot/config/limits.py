"""How often one person may set the assistant to work, or have others asked."""

from typing import Annotated

from mtbot.config.values import Section, key, whole
from mtbot.policy.limits import MOST


class LimitSettings(Section):
    """What one person may cause in an hour, counted by numeric id over all chats."""

    turns_per_hour: Annotated[int, whole(0, MOST)] = key(
        60,
        says="Messages that begin a turn; 0 is no limit. The owner has none; it holds across a restart.",
    )
    questions_per_hour: Annotated[int, whole(0, MOST)] = key(
        60, says="Questions to people that the turns of one person put; 0 is no limit. It holds for the owner, too."
    )
