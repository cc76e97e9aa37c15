"""What a rule about the code is: a function from one file to its faults, and samples that it must and must not see."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.architecture.sources import Source

Finder = Callable[[Source], Iterator[str]]

Sample = tuple[str, str]
"""A path and the text of a file."""


@dataclass(frozen=True, slots=True)
class CodeRule:
    """A rule. It must find one fault in each of ``planted`` and none in ``spared``, the nearest that is in order."""

    name: str
    find: Finder
    planted: tuple[Sample, ...]
    spared: tuple[Sample, ...]

    def faults(self, *files: Source) -> list[str]:
        """The faults of files, each with its place."""
        return [f"{file.path}:{fault}" for file in files for fault in self.find(file)]
