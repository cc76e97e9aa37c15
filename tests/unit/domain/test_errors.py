"""The tree of errors: what each carries, and that codes are stable and differ."""

from collections.abc import Iterator

import pytest

from mtbot.domain import errors
from mtbot.domain.errors import (
    AlreadyDecided,
    ChatGone,
    ConfigError,
    MtclawError,
    NotUsable,
    ProviderError,
    ProviderKind,
    Throttled,
)


def tree(root: type[MtclawError]) -> Iterator[type[MtclawError]]:
    """Every class below ``root``, itself first."""
    yield root
    for child in root.__subclasses__():
        yield from tree(child)


OURS = [kind for kind in tree(MtclawError) if kind.__module__ == errors.__name__]


def test_every_error_has_a_code_of_its_own_and_stands_in_the_drawing() -> None:
    """Logs and scripts go by the code; readers go by the drawing."""
    codes = [kind.code for kind in OURS]
    assert len(set(codes)) == len(codes)
    assert errors.__doc__ is not None
    assert [kind.__name__ for kind in OURS if kind.__name__ not in errors.__doc__] == []


@pytest.mark.parametrize("kind", OURS)
def test_every_error_ends_a_command_with_one(kind: type[MtclawError]) -> None:
    """Nothing of ours asks for another status."""
    assert kind.exit_status == 1


def test_the_hint_follows_the_message() -> None:
    """In brackets, if there is one."""
    assert str(MtclawError("it broke", hint="mend it")) == "it broke (mend it)"
    assert str(MtclawError("it broke")) == "it broke"


def test_data_travels_as_attributes() -> None:
    """Nobody has to take a text apart."""
    assert ConfigError(("a: wrong", "b: missing")).problems == ("a: wrong", "b: missing")
    assert str(ConfigError(("a: wrong", "b: missing"))) == "a: wrong\nb: missing"
    decided = AlreadyDecided("approved", "Chief", 5)
    assert (decided.state, decided.decider, decided.at_ms, str(decided)) == (
        "approved",
        "Chief",
        5,
        "already approved by Chief",
    )
    assert NotUsable("expired", "#K7QD has lapsed").why == "expired"
    throttled = Throttled("slow down", 2.5)
    assert (throttled.retry_after, throttled.status) == (2.5, 429)
    gone = ChatGone("moved", status=400, moved_to=-1007)
    assert (gone.status, gone.moved_to) == (400, -1007)
    model = ProviderError(ProviderKind.RATE, "later", status=429, retry_after=7.0, hint="wait")
    assert (model.kind, model.status, model.retry_after, model.hint) == (ProviderKind.RATE, 429, 7.0, "wait")
