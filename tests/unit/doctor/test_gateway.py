"""What doctor makes of a gateway's answer, of none and of a refusal."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from mtbot.doctor import gateway as subject
from mtbot.doctor.gateway import GatewayFound, PollFound, ask_state
from mtbot.domain.errors import ControlError
from tests.unit.doctor.test_checks import loaded


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (None, GatewayFound()),
        ({}, GatewayFound(answers=True)),
        (
            {"bots": [{"name": "main", "poll_age_s": 2, "trouble": "conflict"}, {"name": "ops", "poll_age_s": None}]},
            GatewayFound(answers=True, polls=(PollFound("main", 2.0, "conflict"), PollFound("ops", None))),
        ),
        ({"bots": ["nonsense"]}, GatewayFound(answers=True, polls=(PollFound("", None),))),
    ],
    ids=["none", "empty", "bots", "nonsense"],
)
def test_answers_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Mapping[str, object] | None, found: GatewayFound
) -> None:
    """Whatever another version might say."""
    monkeypatch.setattr(subject, "ask_gateway", lambda _loaded, _wanted: answer)
    assert ask_state(loaded(tmp_path)) == found


def test_a_refusal_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Doctor never raises."""

    def refuse(_loaded: object, _wanted: object) -> None:
        raise ControlError("no", hint="why")

    monkeypatch.setattr(subject, "ask_gateway", refuse)
    assert ask_state(loaded(tmp_path)) == GatewayFound(fault="no (why)")
