"""Who sees an answer grow."""

from collections.abc import Iterator
from contextlib import contextmanager

from mtbot.domain.errors import ProviderError, ProviderKind
from mtbot.domain.model import OnText
from mtbot.domain.turn import Address
from tests.unit.agent.scenes import begun, says, scene


async def test_whoever_looks_sees_each_answer_grow_and_no_longer() -> None:
    """Also where the model fails; what grows then is the next one's."""
    here = scene(ProviderError(ProviderKind.NETWORK, "no"), says("It runs."))
    opened: list[str] = []

    @contextmanager
    def writing(address: Address) -> Iterator[OnText]:
        opened.append(f"begun at {address.chat}")
        try:
            yield opened.append
        finally:
            opened.append("over")

    here.agent.writing = writing
    for _ in range(2):
        await here.advance(begun())
    assert [watcher is not None for watcher in here.model.watched] == [True, True]
    assert opened == ["begun at 1001", "over"] * 2


async def test_nobody_looks_unless_somebody_was_told_to() -> None:
    """A terminal and a job have their answers whole."""
    here = scene(says("It runs."))
    await here.advance(begun())
    assert here.model.watched == [None]
