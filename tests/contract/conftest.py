"""What holds for every promise: a gateway in the test's own process says things as fast as it can.

How fast people may be spoken to is tried where it is decided (tests/unit/channels/telegram/test_pace.py).
"""

import pytest

from mtbot.channels.telegram import pace

AT_ONCE = 1000


@pytest.fixture(autouse=True)
def unpaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many messages to a chat without a pause."""
    monkeypatch.setattr(pace, "BURST", AT_ONCE)
