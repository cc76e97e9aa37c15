"""The parts of the service around the tools: agent, model providers, cron, storage, log, audit and elevation."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, StrictStr, ValidationInfo, field_validator

from mtbot.config.budgets import PriceSettings
from mtbot.config.problems import nearest, printable
from mtbot.config.proxy import OptionalProxy, secret_problem
from mtbot.config.values import (
    EnvName,
    FilePath,
    Flag,
    Name,
    NoSecret,
    OptionalPath,
    Passage,
    Rule,
    SecretRef,
    Section,
    Url,
    Word,
    duration,
    frame,
    key,
    number,
    person_id,
    resolve_path,
    whole,
)
from mtbot.config.zones import find_zone
from mtbot.domain.ids import ChatId
from mtbot.policy import elevation

DEFAULT_KEY_ENV: Final = "OPENAI_API_KEY"
SHORT_PROVIDER: Final = "openai"
"""The name of the one provider that the short form ``openai:`` describes."""


class AgentSettings(Section):
    """What the assistant is called, which model answers, and how long a turn may go on."""

    name: Word = key("MTClaw", says="Name that the assistant knows itself by.")
    model: Word = key(says="Model that answers: PROVIDER/MODEL, or just MODEL where only one provider is configured.")
    fallback_models: tuple[Word, ...] = key(
        (), says="Models that are asked instead, in this order, while the model before cannot answer."
    )
    temperature: Annotated[float, number(0, 2)] | None = key(
        None, says="Sampling temperature; not sent unless it is set, because some models refuse it."
    )
    max_iterations: Annotated[int, whole(1, 100)] = key(20, says="Model calls that one turn may take.")
    max_history_turns: Annotated[int, whole(2, 1000)] = key(40, says="Earlier turns that the model is shown.")
    context_tokens: Annotated[int, whole(1000, 100_000_000)] = key(
        128_000, says="Tokens that the model takes at once, as its maker says; a rough count is made by length."
    )
    sum_up_at: Annotated[float, number(0, 0.9)] = key(
        0.5,
        says="Share of context_tokens from which on a chat's older turns, and those beyond max_history_turns, give way to a "
        "summary that the model makes; 0 drops them without one.",
    )
    workspace: FilePath = key(
        "~/mtclaw-workspace", says="Directory that commands start in and file tools are confined to."
    )
    system_prompt_files: tuple[FilePath, ...] = key(
        (), says="Files that are added to the system prompt, each at most 256 KiB."
    )


class Api(StrEnum):
    """What a model server speaks."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"


BASE_URLS: Final = {Api.OPENAI: "https://api.openai.com/v1", Api.ANTHROPIC: "https://api.anthropic.com/v1"}
"""Where the servers of those who made the protocols are."""


class ProviderSettings(Section):
    """A server that speaks chat completions, or Anthropic's Messages API."""

    api: Api = key(Api.OPENAI, says="Protocol: openai is chat completions, anthropic the Messages API.")

    api_key_env: EnvName | None = key(
        None, says='Environment variable that holds the key; it wins over the file. "" means no key.'
    )
    api_key_file: OptionalPath = key(None, says="File that holds the key and nothing else.")
    api_key: NoSecret = key("", exclude=True, says="Exists only to refuse a key that was written here.")
    base_url: Url = key(
        BASE_URLS[Api.OPENAI],
        says="Address below which /chat/completions or /messages lies; for anthropic its own server is the default.",
    )
    proxy: OptionalProxy = key(
        "", says="Proxy on the way to the server, which also looks up the server's name. Empty is none."
    )
    proxy_env: EnvName = key("", says="Environment variable that holds a proxy with its user and password.")
    proxy_file: OptionalPath = key(None, says="File that holds a proxy with its user and password, and nothing else.")
    timeout: Annotated[float, duration("1h")] = key(
        "120s",
        says="Longest wait for one answer; of one that is streamed, the longest silence, and five times that for the whole.",
    )
    stream: Flag = key(
        default=True,
        says="Whether an answer is streamed where a draft shows it while it is written; other answers never are. A model "
        "whose stream breaks off is asked for whole answers by itself.",
    )
    max_retries: Annotated[int, whole(0, 10)] = key(3, says="How often a failed request is sent again.")
    prices: Mapping[Word, PriceSettings] = key({}, says="Prices by model, in budgets.currency; see budgets.")

    @field_validator("base_url")
    @classmethod
    def _of_the_api(cls, value: str, info: ValidationInfo) -> str:
        """The default of the protocol where none is named."""
        api = info.data.get("api", Api.OPENAI)
        return BASE_URLS[api] if value == cls.model_fields["base_url"].default else value

    def key_ref(self, name: str) -> SecretRef:
        """Where the key of this provider, which is called ``name``, is to be found."""
        return SecretRef(f"providers.{name}.api_key", self.api_key_env or "", self.api_key_file)

    def proxy_ref(self, name: str) -> SecretRef:
        """Where the proxy of this provider is to be found with its password; names nothing where ``proxy`` itself is used."""
        return SecretRef(f"providers.{name}.proxy", self.proxy_env, self.proxy_file, secret_problem)


