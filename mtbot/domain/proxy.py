"""What a person reads where a proxy makes no connection: one sentence for one fault, whatever was to be reached."""

from typing import Final

NOT_REACHED: Final = "the proxy can't be reached"
NO_ANSWER: Final = "the proxy does not answer"
HUNG_UP: Final = "the proxy hung up"
WRONG_PASSWORD: Final = "the proxy wants another user and password"  # noqa: S105 - a sentence
NO_PROXY: Final = "what answers at the proxy's address is no SOCKS proxy"


def refused(why: str) -> str:
    """The proxy was asked for a connection, and said ``why`` there is none."""
    return f"the proxy makes no connection ({why})"
