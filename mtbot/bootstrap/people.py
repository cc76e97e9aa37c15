"""The person who sits at this host."""

import os

from mtbot.bootstrap.system import user_name
from mtbot.domain.turn import Actor, ActorKind


def local_person() -> Actor:
    """Known by uid; a uid is no Telegram id."""
    return Actor(ActorKind.LOCAL, os.getuid(), user_name())
