"""The named points of one exec call at which the gateway is killed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """Before or after the ``nth`` call of a method of a class."""

    name: str
    module: str
    owner: str
    method: str
    before: bool = False
    nth: int = 1


def _around(what: str, module: str, owner: str, method: str, nth: int = 1) -> tuple[Point, Point]:
    return (
        Point(f"before {what}", module, owner, method, before=True, nth=nth),
        Point(f"after {what}", module, owner, method, nth=nth),
    )


POINTS: tuple[Point, ...] = (
    *_around("the update is stored", "mtbot.storage.inbox", "InboxStore", "store"),
    *_around("the turn takes its message", "mtbot.storage.inbox", "InboxStore", "take"),
    *_around("the first model call", "mtbot.llm.openai", "OpenAIProvider", "complete"),
    *_around("the decision is recorded", "mtbot.storage.trail", "Trail", "append"),
    *_around("the question is written", "mtbot.storage.consent", "ConsentStore", "open"),
    *_around("the question is sent", "mtbot.channels.telegram.show", "TelegramWay", "deliver"),
    *_around("the ruling is written", "mtbot.storage.consent", "ConsentStore", "rule"),
    *_around("the start is recorded", "mtbot.storage.trail", "Trail", "start"),
    *_around("the command runs", "mtbot.processes.children", "RunnerChildren", "run"),
    *_around("the end is recorded", "mtbot.storage.trail", "Trail", "end"),
    *_around("the second model call", "mtbot.llm.openai", "OpenAIProvider", "complete", nth=2),
    *_around("the turn is flushed", "mtbot.storage.history", "HistoryStore", "flush"),
)

AGAIN: tuple[Point, ...] = (
    *_around("the notice is written", "mtbot.storage.history", "HistoryStore", "flush"),
    *_around("the press is stored", "mtbot.storage.inbox", "InboxStore", "store"),
    *_around("the press looks at the kept call", "mtbot.storage.kept", "KeptStore", "standing"),
    *_around("the turn takes the kept call", "mtbot.storage.kept", "KeptStore", "standing", nth=2),
    *_around("its decision is recorded", "mtbot.storage.trail", "Trail", "append", nth=2),
    *_around("the new question is written", "mtbot.storage.consent", "ConsentStore", "open"),
    *_around("the new ruling is written", "mtbot.storage.consent", "ConsentStore", "rule"),
    *_around("the new start is recorded", "mtbot.storage.trail", "Trail", "start"),
    *_around("the call runs again", "mtbot.processes.children", "RunnerChildren", "run"),
    *_around("its new end is recorded", "mtbot.storage.trail", "Trail", "end"),
    *_around("its turn is flushed", "mtbot.storage.history", "HistoryStore", "flush", nth=2),
)
"""Where the second gateway dies, whose first one had died in a call: the call is asked for again meanwhile."""

MEMORY_POINTS: tuple[Point, ...] = (
    *_around("the summary is written", "mtbot.storage.memory", "MemoryStore", "sum_up"),
    *_around("the conversation is put away", "mtbot.storage.archive", "ArchiveStore", "put_away"),
    *_around("the conversation is brought back", "mtbot.storage.archive", "ArchiveStore", "bring_back"),
)
"""Those of what is kept of a conversation."""
