"""What providers refuse about a conversation: calls without results, results without calls, empty and malformed messages.

Why it exists: a history that one provider tolerates bricks the session at the next one, so the simulator is the strict one.
"""

import re

from mtbot.simulator.script import Failure, ModelRequest, invalid, text_of
from mtbot.simulator.values import JsonObject

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})


def mistake_in(request: ModelRequest, *, refuses_null_content: bool = False) -> Failure | None:
    """The 400 that a strict provider would send, or None."""
    messages = request.body.get("messages")
    if not isinstance(messages, list) or not messages:
        return invalid("Invalid 'messages': empty array. Expected an array with minimum length 1.")
    if not isinstance(request.body.get("model"), str):
        return invalid("you must provide a model parameter")
    for name in request.tools:
        if not _NAME.fullmatch(name):
            return invalid(f"Invalid 'tools.function.name': {name!r} does not match the pattern ^[a-zA-Z0-9_-]+$")
    open_calls: list[str] = []
    for at, message in enumerate(messages):
        reason = _mistake_in_message(message, open_calls, refuses_null_content=refuses_null_content)
        if reason is not None:
            return invalid(f"Invalid 'messages[{at}]': {reason}")
    return invalid(_unanswered(open_calls)) if open_calls else None


def _unanswered(open_calls: list[str]) -> str:
    return (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {', '.join(open_calls)}"
    )


def _mistake_in_message(message: object, open_calls: list[str], *, refuses_null_content: bool) -> str | None:
    """Check one message and keep the list of calls that still lack a result."""
    if not isinstance(message, dict) or message.get("role") not in _ROLES:
        return "role must be one of system, developer, user, assistant, tool"
    if message["role"] == "tool":
        identity = message.get("tool_call_id")
        if not isinstance(identity, str) or identity not in open_calls:
            return "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
        open_calls.remove(identity)
        return None if isinstance(message.get("content"), (str, list)) else "content of a tool message must be a string"
    if open_calls:
        return _unanswered(open_calls)
    if message["role"] != "assistant":
        return None if isinstance(message.get("content"), (str, list)) else "content must be a string or an array"
    return _mistake_in_assistant(message, open_calls, refuses_null_content=refuses_null_content)


def _mistake_in_assistant(message: JsonObject, open_calls: list[str], *, refuses_null_content: bool) -> str | None:
    calls = message.get("tool_calls")
    if message.get("content") is None and (refuses_null_content or not calls):
        return "content must be a string"
    if calls is None:
        return None if text_of(message.get("content")).strip() else "assistant messages must not be empty"
    if not isinstance(calls, list) or not calls:
        return "tool_calls must be an array with minimum length 1"
    for item in calls:
        function = item.get("function") if isinstance(item, dict) else None
        if not isinstance(item, dict) or not isinstance(function, dict):
            return "tool_calls must hold functions"
        if not isinstance(item.get("id"), str) or not item["id"] or item["id"] in open_calls:
            return "tool_calls need ids that differ"
        if not isinstance(function.get("arguments"), str) or not _NAME.fullmatch(str(function.get("name"))):
            return "tool_calls need a name and arguments as a string"
        open_calls.append(item["id"])
    return None
