"""A server that we did not write, beside a test: on a port that was free, and gone with the test."""

import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

CONNECTS = 8
"""Tries to connect while it starts; httpx pauses half a second after the first and doubles that each time."""

START_SECONDS = 60.0


@contextmanager
def background(command: Callable[[int], Sequence[str]], log: Path, ready: str) -> Iterator[str]:
    """Its address while it runs. ``command`` is given the port, ``ready`` is a path that answers once it has started.

    httpx.HTTPError if it does not start; what it wrote is in ``log``.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with log.open("wb") as output:
        process = subprocess.Popen(command(port), stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    address = f"http://127.0.0.1:{port}"
    try:
        with httpx.Client(transport=httpx.HTTPTransport(retries=CONNECTS), trust_env=False) as looking:
            looking.get(f"{address}{ready}", timeout=START_SECONDS).raise_for_status()
        yield address
    finally:
        process.kill()
        process.wait()
