"""What a provider's no means: a status, a body in any shape and a few headers to one ProviderError.

The kind decides whether it is tried again, so a deterministic no must never be read as trouble that passes.
"""

import json
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from mtbot.domain.errors import ProviderError, ProviderKind

LONGEST_NAMED_WAIT = 86_400.0

_TOO_MUCH = re.compile(
    r"context[ _](?:length|size|window|limit)|maximum context|exceed_context|prompt is too long"
    r"|too many (?:input |prompt )?tokens|token count .{0,40}exceeds|reduce the length of the messages"
)
_USED_UP = re.compile(
    r"insufficient_quota|exceeded your current quota|billing|insufficient (?:credits|balance|funds)|credit balance is too low"
)
_MANY = 8
"""Faults of a list that are read."""

_PASSING = frozenset({408, 409, 425})


def read_error(status: int, text: str, retry_after: float | None = None) -> ProviderError:
    """What an HTTP status and its body mean; the body's words are neither masked nor cut yet."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    return error_of(status, body.get("error", body) if isinstance(body, Mapping) else body, retry_after)


def error_of(status: int, error: object, retry_after: float | None = None) -> ProviderError:
    """What an error object means that came with ``status`` (0: with an answer that began well)."""
    code = error.get("code") if isinstance(error, Mapping) else None
    if status == 0 and str(code).isdecimal():
        status = int(str(code))
    words = _words(error)
    detail = words or "it gave no readable reason"
    lowered = f"{code or ''} {_kind_word(error)} {words}".lower()
    kind, hint = _judge(status, lowered)
    return ProviderError(kind, detail, status=status, retry_after=retry_after, hint=hint)


def _judge(status: int, lowered: str) -> tuple[ProviderKind, str]:
    if status in (401, 403):
        return ProviderKind.AUTH, "check the key that api_key_env or api_key_file names"
    if status == 402 or _USED_UP.search(lowered):
        return ProviderKind.QUOTA, ""
    if status == 429:
        return ProviderKind.RATE, ""
    if status == 413 or _TOO_MUCH.search(lowered):
        return ProviderKind.CONTEXT, ""
    if status in _PASSING or status >= 500 or status == 0:
        return ProviderKind.TRANSIENT, ""
    if status == 404:
        return ProviderKind.BAD_REQUEST, "check agent.model and the provider's base_url"
    if status < 400:
        return ProviderKind.BAD_REQUEST, "the server points elsewhere; check the provider's base_url"
    return ProviderKind.BAD_REQUEST, ""


def _words(error: object) -> str:
    """The provider's words, wherever they stand."""
    if isinstance(error, Mapping):
        for name in ("message", "detail", "error", "msg"):
            if error.get(name):
                return f"{_place(error.get('loc'))}{_words(error[name])}"
        return ""
    if isinstance(error, list):
        return "; ".join(filter(None, map(_words, error[:_MANY])))
    return " ".join(error.split()) if isinstance(error, str) else ""


def _place(where: object) -> str:
    """The parameter that an entry of a list of faults is about."""
    return f"{'.'.join(map(str, where))}: " if isinstance(where, list) else ""


def _kind_word(error: object) -> str:
    kind = error.get("type") if isinstance(error, Mapping) else ""
    return kind if isinstance(kind, str) else ""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait, as a number or as a date seen from its own clock; None if it does not."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            value = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if 0 <= value <= LONGEST_NAMED_WAIT:
            return value
    try:
        later = parsedate_to_datetime(headers.get("retry-after", ""))
        now = parsedate_to_datetime(headers.get("date", ""))
        wait = (later - now).total_seconds()
    except (TypeError, ValueError):
        return None
    return wait if 0 <= wait <= LONGEST_NAMED_WAIT else None
