"""Steps are values, and a rulebook chooses them from the conversation alone."""

import json

import pytest

from mtbot.simulator.script import (
    HANG,
    Answer,
    Break,
    Finish,
    ModelRequest,
    ProposedCall,
    Rule,
    Rulebook,
    Step,
    Usage,
    broken_off,
    call,
    context_too_long,
    cut_call,
    out_of_quota,
    rate_limited,
    raw,
    rules_from_json,
    say,
    server_error,
    text_of,
    together,
    unauthorized,
    unsupported,
)


def _request(*messages: dict[str, object]) -> ModelRequest:
    return ModelRequest(1, 0.0, "/v1/chat/completions", {"model": "m", "messages": list(messages)}, {})


def _user(text: str) -> dict[str, object]:
    return {"role": "user", "content": text}


def _assistant() -> dict[str, object]:
    return {"role": "assistant", "content": "", "tool_calls": []}


def _tool(text: str) -> dict[str, object]:
    return {"role": "tool", "tool_call_id": "1", "content": text}


def test_helpers_build_answers() -> None:
    """Arguments become JSON; text arguments stay broken."""
    assert say("hi") == Answer("hi")
    assert say(None, finish=Finish.CONTENT_FILTER, usage=Usage(1, 2)) == Answer(
        None, (), Finish.CONTENT_FILTER, Usage(1, 2)
    )
    assert call("exec", {"command": "ls ü"}) == Answer(None, (ProposedCall("exec", '{"command": "ls ü"}'),))
    assert cut_call("exec", '{"command":"rm -rf /tmp/b') == Answer(
        None, (ProposedCall("exec", '{"command":"rm -rf /tmp/b'),), Finish.LENGTH
    )
    assert together(call("a", {}, id="1", text="x"), call("b", {}, id="2", text="y")) == Answer(
        "xy", (ProposedCall("a", "{}", "1"), ProposedCall("b", "{}", "2"))
    )
    assert broken_off(say("x"), 3, Break.END) == Answer("x", cut_after=3, cut_by=Break.END)


@pytest.mark.parametrize(
    ("failure", "status", "code"),
    [
        (unauthorized(), 401, "invalid_api_key"),
        (rate_limited(), 429, "rate_limit_exceeded"),
        (out_of_quota(), 429, "insufficient_quota"),
        (context_too_long(), 400, "context_length_exceeded"),
        (unsupported("temperature"), 400, "unsupported_parameter"),
        (server_error(), 500, None),
    ],
)
def test_failures_carry_the_codes_of_the_real_service(failure: object, status: int, code: str | None) -> None:
    """In the error object of the body."""
    assert failure == raw(status, getattr(failure, "body", ""))
    assert json.loads(getattr(failure, "body", ""))["error"]["code"] == code


def test_a_rate_limit_may_come_without_body_and_with_a_wait() -> None:
    """Both happen."""
    failure = rate_limited(1.5, body=False)

    assert (failure.body, dict(failure.headers)) == ("", {"Retry-After": "1.5"})


def test_an_unsupported_parameter_names_the_right_one() -> None:
    """As reasoning models do."""
    assert "Use 'max_completion_tokens' instead." in unsupported("max_tokens", "max_completion_tokens").body


def test_text_is_read_from_plain_and_parted_content() -> None:
    """And from nothing."""
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "image_url"}]
    assert [text_of(content) for content in ("x", parts, None)] == ["x", "ab", ""]


def test_a_request_tells_what_was_said_since_the_person_spoke() -> None:
    """Older results and turns do not count."""
    old = [_user("old"), _assistant(), _tool("old result"), _assistant()]
    fresh = _request(*old, _user("new"))
    later = _request(*old, _user("new"), _assistant(), _tool("r1"), _assistant(), _tool("r2"))

    assert (fresh.last_user_text, fresh.last_tool_result, fresh.turns_since_user) == ("new", "", 0)
    assert (later.last_user_text, later.last_tool_result, later.turns_since_user) == ("new", "r2", 2)


def test_a_request_names_its_tools() -> None:
    """None when it brings none."""
    body: dict[str, object] = {"tools": [{"type": "function", "function": {"name": "exec"}}, {"type": "x"}]}

    assert ModelRequest(1, 0.0, "/", body, {}).tools == ("exec",)
    assert _request().tools == ()


BOOK = Rulebook(
    [
        Rule(r"^run (.+)$", (call("exec", {"command": "{1}"}), say("ran {1}: {output}"))),
        Rule("wait", (HANG,)),
    ],
    say("pardon?"),
)


@pytest.mark.parametrize(
    ("request_", "step"),
    [
        (_request(_user('RUN echo "a"')), call("exec", '{"command": "echo \\"a\\""}')),
        (_request(_user("run id"), _assistant(), _tool("uid=0 {1}")), say("ran id: uid=0 {1}")),
        (_request(_user("run id"), _assistant(), _tool("x"), _assistant(), _tool("y")), say("ran id: y")),
        (_request(_user("wait")), HANG),
        (_request(_user("hello")), say("pardon?")),
    ],
    ids=["call", "result", "last step repeats", "silence", "fallback"],
)
def test_a_rulebook_plays_the_step_that_is_due(request_: ModelRequest, step: Step) -> None:
    """Groups are quoted into arguments; what a tool printed is never searched for placeholders."""
    assert BOOK(request_) == step


def test_rules_can_be_read_from_json() -> None:
    """Say and call."""
    text = '[{"when": "disk", "steps": [{"call": "exec", "arguments": {"command": "df"}}, {"say": "{output}"}]}]'

    assert rules_from_json(text) == [Rule("disk", (call("exec", {"command": "df"}), say("{output}")))]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{}", "a list is expected"),
        ('[{"when": "x"}]', "rule 1: needs when"),
        ('[{"when": "(", "steps": [{"say": "x"}]}]', "rule 1: missing"),
        ('[{"when": "x", "steps": []}]', "rule 1: at least one step"),
        ('[{"when": "x", "steps": [{"shout": "x"}]}]', "rule 1: a step is say"),
        ("[", "Expecting value"),
    ],
)
def test_a_mistake_in_the_rules_is_named(text: str, error: str) -> None:
    """With the number of the rule."""
    with pytest.raises(ValueError, match=error):
        rules_from_json(text)
