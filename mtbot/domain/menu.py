"""Where a command is offered: the menus that a chat service shows beside the field where people type."""

from enum import StrEnum


class Menu(StrEnum):
    """The private chats of listed people, groups, and the owner's own chat."""

    PRIVATE = "private"
    GROUPS = "groups"
    OWNER = "owner"


EVERYWHERE = frozenset(Menu)
IN_PRIVATE = frozenset({Menu.PRIVATE, Menu.OWNER})
FOR_OWNER = frozenset({Menu.OWNER})
