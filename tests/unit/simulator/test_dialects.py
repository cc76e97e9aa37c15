"""Each dialect has the quirk that it is named for, and all of them carry the same answer."""

import json
from dataclasses import replace
from itertools import groupby

import pytest

from mtbot.simulator import dialects
from mtbot.simulator.dialects import (
    DIALECTS,
    LITELLM,
    LLAMA_CPP,
    OBJECT_ARGUMENTS,
    OLLAMA,
    OPENAI,
    OPENROUTER,
    VLLM,
    Dialect,
    completion,
    error_event,
    events,
    finish_reason,
)
from mtbot.simulator.script import Answer, Finish, Usage, call, say, together

TWO = together(call("exec", {"command": "ls -l"}, id="c1"), call("read_file", {"path": "a"}, id="c2"))


def _chunks(dialect: Dialect, answer: Answer, *, usage: bool = False) -> list[dict[str, object]]:
    text = "".join(events(dialect, answer, "m", 1, usage=usage)).replace("\r\n", "\n")
    lines = [block.removeprefix("data: ") for block in text.split("\n\n") if block.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def _deltas(dialect: Dialect, answer: Answer) -> list[dict[str, object]]:
    found = []
    for chunk in _chunks(dialect, answer):
        choices = chunk["choices"]
        assert isinstance(choices, list)
        found += [choice["delta"] for choice in choices]
    return found


def _fragments(dialect: Dialect) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for delta in _deltas(dialect, TWO):
        calls = delta.get("tool_calls")
        found += calls if isinstance(calls, list) else []
    return found


def _names(dialect: Dialect) -> list[object]:
    return [item["function"].get("name") for item in _fragments(dialect) if isinstance(item["function"], dict)]


def _runs(values: list[object]) -> list[object]:
    return [value for value, _ in groupby(values)]


def test_openai_counts_indexes_and_sends_id_and_name_once() -> None:
    """The form that the others deviate from; arguments come in pieces."""
    fragments = _fragments(OPENAI)
    heads = [(item["index"], item["id"]) for item in fragments if "id" in item]

    assert heads == [(0, "c1"), (1, "c2")]
    assert [name for name in _names(OPENAI) if name] == ["exec", "read_file"]
    assert len(fragments) > 4


def test_ollama_sends_whole_calls_that_all_have_index_zero() -> None:
    """Only the ids tell them apart, and the stream ends with stop."""
    assert [(item["index"], item["id"]) for item in _fragments(OLLAMA)] == [(0, "c1"), (0, "c2")]
    assert finish_reason(OLLAMA, TWO) == "stop"
    assert finish_reason(OLLAMA, say("x")) == "stop"


def test_llama_cpp_sends_empty_ids() -> None:
    """On every fragment."""
    assert {item["id"] for item in _fragments(LLAMA_CPP)} == {""}


def test_vllm_changes_the_id_within_a_call() -> None:
    """The index stays."""
    fragments = _fragments(VLLM)
    assert _runs([item["index"] for item in fragments]) == [0, 1]
    assert len({item["id"] for item in fragments}) == len(fragments)


def test_litellm_has_no_index_and_no_finish_reason() -> None:
    """Later fragments have no id either: they belong to the call before them."""
    fragments = _fragments(LITELLM)
    assert all("index" not in item for item in fragments)
    assert [item["id"] for item in fragments if "id" in item] == ["c1", "c2"]
    assert finish_reason(LITELLM, TWO) is None


def test_openrouter_repeats_names_and_mixes_in_comments() -> None:
    """Concatenating the names gives execexec."""
    text = "".join(events(OPENROUTER, TWO, "m", 1, usage=False))
    assert _runs(_names(OPENROUTER)) == ["exec", "read_file"]
    assert len(_names(OPENROUTER)) > 4
    assert ": OPENROUTER PROCESSING\r\n\r\n" in text
    assert "\n\n" not in text.replace("\r\n", "")


def test_object_arguments_have_no_id_no_index_and_no_done() -> None:
    """Arguments are an object; broken ones stay text."""
    assert [item["function"] for item in _fragments(OBJECT_ARGUMENTS)] == [
        {"name": "exec", "arguments": {"command": "ls -l"}},
        {"name": "read_file", "arguments": {"path": "a"}},
    ]
    assert all(item.keys() == {"type", "function"} for item in _fragments(OBJECT_ARGUMENTS))
    assert not any("DONE" in event for event in events(OBJECT_ARGUMENTS, TWO, "m", 1, usage=False))
    (fragment,) = [item for delta in _deltas(OBJECT_ARGUMENTS, call("x", "{")) for item in _list(delta)]
    assert fragment["function"] == {"name": "x", "arguments": "{"}


def _list(delta: dict[str, object]) -> list[dict[str, object]]:
    calls = delta.get("tool_calls")
    return calls if isinstance(calls, list) else []


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_every_dialect_carries_all_arguments(dialect: Dialect) -> None:
    """Joined in order they are the scripted JSON."""
    parts = [item["function"]["arguments"] for item in _fragments(dialect) if isinstance(item["function"], dict)]
    if dialect.object_arguments:
        parts = [json.dumps(part) for part in parts]

    assert "".join(parts) == '{"command": "ls -l"}{"path": "a"}'


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_text_and_reasoning_are_streamed_apart(dialect: Dialect) -> None:
    """In pieces that join to the whole."""
    deltas = _deltas(dialect, say("a long answer 🎉", reasoning="because of that"))

    assert "".join(str(delta.get("content") or "") for delta in deltas) == "a long answer 🎉"
    assert "".join(str(delta.get("reasoning_content") or "") for delta in deltas) == "because of that"


def test_usage_comes_when_asked_for_or_by_habit() -> None:
    """In a chunk without choices."""
    answer = replace(say("x"), usage=Usage(7, 3, 5))
    wanted = {
        "prompt_tokens": 7,
        "completion_tokens": 3,
        "total_tokens": 10,
        "prompt_tokens_details": {"cached_tokens": 5},
    }

    assert [chunk.get("usage") for chunk in _chunks(OPENAI, answer) if "usage" in chunk] == []
    for dialect, usage in ((OPENAI, True), (OLLAMA, False)):
        last = _chunks(dialect, answer, usage=usage)[-1]
        assert (last["choices"], last["usage"]) == ([], wanted)


def test_an_answer_that_is_not_streamed_has_the_same_content() -> None:
    """Calls with ids, numbered when the script gives none."""
    found = completion(OPENAI, replace(call("exec", {}), reasoning="hm"), "m", 4)

    assert found["choices"] == [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": None,
                "reasoning_content": "hm",
                "tool_calls": [{"type": "function", "function": {"name": "exec", "arguments": "{}"}, "id": "call_4_0"}],
            },
            "finish_reason": "tool_calls",
            "logprobs": None,
        }
    ]
    assert (found["model"], found["usage"]) == ("m", Usage().json())


