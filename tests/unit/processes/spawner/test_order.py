"""A supervisor starts nothing on a request that it cannot read in full."""

import json
from dataclasses import replace

import pytest

from mtbot.processes.request import Box, Limits, Part, Profile, SpawnRequest
from mtbot.processes.spawner.order import BadOrder, Order

FIELDS: dict[str, object] = {
    "argv": ["true"],
    "env": {},
    "cwd": "/",
    "timeout": 1.5,
    "keep": 1,
    "spool": 0,
    "limits": {},
    "parts": [],
    "mark": "",
    "box": None,
    "user": None,
}


def test_an_order_says_what_the_request_says() -> None:
    """Both ends of the line agree on every field."""
    profile = Profile("strict", (Part("no_new_privs"), Part("files", {"read": ["/usr"]})))
    env = {"A": "b", "MTCLAW_CALL": "17"}
    request = SpawnRequest("c", ("a", "b c"), env, "/tmp", 2.5, 99, Limits(open_files=7), profile)
    order = Order(json.dumps(request.facts()).encode())
    assert (order.argv, order.env, order.cwd, order.timeout, order.keep) == (["a", "b c"], env, "/tmp", 2.5, 99)
    assert order.limits == {"RLIMIT_NOFILE": 7}
    assert order.parts == [("no_new_privs", {}), ("files", {"read": ["/usr"]})]
    assert order.mark == "MTCLAW_CALL=17"
    assert order.box is None
    boxed = replace(request, profile=Profile("strict", box=Box("/b", ("--x", "y"), (("hidden", "/w/.env"),), 7)))
    assert Order(json.dumps(boxed.facts()).encode()).box == {
        "program": "/b",
        "args": ["--x", "y"],
        "curtains": [["hidden", "/w/.env"]],
        "wait_ms": 7,
    }


@pytest.mark.parametrize(
    "change",
    [
        {"argv": []},
        {"keep": 0},
        {"timeout": 0},
        {"timeout": "soon"},
        {"env": []},
        {"limits": {"RLIMIT_AS": "much"}},
        {"box": []},
    ],
)
def test_an_order_that_makes_no_sense_is_refused(change: dict[str, object]) -> None:
    """A wrong value is an error and never a default."""
    fields = FIELDS | change
    with pytest.raises(BadOrder):
        Order(json.dumps(fields).encode())


@pytest.mark.parametrize("missing", ["argv", "env", "cwd", "timeout", "keep", "spool", "limits", "parts", "mark"])
def test_an_incomplete_order_is_refused(missing: str) -> None:
    """No field has a default on this side."""
    fields = dict(FIELDS)
    del fields[missing]
    with pytest.raises(BadOrder):
        Order(json.dumps(fields).encode())
    with pytest.raises(BadOrder):
        Order(b"\xff not json")
