"""What the running gateway says of itself, as doctor hears it over the control socket."""

from dataclasses import dataclass

from mtbot.bootstrap.offline import Loaded
from mtbot.bootstrap.reach import ask_gateway
from mtbot.domain.errors import MtclawError


@dataclass(frozen=True, slots=True)
class PollFound:
    """The polling of one bot: seconds since Telegram last answered (None: not yet), and what is wrong now."""

    bot: str
    age_s: float | None
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class GatewayFound:
    """A gateway that was asked: whether it answered, why not, and how its bots poll."""

    answers: bool = False
    fault: str = ""
    polls: tuple[PollFound, ...] = ()


def ask_state(loaded: Loaded) -> GatewayFound:
    """Ask it; silence and refusals are values."""
    try:
        answer = ask_gateway(loaded, {"do": "status"})
    except MtclawError as error:
        return GatewayFound(fault=str(error))
    if answer is None:
        return GatewayFound()
    bots = answer.get("bots")
    return GatewayFound(answers=True, polls=tuple(map(_poll, bots if isinstance(bots, list) else ())))


def _poll(told: object) -> PollFound:
    bot = told if isinstance(told, dict) else {}
    age = bot.get("poll_age_s")
    return PollFound(
        str(bot.get("name", "")), float(age) if isinstance(age, int | float) else None, str(bot.get("trouble", ""))
    )
