"""Answers are counted even where the server does not, and priced by what the owner says."""

import pytest

from mtbot.domain.call import Risk, ToolDefault, ToolSpec
from mtbot.domain.ids import CallId
from mtbot.domain.model import Finish, ModelAnswer, ModelRequest, OnText
from mtbot.domain.spending import Price
from mtbot.domain.turn import Message, Role, ToolCall, Usage
from mtbot.llm.dialect import read_usage
from mtbot.llm.metering import Metered, lost

TOOL = ToolSpec("exec", "Run.", {"type": "object"}, Risk.EXEC, ToolDefault.ASK)
ASK = ModelRequest("m", (Message(Role.USER, "x" * 400),))


class Answering:
    """A provider that counts as it was told to."""

    def __init__(self, usage: Usage, text: str = "y" * 40) -> None:
        self.answer = ModelAnswer(text, (), Finish.STOP, usage)

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelAnswer:
        """The answer."""
        del request
        if on_text is not None:
            on_text(self.answer.text)
        return self.answer


async def test_a_count_with_a_price_costs_what_the_owner_says() -> None:
    """Also where the server reports another cost."""
    answer = await Metered(Answering(Usage(1000, 10, 77)), Price(2, 10)).complete(ASK)
    assert answer.usage == Usage(1000, 10, 2100)


async def test_whoever_looks_sees_the_answer_grow() -> None:
    """And what nobody counted is estimated of a stream, too."""
    seen: list[str] = []
    answer = await Metered(Answering(Usage()), None).complete(ASK, seen.append)
    assert (seen, answer.usage) == (["y" * 40], Usage(100, 10))


async def test_without_a_price_a_reported_cost_stays() -> None:
    """Routers say what an answer took."""
    assert (await Metered(Answering(Usage(1000, 10, 77)), None).complete(ASK)).usage == Usage(1000, 10, 77)


async def test_what_nobody_counted_is_estimated() -> None:
    """Or a cap would never be reached at a server that counts nothing."""
    answer = await Metered(Answering(Usage()), Price(1, 1)).complete(ASK)
    assert answer.usage == Usage(100, 10, 110)
    call = ToolCall(CallId("c"), "exec", "{}")
    asked = ModelRequest("m", (Message(Role.ASSISTANT, "", (call,)),), (TOOL,))
    assert (await Metered(Answering(Usage(), ""), None).complete(asked)).usage == Usage(8, 0)


@pytest.mark.parametrize(
    ("reported", "cost"),
    [(0.0012, 1200), (2, 2_000_000), (None, 0), ("0.1", 0), (True, 0), (-1, 0), (float("inf"), 0), (float("nan"), 0)],
)
def test_a_reported_cost_is_read_if_it_is_one(reported: object, cost: int) -> None:
    """Millionths; nonsense is nothing."""
    assert read_usage({"prompt_tokens": 1, "completion_tokens": 2, "cost": reported}) == Usage(1, 2, cost)


@pytest.mark.parametrize(
    ("counted", "in_all"),
    [
        (Usage(), Usage(100, 10)),
        (Usage(120, 1), Usage(120, 10)),
        (Usage(120, 30, 7), Usage(120, 30, 7)),
        (Usage(0, 5), Usage(100, 10)),
    ],
)
def test_what_broke_off_is_counted_as_far_as_it_can_be_seen(counted: Usage, in_all: Usage) -> None:
    """A server says at the beginning what was sent, and at the end what it said."""
    assert lost(ASK, ModelAnswer("y" * 40, (), Finish.STOP, counted)) == in_all
