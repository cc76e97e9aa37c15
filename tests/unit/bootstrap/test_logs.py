"""The log: nobody else reads it, it says no secret whoever writes it, and nothing in it drives a terminal."""

import json
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import structlog

from mtbot.bootstrap.logs import set_up_logs
from mtbot.bootstrap.offline import load_all
from mtbot.domain.errors import StateError

SECRET = "sk-test-0123456789abcdef0123456789"


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Whatever a test configures is taken back."""
    configured, root = structlog.get_config(), logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    close(set(root.handlers) - set(handlers))
    structlog.configure(**configured)
    root.handlers[:] = handlers
    root.setLevel(level)


def close(handlers: Iterable[logging.Handler]) -> None:
    """A log is never closed while its process lives; a test's is."""
    for handler in handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.stream.close()


def log_to(directory: Path, file: str, form: str = "text") -> Path:
    """Set up the log of an installation that writes to ``file``."""
    key, config = directory / "key", directory / "config.yaml"
    key.write_text(SECRET)
    key.chmod(0o600)
    config.write_text(
        "people: {chief: 1001}\nagent: {model: m}\nopenai: {api_key_file: key}\n"
        f"channels: {{telegram: {{enabled: false, allow_from: [chief]}}}}\nlog: {{file: {file}, format: {form}}}\n"
    )
    config.chmod(0o600)
    set_up_logs(load_all(str(config), environ={"HOME": str(directory)}))
    return directory / file


def test_it_is_private_also_where_it_was_not(tmp_path: Path) -> None:
    """A new directory and file, and a file that others could read so far; what is in it stays."""
    made = log_to(tmp_path, "logs/x.log")
    assert (made.stat().st_mode & 0o777, made.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    close(logging.getLogger().handlers)
    old = tmp_path / "old.log"
    old.write_text("before\n")
    old.chmod(0o644)
    log_to(tmp_path, "old.log")
    structlog.get_logger().info("after")
    assert old.stat().st_mode & 0o777 == 0o600
    assert old.read_text().startswith("before\n")
    assert "event='after'" in old.read_text()


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_secret_and_no_order_gets_into_it(tmp_path: Path, form: str) -> None:
    """By our own lines, by those of libraries and by exceptions, in every value and across two of them."""
    file = log_to(tmp_path, "x.log", form)
    log = structlog.get_logger()
    log.warning("one", text=f"key {SECRET}", inner={"list": [SECRET, 5]}, screen="\x1b[2J", line="a\nb")
    logging.getLogger("aiohttp.client").error("GET %s\x1b[2J", f"https://h/bot7001001:{SECRET}/x")
    try:
        raise ValueError(f"with {SECRET}")
    except ValueError:
        log.exception("two")
    text = file.read_text()
    assert "one" in text
    assert "two" in text
    assert "GET https://h/" in text
    assert SECRET[:12] not in text
    assert "\x1b" not in text
    if form == "json":
        ours = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        assert [line["event"] for line in ours] == ["one", "two"]
        assert ours[0]["line"] == "a\nb"


def test_libraries_say_only_what_went_wrong(tmp_path: Path) -> None:
    """Some write the address of every request."""
    file = log_to(tmp_path, "x.log")
    logging.getLogger("httpx").info("HTTP Request: GET https://h/")
    logging.getLogger("aiogram").info("Update handled")
    logging.getLogger("asyncio").warning("socket.send() raised exception.")
    structlog.get_logger().debug("below the level")
    assert file.read_text() == ""


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """In one line, with the key that is wrong."""
    (tmp_path / "plain").write_text("")
    with pytest.raises(StateError, match=r"^log\.file: .*/plain/x\.log cannot be written: "):
        log_to(tmp_path, "plain/x.log")
