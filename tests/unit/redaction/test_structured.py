"""Messages are masked as they were meant, and calls stay calls."""

import json

import pytest

from mtbot.domain.ids import CallId
from mtbot.domain.turn import Message, Role, ToolCall
from mtbot.redaction.mask import Redactor
from mtbot.redaction.structured import MASKED_NAME, mask_json, masked_message, masked_value

SECRET = 'P4vz "O3iCg'
REDACTOR = Redactor({"model": SECRET, "quoted": 'swordfish9"'}, b"key")
MARK = str(REDACTOR.mask(SECRET))


@pytest.mark.parametrize(
    ("value", "hidden"),
    [
        ({"command": f"echo {SECRET}"}, {"command": f"echo {MARK}"}),
        ({SECRET: [SECRET, 1, None, {"x": SECRET}]}, {MARK: [MARK, 1, None, {"x": MARK}]}),
        ({"command": "true", "n": 1.5, "yes": True}, {"command": "true", "n": 1.5, "yes": True}),
    ],
)
def test_every_text_in_arguments_is_masked(value: object, hidden: object) -> None:
    """Names and values at any depth; what is no text stays."""
    assert json.loads(mask_json(json.dumps(value), REDACTOR.mask)) == hidden


def test_a_format_is_found_behind_an_escaped_line_break() -> None:
    """In JSON a line break is a letter, and no word would begin behind it."""
    masked = mask_json(json.dumps({"command": "x\nmysqldump -u root -pswordfish1 app"}), REDACTOR.mask)
    assert "swordfish1" not in masked
    assert json.loads(masked)["command"].startswith("x\nmysqldump -u root -p\u2039secret:")


def test_a_name_and_its_value_are_seen_together() -> None:
    """Alone the value is a word like any other."""
    masked = mask_json('{"password": "correcthorse"}', REDACTOR.mask)
    assert "correcthorse" not in masked
    assert list(json.loads(masked)) == ["password"]


def test_arguments_stay_json_even_where_a_value_ends_like_the_notation() -> None:
    """A strict provider refuses every later request with a call that is none."""
    masked = mask_json('{"command": "echo swordfish9"}', REDACTOR.mask)
    assert "swordfish9" not in masked
    assert json.loads(masked)


@pytest.mark.parametrize("raw", ["", "no json", '{"a": ', "[" * 100_000])
def test_what_is_no_json_is_masked_as_it_is(raw: str) -> None:
    """Whatever a model sent."""
    assert mask_json(f"{raw}{SECRET}", REDACTOR.mask) == f"{raw}{MARK}"


def test_arguments_without_a_secret_are_not_touched() -> None:
    """Byte by byte, so that the model finds what it said."""
    assert mask_json('{ "b":1,"a" : "\\u00e9" }', REDACTOR.mask) == '{ "b":1,"a" : "\\u00e9" }'


def test_a_message_is_masked_wholly() -> None:
    """Its text, its calls, and the name of a tool if there is a secret in it."""
    call = ToolCall(CallId("1"), "exec", json.dumps({"command": SECRET}))
    odd = ToolCall(CallId("2"), f"x{SECRET}", "{}")
    told = Message(Role.ASSISTANT, f"I run {SECRET}", calls=(call, odd))
    assert masked_message(told, REDACTOR.mask) == Message(
        Role.ASSISTANT,
        f"I run {MARK}",
        calls=(
            ToolCall(CallId("1"), "exec", json.dumps({"command": MARK}, ensure_ascii=False)),
            ToolCall(CallId("2"), MASKED_NAME, "{}"),
        ),
    )
    answered = Message(Role.TOOL, SECRET, call_id=CallId("2"), tool_name=f"x{SECRET}")
    assert masked_message(answered, REDACTOR.mask) == Message(
        Role.TOOL, MARK, call_id=CallId("2"), tool_name=MASKED_NAME
    )


def test_names_that_are_no_texts_stay() -> None:
    """YAML has numbers for names."""
    assert masked_value({-5: SECRET, "a": (SECRET,)}, REDACTOR.mask) == {-5: MARK, "a": (SECRET,)}
