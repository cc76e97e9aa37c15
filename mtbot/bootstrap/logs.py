"""The log: structlog over standard error or a 0600 file, every value masked before it is rendered and once more after.

Third-party loggers stay at WARNING, because some of them write addresses that hold a token.
"""

import logging
import os
import sys
from collections.abc import MutableMapping
from typing import TextIO

import structlog

from mtbot.bootstrap.offline import Loaded
from mtbot.config.service import LogFormat
from mtbot.domain.errors import StateError
from mtbot.redaction.display import terminal_safe
from mtbot.redaction.mask import Redactor

_QUIET = ("aiogram", "aiohttp", "httpx", "httpcore", "apscheduler", "alembic", "sqlalchemy", "asyncio")


def set_up_logs(loaded: Loaded) -> None:
    """Configure the process's log. StateError if the file cannot be written."""
    settings = loaded.settings.log
    level = logging.getLevelName(settings.level.value.upper().replace("WARN", "WARNING"))
    stream = _stream(str(settings.file) if settings.file is not None else "")
    masking = _Masking(loaded.redactor)
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if settings.format is LogFormat.JSON
        else structlog.processors.KeyValueRenderer(key_order=["timestamp", "level", "event"], drop_missing=True)
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.ExceptionRenderer(structlog.tracebacks.ExceptionDictTransformer(show_locals=False)),
            masking,
            renderer,
            masking.line,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_MaskedFormatter(loaded.redactor))
    handler.addFilter(_is_no_flood)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


def _is_no_flood(record: logging.LogRecord) -> bool:
    """asyncio says so of every piece of a file whose connection broke under way; that it broke is told once, by its sender."""
    return record.msg != "socket.send() raised exception."


def _stream(path: str) -> TextIO:
    if not path:
        return sys.stderr
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120 - the mode counts
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.fchmod(fd, 0o600)
    except OSError as error:
        raise StateError(f"log.file: {path} cannot be written: {error.strerror}") from error
    return open(fd, "a", encoding="utf-8", buffering=1)  # noqa: PTH123 - a descriptor, opened with its mode


class _Masking:
    """Masks every value of an event, and the finished line again."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor

    def __call__(self, logger: object, method: str, event: MutableMapping[str, object]) -> MutableMapping[str, object]:
        del logger, method
        return {name: self._masked(value) for name, value in event.items()}

    def _masked(self, value: object) -> object:
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, list | tuple):
            return [self._masked(one) for one in value]
        if isinstance(value, dict):
            return {str(name): self._masked(one) for name, one in value.items()}
        return str(self._redactor.mask(str(value)))

    def line(self, logger: object, method: str, text: str | bytes | MutableMapping[str, object]) -> str:
        """The rendered line, masked once more and without anything that drives a terminal."""
        del logger, method
        return terminal_safe(str(self._redactor.mask(str(text))), table=False)


class _MaskedFormatter(logging.Formatter):
    def __init__(self, redactor: Redactor) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        return terminal_safe(str(self._redactor.mask(super().format(record))), table=False)