def test_ids_are_empty_or_missing_without_a_stream_too() -> None:
    """Where the dialect has none."""
    found = []
    for dialect in (LLAMA_CPP, OBJECT_ARGUMENTS):
        choices = completion(dialect, call("exec", {}), "m", 1)["choices"]
        assert isinstance(choices, list)
        found.append(choices[0]["message"]["tool_calls"][0].get("id"))

    assert found == ["", None]


@pytest.mark.parametrize(
    ("finish", "wire"),
    [(Finish.LENGTH, "length"), (Finish.NULL, None), (Finish.STOP, "stop"), (Finish.CONTENT_FILTER, "content_filter")],
)
def test_a_scripted_finish_reason_wins_over_the_dialect(finish: Finish, wire: str | None) -> None:
    """Also with calls."""
    assert finish_reason(OPENAI, replace(TWO, finish=finish)) == wire


def test_unescaped_events_hold_the_characters_themselves() -> None:
    """Others escape them."""
    texts = ["".join(events(dialect, say("🎉"), "m", 1, usage=False)) for dialect in (OLLAMA, OPENAI)]
    assert ["🎉" in text for text in texts] == [True, False]


def test_an_error_in_a_stream_is_an_event() -> None:
    """With finish_reason error."""
    found = json.loads(error_event(OPENROUTER).removeprefix("data: "))
    assert found["error"]["code"] == 502
    assert found["choices"][0]["finish_reason"] == "error"


def test_all_named_dialects_are_in_the_list() -> None:
    """A dialect that is not listed would be tested by nobody."""
    named = {value for value in vars(dialects).values() if isinstance(value, Dialect)}
    assert named == set(DIALECTS)
