"""The kinds of value that a configuration holds: durations, numbers, names, paths, people and addresses.

Each kind states its rule once, as a ``Rule`` in its annotation: the validator enforces it and the reference page
prints it. Everything is resolved on the way in (paths absolute, names to ids), so nobody resolves a second time.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    StrictBool,
    StrictStr,
    ValidationInfo,
)
from pydantic_core import PydanticUndefined, core_schema

from mtbot.config.problems import nearest, printable
from mtbot.domain.ids import UserId
from mtbot.policy.people import IMPERSONAL

_MAX_ID = 2**52
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(?:[0-9]{1,9}(?:\.[0-9]{1,6})?(?:ms|s|m|h|d))+\Z")
_DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}\Z")
_HOST = re.compile(r"(\*\.)?([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\Z")
_SECRET_NAME = re.compile(r"(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|APIKEY|KEY|CREDENTIALS?)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Frame:
    """What a file is read against: where relative paths start, who the people are, which built-in rules exist."""

    directory: Path = Path("/")
    home: Path = Path("/")
    people: Mapping[str, int] = field(default_factory=dict)
    rules: Mapping[str, bool] = field(default_factory=dict)
    regex_problem: Callable[[str], str | None] | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """What a value must be, in words; the validator beside it in the annotation enforces it."""

    text: str


class Section(BaseModel):
    """Base of every part of the configuration: frozen, unknown keys are faults, defaults are checked like input."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_default=True, defer_build=True, hide_input_in_errors=True
    )
    short_form: ClassVar[tuple[str, ...]] = ()
    """Further keys that may be written in this section; they are rewritten before it is judged."""


def key(
    default: object = PydanticUndefined,
    *,
    says: str,
    alias: str | None = None,
    exclude: bool = False,
    implied: str = "",
) -> Any:
    """A key of a section: its default as it would be written in the file, and one sentence for the reference page.

    ``implied`` names another key whose value is the default. The result is typed Any because the default is input,
    which the annotation beside it turns into the value.
    """
    return Field(
        default,
        description=says,
        alias=alias,
        exclude=exclude or None,
        json_schema_extra={"implied": implied} if implied else None,
    )


def frame(info: ValidationInfo) -> Frame:
    """The frame of this reading."""
    context = info.context
    return context if isinstance(context, Frame) else Frame()


# --- text and numbers


def _clean(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be empty")
    if any(not c.isprintable() for c in value):
        raise ValueError("must be one line without control characters")
    return value


def _no_nul(value: str) -> str:
    if "\0" in value:
        raise ValueError("must not hold a NUL character")
    return value


Flag = Annotated[StrictBool, Rule("true or false")]
Word = Annotated[StrictStr, AfterValidator(_clean), Rule("one line of text")]
Passage = Annotated[StrictStr, AfterValidator(_no_nul), Rule("text")]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of number: the words of its rule, and the function that reads it or raises ValueError."""

    text: str
    read: Callable[[object], float]
    spell: Callable[[float], str] | None = None

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Let pydantic read the value with ``read`` and nothing else."""
        return core_schema.no_info_plain_validator_function(self.read)


def whole(low: int, high: int, noun: str = "whole number") -> Kind:
    """A whole number within bounds, both included; ``true`` and ``1.0`` are none."""

    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError("must be a whole number")
        if not low <= value <= high:
            raise ValueError(f"must be from {low} to {high}")
        return value

    return Kind(f"{noun} from {low} to {high}", read)


def size(high: int) -> Kind:
    """A number of bytes, at least 1."""
    return whole(1, high, "number of bytes")


def number(low: float, high: float) -> Kind:
    """A real number within bounds; NaN and infinity are none."""

    def read(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError("must be a number")
        if not low <= value <= high:
            raise ValueError(f"must be from {low:g} to {high:g}")
        return float(value)

    return Kind(f"number from {low:g} to {high:g}", read)


def spell_duration(seconds: float) -> str:
    """Seconds as a person writes them: ``90s``, ``2m``, ``12h``."""
    for unit, length in (("d", 86400.0), ("h", 3600.0), ("m", 60.0)):
        if seconds >= length and seconds % length == 0:
            return f"{seconds / length:.0f}{unit}"
    return f"{seconds:g}s" if seconds >= 1 else f"{seconds * 1000:g}ms"


def parse_duration(value: object) -> float:
    """Seconds from ``30s``, ``5m``, ``1h30m`` or a number of seconds. ValueError for all else."""
    if isinstance(value, str) and _DURATION.match(value):
        return sum(float(amount) * _UNITS[unit] for amount, unit in _DURATION_PART.findall(value))
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("must be a duration such as 30s, 5m or 2h, or a number of seconds")
    return float(value)


def duration(most: str) -> Kind:
    """A duration above zero, read as seconds."""
    high = parse_duration(most)

    def read(value: object) -> float:
        seconds = parse_duration(value)
        if not 0 < seconds <= high:
            raise ValueError(f"must be more than 0 and at most {most}")
        return seconds

    return Kind(f"duration (30s, 5m, 2h, or seconds), more than 0, at most {most}", read, spell_duration)


# --- names


def _env_name(value: str) -> str:
    if value and not _ENV_NAME.match(value):
        raise ValueError("must be the NAME of an environment variable; the secret itself does not belong in this file")
    return value


def valid_name(value: str) -> str:
    """The name itself, if it may name a person, bot, provider, profile or job. ValueError."""
    if not _NAME.match(value):
        raise ValueError("a name has letters, digits, - and _, begins with a letter and is at most 32 long")
    return value


def _forbid_inline(value: object) -> str:
    if value not in ("", None):
        raise ValueError("a secret must not stand in this file")
    return ""


EnvName = Annotated[StrictStr, AfterValidator(_env_name), Rule("name of an environment variable, or empty")]
Name = Annotated[StrictStr, AfterValidator(valid_name), Rule("name of letters, digits, - and _")]
NoSecret = Annotated[str, BeforeValidator(_forbid_inline), Rule("must be empty: a secret never stands in this file")]


def secret_name(name: str) -> bool:
    """Whether a variable of that name probably holds a secret."""
    return _SECRET_NAME.search(name) is not None


# --- people


def person_id(value: object, people: Mapping[str, int]) -> UserId:
    """A Telegram user id from an int, a digit string or a name of ``people``. ValueError says how to mend it."""
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]+", value):
        if re.match(r"-?0[0-9]", value):
            raise ValueError("a user id has no leading zero")
        value = int(value) if len(value) < 20 else _MAX_ID
    if isinstance(value, str):
        if value in people:
            return UserId(people[value])
        if value.startswith("@"):
            raise ValueError(
                "usernames can be released and claimed by strangers; write the numeric id "
                "(the person sends /whoami to the bot, or run `mtclaw senders`)"
            )
        hint = nearest(value, people) or "; name them under people, or write the numeric id"
        raise ValueError(f'no one under people is called "{printable(value)}"{hint}')
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("must be a numeric Telegram user id or a name from people")
    if value < 0:
        raise ValueError("this is the id of a group, not of a person; groups stand under groups")
    if value in IMPERSONAL:
        raise ValueError(f"{value} stands for every anonymous admin or channel; it would let all of them in")
    if not 0 < value < _MAX_ID:
        raise ValueError("must be a numeric Telegram user id")
    return UserId(value)


def _person(value: object, info: ValidationInfo) -> int:
    return person_id(value, frame(info).people)


Person = Annotated[
    UserId,
    BeforeValidator(_person),
    Rule("numeric Telegram user id (never a group or @username), or a name from people"),
]


# --- paths and addresses


def resolve_path(text: str, frame_: Frame) -> Path:
    """``~`` expanded, relative to the directory of the file, ``.`` and ``..`` folded; links are not followed."""
    _clean(text)
    if text == "~" or text.startswith("~/"):
        path = frame_.home / text[2:]
    elif text.startswith("~"):
        raise ValueError("only ~/ (your own home) is understood")
    else:
        path = frame_.directory / text
    parts: list[str] = []
    for part in path.parts[1:]:
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part)
    return Path("/", *parts)


