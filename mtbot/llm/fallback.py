"""An ordered list of models behind one port: while the first cannot answer, the next one does.

A fault that every model would share (a context that is too long, a request that is not understood) is not passed on:
whoever asked has to mend it. A model that failed rests for a while, so that not every turn waits for its retries again.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mtbot.domain.errors import ProviderError, ProviderKind
from mtbot.domain.model import ModelAnswer, ModelRequest, OnText
from mtbot.domain.ports import Provider

REST_SECONDS = 60.0

_ELSEWHERE = frozenset(
    {
        ProviderKind.AUTH,
        ProviderKind.RATE,
        ProviderKind.QUOTA,
        ProviderKind.TRANSIENT,
        ProviderKind.TIMEOUT,
        ProviderKind.NETWORK,
        ProviderKind.GARBLED,
    }
)
_NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class Choice:
    """One model of the list; ``name`` is what the configuration calls it."""

    name: str
    provider: Provider
    model: str


class Fallback:
    """Implements Provider over ``choices``, the preferred one first.

    ``passed_over`` is told the name of a model that could not answer and why. ``monotonic`` gives seconds.
    """

    def __init__(
        self,
        choices: Sequence[Choice],
        passed_over: Callable[[str, ProviderKind], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        if not choices:
            raise ValueError("no model to ask")
        self._choices = tuple(choices)
        self._passed_over = passed_over
        self._monotonic = monotonic
        self._rests_until: dict[str, float] = {}

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelAnswer:
        """The answer of the first model that has one; ``request.model`` is not looked at. The first ProviderError."""
        first: ProviderError | None = None
        for choice in self._order():
            try:
                answer = await choice.provider.complete(replace(request, model=choice.model), on_text)
            except ProviderError as error:
                if not _may_work_elsewhere(error):
                    raise
                first = first or error
                self._rests_until[choice.name] = self._monotonic() + REST_SECONDS
                self._passed_over(choice.name, error.kind)
            else:
                self._rests_until.pop(choice.name, None)
                return answer
        assert first is not None
        raise first

    def _order(self) -> list[Choice]:
        """Those that are not resting, then those that are: a rest is no reason to ask nobody."""
        now = self._monotonic()
        return sorted(self._choices, key=lambda choice: self._rests_until.get(choice.name, now) > now)


def _may_work_elsewhere(error: ProviderError) -> bool:
    """Whether another model may answer what this one did not; a model that is gone is such a case."""
    return error.kind in _ELSEWHERE or error.status == _NOT_FOUND
