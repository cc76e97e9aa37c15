"""The ways in, each as a person (or the clock) uses it, so that one suite can hold every promise on all of them."""

from dataclasses import dataclass
from typing import Protocol

import pytest

from tests.contract.stage import CHIEF, GROUP, Stage


class Way(Protocol):
    """A way in. ``attended``: somebody can be asked there."""

    @property
    def name(self) -> str:
        """What the test is called after."""
        ...

    @property
    def attended(self) -> bool:
        """Whether a question can be put."""
        ...

    async def turn(self, stage: Stage, until: str) -> str:
        """Have one turn begin and end, the end being an answer that holds ``until``; everything that was said."""
        ...


@dataclass(frozen=True, slots=True)
class Private:
    """A private chat."""

    name: str = "private"
    attended: bool = True

    async def turn(self, stage: Stage, until: str) -> str:
        """Say it there."""
        await stage.telegram.say(CHIEF, None, "please do it")
        await stage.telegram.shown(CHIEF.id, until, timeout=20)
        return "\n".join(stage.bot_texts(CHIEF.id))


@dataclass(frozen=True, slots=True)
class Group:
    """A group where the bot wants to be mentioned."""

    name: str = "group"
    attended: bool = True

    async def turn(self, stage: Stage, until: str) -> str:
        """Mention the bot there."""
        await stage.telegram.say(CHIEF, GROUP, f"@{stage.telegram.bot().account.person.username} please do it")
        await stage.telegram.shown(GROUP, until, timeout=20)
        return "\n".join(stage.bot_texts(GROUP))


@dataclass(frozen=True, slots=True)
class Terminal:
    """``mtclaw prompt`` with a closed input, beside the running gateway."""

    name: str = "terminal"
    attended: bool = False

    async def turn(self, stage: Stage, until: str) -> str:
        """Run the command."""
        said = await stage.prompt("please do it", "--new")
        assert until in said.out, said
        return said.out + said.err


@dataclass(frozen=True, slots=True)
class Cron:
    """A scheduled job, whose result goes to a private chat."""

    name: str = "cron"
    attended: bool = False

    async def turn(self, stage: Stage, until: str) -> str:
        """Run the job."""
        await stage.run_job()
        await stage.telegram.shown(CHIEF.id, until, timeout=20)
        return "\n".join(stage.bot_texts(CHIEF.id))


SURFACES: tuple[Way, ...] = (Private(), Group(), Terminal(), Cron())
CHATS: tuple[Way, ...] = (Private(), Group())

on_every_surface = pytest.mark.parametrize("way", SURFACES, ids=lambda way: str(way.name))
in_every_chat = pytest.mark.parametrize("way", CHATS, ids=lambda way: str(way.name))
