"""A provider's no, in all its shapes, becomes one error of the right kind."""

import json

import pytest

from mtbot.domain.errors import ProviderKind
from mtbot.llm.faults import error_of, read_error, retry_after


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (400, "This model's maximum context length is 8192 tokens.", ProviderKind.CONTEXT),
        (400, "the request exceeds the available context size, try increasing it", ProviderKind.CONTEXT),
        (400, "prompt is too long: 212345 tokens > 200000 maximum", ProviderKind.CONTEXT),
        (400, "The input token count (1200000) exceeds the maximum", ProviderKind.CONTEXT),
        (422, "Too many input tokens", ProviderKind.CONTEXT),
        (500, "Context window exceeded", ProviderKind.CONTEXT),
        (413, "Request too large", ProviderKind.CONTEXT),
        (429, "too many tokens per minute; the context length does not matter", ProviderKind.RATE),
        (429, "You exceeded your current quota, please check your plan and billing details.", ProviderKind.QUOTA),
        (400, "Insufficient credits", ProviderKind.QUOTA),
        (402, "", ProviderKind.QUOTA),
        (401, "maximum context length", ProviderKind.AUTH),
        (403, "Forbidden", ProviderKind.AUTH),
        (400, "'messages' is wrong", ProviderKind.BAD_REQUEST),
        (404, "The model `m` does not exist", ProviderKind.BAD_REQUEST),
        (307, "", ProviderKind.BAD_REQUEST),
        (408, "", ProviderKind.TRANSIENT),
        (503, "Loading model", ProviderKind.TRANSIENT),
        (529, "overloaded", ProviderKind.TRANSIENT),
    ],
)
def test_the_kind_follows_from_status_and_words(status: int, words: str, kind: ProviderKind) -> None:
    """A limit that passes, one that does not, and a conversation that is too long are told apart."""
    error = read_error(status, json.dumps({"error": {"message": words}}))
    assert (error.kind, error.status) == (kind, status)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"error": {"message": "two\\nlines   of it"}}', "two lines of it"),
        ('{"error": "just words"}', "just words"),
        ('{"message": "no error object"}', "no error object"),
        ('{"detail": "as frameworks say it"}', "as frameworks say it"),
        ('{"error": {"error": {"message": "nested"}}}', "nested"),
        (
            '{"detail": [{"loc": ["body", "top_k"], "msg": "not permitted"}, {"msg": "b"}, 5]}',
            "body.top_k: not permitted; b",
        ),
        ('{"message": {"detail": [{"loc": "x", "msg": "in words"}]}}', "in words"),
        (json.dumps({"detail": [{"msg": "m"}] * 20}), "; ".join("m" * 8)),
        ('{"error": {"message": ""}}', "it gave no readable reason"),
        ('{"error": {"message": 5}}', "it gave no readable reason"),
        ("[]", "it gave no readable reason"),
        ("<html>502</html>", "it gave no readable reason"),
        ("", "it gave no readable reason"),
        ("[" * 100_000, "it gave no readable reason"),
        ('{"error": {"message": "' + "x" * 999 + '"}}', "x" * 999),
    ],
)
def test_the_words_are_found_wherever_they_stand(body: str, words: str) -> None:
    """On one line and never a page of HTML; cut they are later, once they were masked."""
    assert read_error(400, body).message == words


def test_an_error_object_may_name_its_kind_outside_its_words() -> None:
    """The type and the code count as well."""
    typed = {"error": {"message": "no", "type": "exceed_context_size_error"}}
    coded = {"error": {"message": "no", "code": "context_length_exceeded", "type": 7}}
    assert [read_error(400, json.dumps(body)).kind for body in (typed, coded)] == [ProviderKind.CONTEXT] * 2


@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [
        ({"message": "slow down", "code": 429}, ProviderKind.RATE, 429),
        ({"message": "slow down", "code": "429"}, ProviderKind.RATE, 429),
        ({"message": "bad", "code": 400}, ProviderKind.BAD_REQUEST, 400),
        ({"message": "gone", "code": "server_error"}, ProviderKind.TRANSIENT, 0),
        ("broken", ProviderKind.TRANSIENT, 0),
    ],
)
def test_an_error_inside_a_success_goes_by_its_own_code(error: object, kind: ProviderKind, status: int) -> None:
    """Routers answer 200 and say in the body what came from behind them."""
    found = error_of(0, error)
    assert (found.kind, found.status) == (kind, status)


def test_hints_name_the_key_of_the_configuration() -> None:
    """Who has to mend it learns where."""
    assert read_error(401, "").hint == "check the key that api_key_env or api_key_file names"
    assert read_error(404, "").hint == "check agent.model and the provider's base_url"
    assert read_error(301, "").hint == "the server points elsewhere; check the provider's base_url"
    assert read_error(400, "").hint == read_error(429, "").hint == read_error(500, "").hint == ""


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "20"}, 20.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "20"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "20"}, 20.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "86401"}, None),
        ({}, None),
        ({"retry-after": "later"}, None),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT", "date": "Mon, 30 Nov 2026 12:00:00 GMT"}, 30.0),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT", "date": "Mon, 30 Nov 2026 12:00:00 GMT"}, None),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT"}, None),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT", "date": "Mon, 30 Nov 2026 12:00:00 -0000"}, None),
    ],
)
def test_the_named_wait_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    """Seconds, milliseconds, or a date beside the server's own; anything else is no wait."""
    assert retry_after(headers) == seconds


def test_the_wait_travels_with_the_error() -> None:
    """As an attribute, not inside the text."""
    assert read_error(429, "", 12.0).retry_after == 12.0
    assert error_of(429, None).retry_after is None
