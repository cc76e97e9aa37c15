"""Reading a configuration from a text, for the tests of this room."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from mtbot.config.load import load
from mtbot.config.settings import Settings
from mtbot.domain.errors import ConfigError

RULES: Mapping[str, bool] = {"files.rm-recursive": False, "host.power": False, "host.fork-bomb": True}
HOME = Path("/home/chief")

SMALL = """\
people: {chief: 1001, deploy: 1002}
agent: {model: gpt-5}
channels: {telegram: {allow_from: [chief]}}
"""
"""The least that loads, and some people."""


def write(directory: Path, text: str) -> Path:
    """The text as a file of that directory."""
    path = directory / "config.yaml"
    path.write_text(text)
    return path


def read(directory: Path, text: str, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of that text."""
    return load(write(directory, text), environ or {}, HOME, RULES)


def faults(directory: Path, text: str) -> list[str]:
    """Every fault of that text, without the name of the file."""
    path = write(directory, text)
    with pytest.raises(ConfigError) as caught:
        load(path, {}, HOME, RULES)
    return [problem.removeprefix(f"{path}:") for problem in caught.value.problems]


def fault(directory: Path, key: str, text: str) -> str:
    """What is wrong with that key in ``SMALL`` plus the text; there must be this one fault only."""
    found = faults(directory, SMALL + text)
    assert len(found) == 1, found
    place, _, message = found[0].partition(f"{key}: ")
    assert message, f"{key} is not the key of {found[0]}"
    assert place.count(":") == 2
    return message