def _file_path(value: object, info: ValidationInfo) -> Path:
    if isinstance(value, Path):
        return value
    if not isinstance(value, str):
        raise ValueError("must be a path, written as text")
    return resolve_path(value, frame(info))


def _optional_path(value: object, info: ValidationInfo) -> Path | None:
    return None if value in ("", None) else _file_path(value, info)


def _denied(value: object, info: ValidationInfo) -> Path:
    if not isinstance(value, str) or not value.startswith(("/", "~/")):
        raise ValueError("must be absolute or begin with ~/")
    path = resolve_path(value, frame(info))
    if path == Path("/"):
        raise ValueError("/ would deny everything")
    return path


_PATH_RULE = Rule("path; relative ones start at this file's directory, ~/ is your home")
FilePath = Annotated[Path, BeforeValidator(_file_path), _PATH_RULE]
OptionalPath = Annotated[
    Path | None,
    BeforeValidator(_optional_path),
    Rule("path, or empty; relative ones start at this file's directory, ~/ is your home"),
]
DeniedPath = Annotated[Path, BeforeValidator(_denied), Rule("absolute path or ~/..., never /")]


def _url(value: str) -> str:
    try:
        parts = urlsplit(value)
        port_ok = parts.port is None or parts.port > 0
    except ValueError:
        raise ValueError("must be an absolute http or https address") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or not port_ok or any(c.isspace() for c in value):
        raise ValueError("must be an absolute http or https address")
    if "@" in parts.netloc:
        raise ValueError("must not hold a user or password; a secret must not stand in this file")
    if parts.query or parts.fragment:
        raise ValueError("must have no ? and no # part")
    return value.rstrip("/")


def _host(value: str) -> str:
    host = value.lower()
    if not _HOST.match(host) or len(host) > 253:
        raise ValueError("must be a host name such as docs.example.org or *.example.org, without scheme, port or path")
    return host


Url = Annotated[StrictStr, AfterValidator(_clean), AfterValidator(_url), Rule("absolute http or https address")]
OptionalUrl = Annotated[
    StrictStr, AfterValidator(lambda v: _url(_clean(v)) if v else v), Rule("absolute http or https address, or empty")
]
Host = Annotated[StrictStr, AfterValidator(_host), Rule("host name; *.example.org for every name below")]


@dataclass(frozen=True, slots=True)
class SecretRef:
    """Where a secret is to be found: ``key`` is the dotted name of its keys in the file, without ``_env``/``_file``.

    With neither a variable nor a file there is no secret (a model server that needs none). ``problem`` says what is
    wrong with a value, without quoting it, where not every line of text will do.
    """

    key: str
    env: str = ""
    file: Path | None = None
    problem: Callable[[str], str | None] | None = None

    @property
    def named(self) -> bool:
        """Whether the configuration names a place at all."""
        return bool(self.env) or self.file is not None
