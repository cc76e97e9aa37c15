"""Pairing as the host does it: show a code, wait for who sends it, write them into the configuration."""

import asyncio
import os
import secrets
from collections.abc import Callable

from mtbot.bootstrap.offline import Loaded, read_settings, work
from mtbot.bootstrap.system import code_of_letters, home_directory
from mtbot.config.edit import add_person
from mtbot.config.values import valid_name
from mtbot.domain.errors import ConfigError, StateError
from mtbot.domain.ids import BotName
from mtbot.domain.pairing import GOOD_MS, Pairing, Pairings, Standing, digest_of

LOOK_SECONDS = 0.5


def wanted(loaded: Loaded, person: str, bot: str | None) -> BotName:
    """The bot to pair with. ConfigError if there is none of that name, or the person is known already."""
    bots = tuple(loaded.settings.channels.telegram.bots)
    name = bot or next(iter(bots), "")
    if name not in bots:
        raise ConfigError((f"channels.telegram.bots: there is no bot {name or '(none is configured)'}",))
    if bot is None and len(bots) > 1:
        raise ConfigError((f"which bot? --bot {' or --bot '.join(bots)}",))
    try:
        valid_name(person)
    except ValueError as error:
        raise ConfigError((f"{person}: {error}",)) from error
    if person in loaded.settings.people:
        raise ConfigError((f"people: there is a {person} already",), hint="take another name")
    return BotName(name)


async def pair(loaded: Loaded, person: str, bot: BotName, show: Callable[[str, Pairing], None]) -> Pairing:
    """Show a code and wait until somebody sent it and is written down. StateError, ConfigError: nobody was."""
    code, salt = code_of_letters(12), secrets.token_hex(16)
    office = await work(loaded)
    pairings = office.stores.pairings
    try:
        pairing = Pairing(bot, person, salt, digest_of(code, salt), loaded.clock.now_ms() + GOOD_MS)
        await pairings.begin(pairing)
        show("-".join(code[at : at + 4] for at in range(0, len(code), 4)), pairing)
        try:
            found = await _sent(loaded, pairings, pairing)
            _write_down(loaded, found)
        except BaseException:
            await pairings.end(pairing, None)
            raise
        await pairings.end(pairing, Standing.WRITTEN)
        return found
    finally:
        await office.close()


async def _sent(loaded: Loaded, pairings: Pairings, pairing: Pairing) -> Pairing:
    """Wait for somebody to send it. StateError if nobody does."""
    while loaded.clock.now_ms() < pairing.until_ms:
        found = await pairings.find(pairing.bot)
        if found is None or found.digest != pairing.digest:
            raise StateError("another code was asked for meanwhile, so this one is void")
        if found.standing is Standing.SPENT:
            raise StateError(
                "the code is void: it was sent in a group, or too many wrong ones were", hint="ask for another"
            )
        if found.standing is Standing.MATCHED:
            return found
        await asyncio.sleep(LOOK_SECONDS)
    raise StateError("nobody sent the code in time", hint="ask for another; is the gateway running?")


def _write_down(loaded: Loaded, found: Pairing) -> None:
    """Add the person to the configuration, with its comments kept. ConfigError if it would not load then."""
    if found.user is None:
        raise StateError("nobody sent the code")
    add_person(
        loaded.settings.file,
        found.person,
        int(found.user),
        str(found.bot),
        lambda candidate: read_settings(candidate, os.environ, home_directory()),
    )
