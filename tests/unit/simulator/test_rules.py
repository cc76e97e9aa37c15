"""The limits of the Bot API are enforced at their exact edges."""

import pytest

from mtbot.simulator import rules
from mtbot.simulator.params import Params
from mtbot.simulator.values import ApiRefusal, Entity


def _refusal(**values: object) -> str:
    with pytest.raises(ApiRefusal) as caught:
        rules.formatted_text(Params(values))
    assert caught.value.code == 400
    return caught.value.description


def _keyboard(*rows: list[dict[str, object]]) -> Params:
    return Params({"reply_markup": {"inline_keyboard": list(rows)}})


def _button(label: str = "x", data: str = "d") -> dict[str, object]:
    return {"text": label, "callback_data": data}


def test_text_is_measured_after_parsing_in_utf16_units() -> None:
    """4096 pass, one more does not; markup and escapes do not count, an emoji counts twice."""
    assert len(rules.formatted_text(Params({"text": "x" * 4096})).text) == 4096
    assert len(rules.formatted_text(Params({"text": "&lt;" * 4096, "parse_mode": "HTML"})).text) == 4096
    assert rules.formatted_text(Params({"text": "😀" * 2048})).text == "😀" * 2048
    assert _refusal(text="x" * 4097) == "Bad Request: message is too long"
    assert _refusal(text="😀" * 2048 + "x") == "Bad Request: message is too long"


def test_empty_and_blank_text_is_refused() -> None:
    """Also when only markup is left, and when there is no text at all."""
    for values in ({"text": ""}, {"text": " \n\t"}, {"text": "<b> </b>", "parse_mode": "HTML"}, {}):
        assert _refusal(**values) == "Bad Request: message text is empty"


def test_raw_size_is_limited_before_parsing() -> None:
    """32 KiB of escapes are too much although they would parse to little."""
    assert _refusal(text="&lt;" * 8193, parse_mode="HTML") == "Bad Request: text is too long"


def test_a_lone_surrogate_is_refused() -> None:
    """It cannot be encoded."""
    assert _refusal(text="\ud83d") == "Bad Request: strings must be encoded in UTF-8"


def test_captions_may_be_empty_and_end_at_1024() -> None:
    """The limit of captions is their own."""
    assert rules.formatted_caption(Params({})).text == ""
    assert len(rules.formatted_caption(Params({"caption": "x" * 1024})).text) == 1024
    with pytest.raises(ApiRefusal, match="message caption is too long"):
        rules.formatted_caption(Params({"caption": "x" * 1025}))


def test_trailing_blanks_go_and_take_their_formatting_along() -> None:
    """As the real server trims."""
    entities = [{"type": "bold", "offset": 0, "length": 4}, {"type": "italic", "offset": 2, "length": 2}]

    assert rules.formatted_text(Params({"text": "ab \n", "entities": entities})).entities == (Entity("bold", 0, 2),)


@pytest.mark.parametrize(
    "entity",
    [
        {"type": "bold", "offset": 0, "length": 4},
        {"type": "bold", "offset": -1, "length": 2},
        {"type": "bold", "offset": 3, "length": 1},
        {"type": "bold", "offset": 0, "length": 0},
        {"type": "bold", "offset": "0", "length": 1},
        {"type": "loud", "offset": 0, "length": 1},
        {"type": "text_link", "offset": 0, "length": 1},
        {"type": "bold", "offset": 2, "length": 1},
        {"type": "bold", "offset": 0, "length": 2},
    ],
    ids=[
        "past the end",
        "before the start",
        "behind the end",
        "empty",
        "text offset",
        "unknown",
        "no url",
        "in pair",
        "to pair",
    ],
)
def test_an_entity_that_does_not_fit_the_text_is_refused(entity: dict[str, object]) -> None:
    """Out of bounds, inside a surrogate pair, or not an entity."""
    assert "can't parse entities" in _refusal(text="a😀", entities=[entity])


def test_crossing_entities_are_refused_and_nested_ones_pass() -> None:
    """One must hold the other, or they must not touch."""
    outer, inner = {"type": "bold", "offset": 0, "length": 4}, {"type": "italic", "offset": 1, "length": 3}
    beside = {"type": "code", "offset": 4, "length": 1}
    crossing = {"type": "underline", "offset": 2, "length": 3}

    passed = rules.formatted_text(Params({"text": "abcde", "entities": [beside, inner, outer]}))
    assert (len(passed.entities), passed.notes) == (3, ())
    assert _refusal(text="abcde", entities=[outer, crossing]) == (
        "Bad Request: can't parse entities: underline crosses bold"
    )