class SessionKind(StrEnum):
    """Whether the runs of a job remember one another."""

    PERSISTENT = "persistent"
    EPHEMERAL = "ephemeral"


class OnAsk(StrEnum):
    """What becomes of a job's call that needs a person's yes."""

    REFUSE = "refuse"
    PARK = "park"


def _target_chat(value: object, info: ValidationInfo) -> ChatId:
    text = str(value)
    if isinstance(value, bool) or not isinstance(value, int | str) or text in {"", "*"}:
        raise ValueError("must name one chat: a group id, a user id or a name from people")
    if text.startswith("-") and text[1:].isdecimal() and not text.startswith("-0"):
        return ChatId(int(text))
    return ChatId(person_id(value, frame(info).people))


class DeliverTo(Section):
    """Where the result of a job is sent."""

    channel: Literal["telegram"] = key("telegram", says="Channel of the chat.")
    bot: Name | None = key(None, says="Bot that speaks; needed only where there are several.")
    chat_id: Annotated[ChatId, BeforeValidator(_target_chat), Rule("group id, user id or name from people")] = key(
        says="Chat that gets the result; it must be one that the bot listens to."
    )
    thread_id: Annotated[int, whole(1, 2**31 - 1)] | None = key(None, says="Topic within the chat.")


class JobSettings(Section):
    """One scheduled prompt."""

    name: Name = key(says="Unique name of the job.")
    schedule: Word = key(says="Five crontab fields or a macro such as @daily, in cron.timezone.")
    prompt: Annotated[Passage, Rule("text, not empty")] = key(says="What the assistant is told to do.")
    enabled: Flag = key(default=False, says="Whether the job runs by itself.")
    session: SessionKind = key(SessionKind.PERSISTENT, says="Whether a run sees the earlier runs.")
    timeout: Annotated[float, duration("24h")] = key("10m", says="Longest run.")
    deliver_to: DeliverTo | None = key(None, says="Where the result goes; without it, only into the record.")
    on_ask: OnAsk = key(
        OnAsk.REFUSE,
        says="What becomes of a call that needs a person's yes: refused at once, or parked with a question where the "
        "result goes; the run goes on when it is answered.",
    )

    @field_validator("schedule")
    @classmethod
    def _shape(cls, value: str) -> str:
        """The shape only; what the fields mean is judged by the schedule itself."""
        if not value.startswith("@") and len(value.split()) != 5:
            raise ValueError(
                "must have exactly 5 fields (minute hour day-of-month month day-of-week) or be a macro such as @daily"
            )
        return value

    @field_validator("prompt")
    @classmethod
    def _says_something(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("must not be empty")
        return value


def _zone(name: str) -> str:
    if find_zone(name, {}) is None:
        raise ValueError("no such time zone; write an IANA name such as Europe/Berlin, or Local")
    return name


class CronSettings(Section):
    """Scheduled prompts."""

    enabled: Flag = key(default=False, says="Whether jobs run at all.")
    timezone: Annotated[Word, AfterValidator(_zone), Rule("IANA zone name, or Local")] = key(
        "Local", says="Zone of every schedule: an IANA name, or Local for the host's."
    )
    approval_timeout: Annotated[float, duration("7d")] = key("12h", says="How long the question of a job stays open.")
    jobs: tuple[JobSettings, ...] = key((), says="The jobs.")


class Driver(StrEnum):
    """Which database holds the state."""

    SQLITE = "sqlite"
    POSTGRES = "postgres"


class StorageSettings(Section):
    """Where sessions, approvals and the record are kept."""

    short_form = ("path",)

    driver: Driver = key(Driver.SQLITE, says="Kind of database.")
    dsn: StrictStr = key(
        "~/.mtclaw/mtclaw.db",
        says="sqlite: path of the file; postgres: postgresql://user@host/database without a password.",
    )
    dsn_env: EnvName = key("", says="Environment variable that holds a postgres DSN with its password.")
    dsn_file: OptionalPath = key(None, says="File that holds a postgres DSN with its password.")
    keep_days: Annotated[int, whole(0, 36_500)] = key(
        0, says="Days after which `mtclaw db prune` removes conversations that nobody went on with; 0 keeps them all."
    )
    earlier_conversations: Annotated[int, whole(0, 1000)] = key(
        10, says="Conversations of a chat that /new puts away for /resume; the oldest makes room, and 0 keeps none."
    )
    output_bytes: Annotated[int, whole(0, 32 * 1024 * 1024)] = key(
        1_048_576, says="Bytes that are kept, masked, of an output that is longer than a message; 0 keeps none."
    )
    output_days: Annotated[int, whole(1, 3650)] = key(7, says="Days for which such an output is kept.")
    output_total_bytes: Annotated[int, whole(0, 2**40)] = key(
        268_435_456, says="Bytes of all such outputs; the oldest makes room."
    )

    @field_validator("dsn")
    @classmethod
    def _usable(cls, value: str, info: ValidationInfo) -> str:
        """A path made absolute (``#``, ``?`` and ``%`` are ordinary in it), or a DSN without a secret."""
        if not value.strip():
            raise ValueError("must not be empty: the data would be lost at exit")
        if info.data.get("driver") is Driver.POSTGRES:
            return value if value == cls.model_fields["dsn"].default else _dsn_without_secret(value)
        if value.startswith((":memory:", "file:", "sqlite:")):
            raise ValueError("must be the path of a file")
        if value.startswith(("postgres:", "postgresql:")):
            raise ValueError("is a postgres DSN; set storage.driver to postgres")
        return str(resolve_path(value, frame(info)))

    @property
    def dsn_ref(self) -> SecretRef:
        """Where a DSN that holds a secret is to be found; names nothing where ``dsn`` itself is used."""
        return SecretRef("storage.dsn", self.dsn_env, self.dsn_file)


def _dsn_without_secret(value: str) -> str:
    try:
        parts = urlsplit(value)
        password, port = parts.password, parts.port
    except ValueError:
        raise ValueError("must be postgresql://user@host/database") from None
    if password is not None or re.search(r"(^|[?&\s])password\s*=", value, re.IGNORECASE):
        raise ValueError("must hold no password: put the whole DSN where storage.dsn_env or storage.dsn_file say")
    if parts.scheme not in {"postgres", "postgresql"} or not parts.path.strip("/") or port == 0:
        raise ValueError("must be postgresql://user@host/database")
    return value


def _level(value: object) -> str:
    known = ["debug", "info", "warn", "error"]
    word = str(value).lower()
    word = "warn" if word == "warning" else word
    if word not in known:
        raise ValueError(f'must be debug, info, warn or error, not "{printable(word)}"{nearest(word, known)}')
    return word


class LogLevel(StrEnum):
    """From which severity on lines are written."""

    DEBUG = "debug"
    INFO = "info"
    WARN = "warn"
    ERROR = "error"


class LogFormat(StrEnum):
    """How a log line looks."""

    TEXT = "text"
    JSON = "json"


class LogSettings(Section):
    """The log of the process; the record of what ran is not here but in the database."""

    level: Annotated[LogLevel, BeforeValidator(_level), Rule("debug, info, warn (warning) or error")] = key(
        LogLevel.INFO, says="Least severe line that is written."
    )
    format: LogFormat = key(LogFormat.TEXT, says="Shape of a line.")
    file: OptionalPath = key(None, says="File to append to; empty is stderr.")


class Anchor(StrEnum):
    """Where the head of the record is sent, so that a rewritten chain shows."""

    OFF = "off"
    OWNER = "owner"
    SYSLOG = "syslog"


class AuditSettings(Section):
    """The record of what ran."""

    anchor: Anchor = key(Anchor.OFF, says="Send the record's head hash daily to the owner's chat or syslog.")
    keep_days: Annotated[int, whole(0, 36_500)] = key(
        0, says="Days after which `mtclaw db prune` removes events from the beginning of the record; 0 keeps them all."
    )


def _pattern(words: tuple[str, ...]) -> tuple[str, ...]:
    fault = elevation.pattern_fault(words)
    if fault is not None:
        raise ValueError(f"must be sudo, a program without a path and its arguments: {fault}")
    return words


class ElevationSettings(Section):
    """Commands that need root."""

    chat: tuple[Annotated[tuple[Word, ...], AfterValidator(_pattern)], ...] = key(
        (),
        says="Argv patterns of sudo commands that the owner may approve in a chat, once each (`mtclaw policy sudoers` "
        "prints what they need in sudoers); everything else that changes the user is run at the host.",
    )
