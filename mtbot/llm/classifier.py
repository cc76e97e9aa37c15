"""The classifier of auto mode: one question, no tools, no retries."""

from collections.abc import Callable, Sequence

from mtbot.domain.model import ModelRequest
from mtbot.domain.ports import Provider
from mtbot.domain.turn import Message, Role

Question = Callable[[str, str, Sequence[str]], tuple[str, str]]


class ModelClassifier:
    """Asks a provider that was built without retries. ``question`` (policy) words what is sent."""

    def __init__(self, provider: Provider, model: str, question: Question) -> None:
        self._provider = provider
        self._model = model
        self._question = question

    async def ask(self, command: str, cwd: str, shell: Sequence[str]) -> str:
        """The raw answer. ProviderError on any fault."""
        system, user = self._question(command, cwd, shell)
        messages = (Message(Role.SYSTEM, system), Message(Role.USER, user))
        return (await self._provider.complete(ModelRequest(self._model, messages))).text
