"""The whole as one value: which profile, which model, which secrets."""

from pathlib import Path

import pytest

from mtbot.config.settings import ModelRef, find_model
from mtbot.config.values import SecretRef
from tests.unit.config.sample import SMALL, read


@pytest.mark.parametrize(
    ("text", "providers", "expected"),
    [
        ("main/m", ("main", "spare"), ModelRef("main", "m")),
        ("main/a/b", ("main", "spare"), ModelRef("main", "a/b")),
        ("m", ("main",), ModelRef("main", "m")),
        ("org/m", ("main",), ModelRef("main", "org/m")),
        ("main/", ("main",), ModelRef("main", "main/")),
        ("m", ("main", "spare"), None),
        ("org/m", ("main", "spare"), None),
        ("main/", ("main", "spare"), None),
        ("m", (), None),
    ],
)
def test_whose_model_it_is(text: str, providers: tuple[str, ...], expected: ModelRef | None) -> None:
    """A prefix counts only if it is a provider; without one there must be no choice."""
    assert find_model(text, providers) == expected


def test_every_secret_that_is_named_is_known(tmp_path: Path) -> None:
    """So that the redactor hides each value and no child inherits one."""
    text = SMALL + "providers: {main: {api_key_env: KEY_A}, local: {api_key_env: ''}}\nstorage: {}\n"
    settings = read(tmp_path, text.replace("gpt-5", "main/gpt-5"))
    assert settings.secret_refs() == (
        SecretRef("channels.telegram.bots.main.token", "TELEGRAM_BOT_TOKEN"),
        SecretRef("providers.main.api_key", "KEY_A"),
    )
    assert settings.secret_names() == {"TELEGRAM_BOT_TOKEN", "KEY_A"}