def test_the_hundred_and_first_entity_is_ignored_and_noted() -> None:
    """The message passes, its formatting ends."""
    entities = [{"type": "bold", "offset": at * 2, "length": 1} for at in range(101)]

    found = rules.formatted_text(Params({"text": "x " * 101, "entities": entities}))

    assert (len(found.entities), found.notes) == (100, ("entities beyond 100 ignored: 1",))


def test_formatting_that_the_server_drops_is_noted() -> None:
    """Code holds nothing and is held by quotes only; quotes do not nest."""
    text = "<b><code>a</code></b><blockquote><code>b</code></blockquote><code><b>c</b></code>"

    assert rules.formatted_text(Params({"text": text, "parse_mode": "HTML"})).notes == (
        "code inside bold loses its formatting",
        "bold inside code loses its formatting",
    )


def test_callback_data_is_measured_in_bytes() -> None:
    """64 bytes pass; 33 Cyrillic letters are 66."""
    assert rules.keyboard(_keyboard([_button(data="d" * 64), _button(data="ж" * 32)])) is not None
    for data in ("", "d" * 65, "ж" * 33):
        with pytest.raises(ApiRefusal, match="BUTTON_DATA_INVALID"):
            rules.keyboard(_keyboard([_button(data=data)]))


def test_keyboards_end_at_eight_a_row_and_a_hundred_in_all() -> None:
    """Both edges; a keyboard without a button is none."""
    assert rules.keyboard(_keyboard(*[[_button()] * 8] * 12, [_button()] * 4)) is not None
    assert rules.keyboard(_keyboard([])) is None
    for rows in ([[_button()] * 9], [[_button()] * 8] * 12 + [[_button()] * 5]):
        with pytest.raises(ApiRefusal, match="reply markup is too long"):
            rules.keyboard(_keyboard(*rows))


@pytest.mark.parametrize("cell", [{"text": "x"}, {"text": " ", "callback_data": "d"}, "x"])
def test_a_button_needs_a_label_and_something_to_do(cell: object) -> None:
    """And must be an object."""
    with pytest.raises(ApiRefusal):
        rules.keyboard(Params({"reply_markup": {"inline_keyboard": [[cell]]}}))


def test_a_keyboard_is_made_of_rows() -> None:
    """One flat list of buttons is none."""
    with pytest.raises(ApiRefusal, match="Array of Arrays"):
        rules.keyboard(Params({"reply_markup": {"inline_keyboard": [_button()]}}))


def test_other_markup_is_no_inline_keyboard() -> None:
    """Nothing to check, nothing to press."""
    assert rules.keyboard(Params({"reply_markup": {"remove_keyboard": True}})) is None


def test_callback_answers_end_at_200() -> None:
    """Absent is empty."""
    assert rules.callback_text(Params({})) == ""
    assert len(rules.callback_text(Params({"text": "x" * 200}))) == 200
    with pytest.raises(ApiRefusal, match="MESSAGE_TOO_LONG"):
        rules.callback_text(Params({"text": "x" * 201}))


def test_an_unknown_chat_action_is_refused() -> None:
    """Typing is known."""
    assert rules.chat_action(Params({"action": "typing"})) == "typing"
    with pytest.raises(ApiRefusal, match="wrong parameter action"):
        rules.chat_action(Params({"action": "thinking"}))


@pytest.mark.parametrize(
    ("commands", "error"),
    [
        ([{"command": "Status", "description": "x"}], "BOT_COMMAND_INVALID"),
        ([{"command": "a" * 33, "description": "x"}], "BOT_COMMAND_INVALID"),
        ([{"command": "a", "description": ""}], "BOT_COMMAND_DESCRIPTION_INVALID"),
        ([{"command": "a", "description": "x" * 257}], "BOT_COMMAND_DESCRIPTION_INVALID"),
        ([{"command": "a", "description": "x"}] * 101, "BOT_COMMANDS_TOO_MUCH"),
        (None, "is required"),
    ],
)
def test_a_menu_outside_its_limits_is_refused(commands: object, error: str) -> None:
    """Names, descriptions, number."""
    with pytest.raises(ApiRefusal, match=error):
        rules.command_list(Params({"commands": commands}))


def test_a_menu_inside_its_limits_is_kept() -> None:
    """A leading slash is not part of the name."""
    items = [{"command": "/a_1", "description": "x" * 256}]

    assert rules.command_list(Params({"commands": items})) == (("a_1", "x" * 256),)
