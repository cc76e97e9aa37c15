"""Which model answers when one cannot, and which faults are nobody else's business."""

from collections.abc import Sequence

import pytest

from mtbot.domain.errors import ProviderError, ProviderKind
from mtbot.domain.model import Finish, ModelAnswer, ModelRequest, OnText
from mtbot.domain.turn import Message, Role
from mtbot.llm.fallback import REST_SECONDS, Choice, Fallback

ASK = ModelRequest("whatever", (Message(Role.USER, "hello"),))
PASSED_ON = [kind for kind in ProviderKind if kind not in (ProviderKind.CONTEXT, ProviderKind.BAD_REQUEST)]


class Scripted:
    """A model that fails with what is in ``faults``, one after the other, and then answers with its name."""

    def __init__(self, name: str, *faults: ProviderError) -> None:
        self.name = name
        self.faults = list(faults)
        self.asked: list[str] = []

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelAnswer:
        """Fail or answer."""
        self.asked.append(request.model)
        if on_text is not None:
            on_text(f"{self.name} says")
        if self.faults:
            raise self.faults.pop(0)
        return ModelAnswer(self.name, (), Finish.STOP)


class Hand:
    """A clock that is moved by hand, in seconds."""

    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        """The time."""
        return self.at


def chain(models: Sequence[Scripted], clock: Hand | None = None, told: list[str] | None = None) -> Fallback:
    """The models in that order; ``told`` collects who was passed over."""
    told = [] if told is None else told
    choices = [Choice(f"at/{one.name}", one, f"model-{one.name}") for one in models]
    return Fallback(choices, lambda name, kind: told.append(f"{name} {kind}"), clock or Hand())


def fault(kind: ProviderKind, words: str = "no", status: int = 0) -> ProviderError:
    """A fault of that kind."""
    return ProviderError(kind, words, status=status)


@pytest.mark.parametrize("kind", PASSED_ON)
async def test_the_next_model_answers_under_its_own_name(kind: ProviderKind) -> None:
    """Whatever keeps one provider from answering, another may."""
    told: list[str] = []
    one, two = Scripted("one", fault(kind)), Scripted("two")
    assert (await chain([one, two], told=told).complete(ASK)).text == "two"
    assert (one.asked, two.asked, told) == (["model-one"], ["model-two"], [f"at/one {kind}"])


@pytest.mark.parametrize("kind", [ProviderKind.CONTEXT, ProviderKind.BAD_REQUEST])
async def test_a_fault_of_the_request_is_not_passed_on(kind: ProviderKind) -> None:
    """Whoever asked mends it; asking elsewhere would only cost."""
    one, two = Scripted("one", fault(kind)), Scripted("two")
    with pytest.raises(ProviderError):
        await chain([one, two]).complete(ASK)
    assert two.asked == []


async def test_a_model_that_is_gone_is_passed_over() -> None:
    """Providers answer 404 for a model that they no longer have."""
    one, two = Scripted("one", fault(ProviderKind.BAD_REQUEST, status=404)), Scripted("two")
    assert (await chain([one, two]).complete(ASK)).text == "two"


async def test_whoever_looks_sees_the_answer_of_each_in_turn() -> None:
    """The text of the one that failed gives way to that of the next."""
    seen: list[str] = []
    await chain([Scripted("one", fault(ProviderKind.RATE)), Scripted("two")]).complete(ASK, seen.append)
    assert seen == ["one says", "two says"]


async def test_when_none_answers_the_first_fault_is_told() -> None:
    """It is the preferred model that the owner has to look after."""
    models = [Scripted("one", fault(ProviderKind.QUOTA, "paid up")), Scripted("two", fault(ProviderKind.NETWORK))]
    with pytest.raises(ProviderError, match="paid up"):
        await chain(models).complete(ASK)


async def test_a_model_that_failed_rests_and_comes_back() -> None:
    """Or each turn would wait for its retries again."""
    clock = Hand()
    one, two = Scripted("one", fault(ProviderKind.RATE)), Scripted("two")
    models = chain([one, two], clock)
    await models.complete(ASK)
    clock.at += REST_SECONDS - 1
    await models.complete(ASK)
    assert len(one.asked) == 1
    clock.at += 1
    assert (await models.complete(ASK)).text == "one"


async def test_rest_is_no_reason_to_ask_nobody() -> None:
    """All are asked again, in their order, when all of them rest."""
    one, two = Scripted("one", fault(ProviderKind.RATE)), Scripted("two", fault(ProviderKind.RATE))
    models = chain([one, two])
    with pytest.raises(ProviderError):
        await models.complete(ASK)
    assert (await models.complete(ASK)).text == "one"
    assert (await models.complete(ASK)).text == "one", "whoever answered is well again"


def test_a_list_of_nobody_is_a_mistake() -> None:
    """It could never answer."""
    with pytest.raises(ValueError, match="no model"):
        Fallback([], lambda _name, _kind: None)
