"""The classifier asks its one question and passes on what comes back."""

from collections.abc import Sequence

import pytest

from mtbot.domain.errors import ProviderError, ProviderKind
from mtbot.domain.model import Finish, ModelAnswer, ModelRequest, OnText
from mtbot.domain.turn import Message, Role
from mtbot.llm.classifier import ModelClassifier


class Scripted:
    """A provider that keeps what it was asked."""

    def __init__(self, answer: ModelAnswer | ProviderError) -> None:
        self.answer = answer
        self.asked: list[ModelRequest] = []

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelAnswer:
        """The one answer, or the one error."""
        assert on_text is None
        self.asked.append(request)
        if isinstance(self.answer, ProviderError):
            raise self.answer
        return self.answer


def worded(command: str, cwd: str, shell: Sequence[str]) -> tuple[str, str]:
    """The question in the test's own words."""
    return "judge", f"{command}|{cwd}|{' '.join(shell)}"


async def test_it_sees_command_directory_and_shell_and_has_no_tools() -> None:
    """Two messages, no tools, no temperature; the answer comes back as it is."""
    provider = Scripted(ModelAnswer('{"risk": "low"}', (), Finish.STOP))
    said = await ModelClassifier(provider, "m", worded).ask("ls -l", "/srv", ["/bin/bash", "-c"])
    assert said == '{"risk": "low"}'
    messages = (Message(Role.SYSTEM, "judge"), Message(Role.USER, "ls -l|/srv|/bin/bash -c"))
    assert provider.asked == [ModelRequest("m", messages)]


async def test_a_fault_goes_up() -> None:
    """Consent turns it into a question."""
    provider = Scripted(ProviderError(ProviderKind.TIMEOUT, "late"))
    with pytest.raises(ProviderError, match="late"):
        await ModelClassifier(provider, "m", worded).ask("ls", "/", [])
