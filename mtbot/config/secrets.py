"""Turning the place of a secret into its value, at the last moment and with every reason why it may fail.

The configuration holds places only; values live in memory, are never printed by ``repr`` and are told to the redactor
by whoever asked for them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from mtbot.config.regular_file import NotReadable, read_regular
from mtbot.config.service import Driver, StorageSettings
from mtbot.config.values import SecretRef
from mtbot.domain.errors import ConfigError

MAX_SECRET_BYTES = 64 * 1024


class SecretSource(StrEnum):
    """Where a value came from."""

    ENV = "env"
    FILE = "file"
    UNSET = "unset"


@dataclass(frozen=True, slots=True)
class Secret:
    """A value and where it came from: ``place`` is the name of the variable or the path of the file.

    With source UNSET the configuration names no place and the value is empty. ``warning`` is for a person.
    """

    value: str = field(repr=False)
    source: SecretSource
    place: str = ""
    warning: str = ""


def resolve_secret(ref: SecretRef, environ: Mapping[str, str]) -> Secret:
    """The value that ``ref`` leads to: the variable if it is set, else the file. ConfigError names the key."""
    if ref.env and environ.get(ref.env, "").strip():
        value = _checked(environ[ref.env], f"{ref.key}_env: the variable {ref.env}", ref)
        return Secret(value, SecretSource.ENV, ref.env)
    if ref.file is not None:
        return _from_file(ref)
    if ref.env:
        raise ConfigError(
            (f"{ref.key}_env: the environment variable {ref.env} is not set",),
            hint=f"export it, or name a file in {ref.key}_file",
        )
    return Secret("", SecretSource.UNSET)


def _from_file(ref: SecretRef) -> Secret:
    where = f"{ref.key}_file: {ref.file}"
    assert ref.file is not None
    try:
        found = read_regular(ref.file, MAX_SECRET_BYTES)
        text = found.content.decode()
    except NotReadable as error:
        raise ConfigError((f"{where} {error}",)) from error
    except UnicodeDecodeError:
        # not chained: the exception carries the bytes of the secret
        raise ConfigError((f"{where} is not UTF-8 text",)) from None
    warning = f"{where} can be read by every user of this host; chmod 600 it" if found.open_to_others else ""
    return Secret(_checked(text, where, ref), SecretSource.FILE, str(ref.file), warning)


def _checked(text: str, where: str, ref: SecretRef) -> str:
    """The text without blanks around it; one line that can stand in a request."""
    value = text.strip()
    if not value:
        raise ConfigError((f"{where} is empty",))
    if len(value.encode(errors="replace")) > MAX_SECRET_BYTES:
        raise ConfigError((f"{where} is larger than {MAX_SECRET_BYTES} bytes",))
    if not value.isprintable():
        raise ConfigError((f"{where} holds more than one line or a control character",))
    problem = ref.problem(value) if ref.problem is not None else None
    if problem is not None:
        raise ConfigError((f"{where} {problem}",))
    return value


def resolve_dsn(storage: StorageSettings, environ: Mapping[str, str]) -> str:
    """The path (sqlite) or DSN (postgres) of the database; it may hold a password. ConfigError names the key."""
    if storage.driver is Driver.POSTGRES and storage.dsn_ref.named:
        return resolve_secret(storage.dsn_ref, environ).value
    return storage.dsn
