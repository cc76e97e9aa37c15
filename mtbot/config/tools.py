"""The tools and what they may touch: exec with its rules, files, web fetch, and what is denied to all of them."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, ValidationInfo, field_validator, model_validator

from mtbot.config.problems import nearest, printable
from mtbot.config.values import (
    DeniedPath,
    EnvName,
    FilePath,
    Flag,
    Host,
    OptionalPath,
    Passage,
    Rule,
    Section,
    Word,
    duration,
    frame,
    key,
    resolve_path,
    secret_name,
    size,
    whole,
)
from mtbot.policy import argv_pattern

DEFAULT_SHELL: Final = ("/bin/bash", "--noprofile", "--norc", "-c")
DEFAULT_PATH: Final = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_SHELL_STEERING = re.compile(
    r"(LD_.*|DYLD_.*|BASH_ENV|ENV|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|IFS|PS4|PROMPT_COMMAND|PATH)\Z"
)
_USER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}\$?\Z")
_MIB: Final = 1024 * 1024


class Mode(StrEnum):
    """What happens to a command that no rule decides."""

    APPROVAL = "approval"
    AUTO = "auto"
    OFF = "off"


class Category(StrEnum):
    """What the classifier may say of a command."""

    DESTRUCTIVE = "destructive"
    PRIVILEGED = "privileged"
    NETWORK = "network"
    SECRET_ACCESS = "secret_access"  # noqa: S105 - the word is the category's name


class AllowPack(StrEnum):
    """Sets of allow rules that come with the program."""

    READONLY = "readonly"


class Containment(StrEnum):
    """Where a command runs: on the host as it is, or contained in the workspace without network."""

    HOST = "host"
    CONTAINED = "contained"


class RootAccess(StrEnum):
    """What file tools may do below a root."""

    READ = "read"
    READ_WRITE = "read-write"


class WriteRule(StrEnum):
    """Whether a write below a read-write root needs a yes."""

    ALLOW = "allow"
    ASK = "ask"


# --- the rules of exec


def _pattern(value: str, info: ValidationInfo) -> str:
    judge = frame(info).regex_problem
    fault = judge(value) if judge else None
    if fault:
        raise ValueError(f"is not a regular expression that RE2 reads: {fault}")
    return value


def _rule_id(value: object, info: ValidationInfo) -> str:
    rules = frame(info).rules
    if not isinstance(value, str):
        raise ValueError("must be the id of a built-in rule (`mtclaw policy rules` lists them)")
    if value not in rules:
        hint = nearest(value, rules) or "; `mtclaw policy rules` lists them"
        raise ValueError(f'no built-in rule is called "{printable(value)}"{hint}')
    if rules[value]:
        raise ValueError(f"{value} is hardline: it always refuses and cannot be changed")
    return value


Pattern = Annotated[Word, AfterValidator(_pattern), Rule("regular expression (RE2)")]
RuleId = Annotated[str, BeforeValidator(_rule_id), Rule("id of a built-in rule that is not hardline")]


class BuiltinDeny(Section):
    """Changes to the built-in deny rules; doctor reports every one."""

    ask: tuple[RuleId, ...] = key((), says="Rules that become a question to a person.")
    off: tuple[RuleId, ...] = key((), says="Rules that are switched off.")

    @model_validator(mode="after")
    def _one_or_the_other(self) -> "BuiltinDeny":
        both = [rule for rule in self.ask if rule in self.off]
        if both:
            raise ValueError(f"{both[0]} stands under ask and under off")
        return self


class AllowItem(Section):
    """One allow rule: a regular expression over one whole simple command, or an argv pattern with what it needs."""

    regex: Annotated[Pattern | None, Rule("regular expression (RE2)")] = key(
        None, says="Must match the whole of one simple command; a plain string in the list means this."
    )
    argv: tuple[Word, ...] = key(
        (),
        says="The words of the command: * is one word, ** the rest; neither matches a word that begins with -.",
    )
    cwd: OptionalPath = key(None, says="Directory that the command must start in; empty is any.")
    network: Flag = key(default=False, says="Whether the command needs the network.")
    write: tuple[FilePath, ...] = key((), says="Paths that the command may write to.")
    containment: Containment | None = key(
        None, says="Where it runs; without it, programs that execute workspace files run contained."
    )
    why: Passage = key("", says="Why this is allowed; shown by explain and kept in the record.")
    permits: tuple[Word, ...] = key((), says="Commands that the rule must match; checked when it is loaded.")
    refuses: tuple[Word, ...] = key((), says="Commands that the rule must not match; checked when it is loaded.")

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: object) -> object:
        if isinstance(value, str):
            return {"regex": value}
        if isinstance(value, dict) and ("regex" in value) == ("argv" in value):
            raise ValueError("must have argv, or be a regular expression (or have regex), and not both")
        if isinstance(value, dict) and value.get("argv") == []:
            raise ValueError("must have argv, and at least the program in it")
        return value

    @field_validator("argv")
    @classmethod
    def _argv_shape(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        if words:
            argv_pattern.parse(words)
        return words


class AutoSettings(Section):
    """The classifier of mode auto."""

    model: Word = key(says="Model that classifies.", implied="agent.model")
    confirm_on: tuple[Annotated[Category, BeforeValidator(lambda v: str(v).strip().lower())], ...] = key(
        tuple(Category), says="Categories that always need a person."
    )


class ContainmentSettings(Section):
    """How commands are confined where the kernel offers it."""

    profile: Containment = key(Containment.HOST, says="Where a command runs that a person approved.")
    require: Flag = key(
        default=False,
        says="Refuse what should run contained where that cannot be done; else it runs and says NOT CONTAINED, or asks.",
    )


def _passed(value: str) -> str:
    if not value:
        raise ValueError("must be the name of an environment variable")
    if value == "PATH":
        raise ValueError("PATH is set by tools.exec.path")
    if _SHELL_STEERING.match(value):
        raise ValueError(f"{value} changes what a shell runs, so a rule would no longer mean what it says")
    return value


ChildVariable = Annotated[
    EnvName, AfterValidator(_passed), Rule("name of an environment variable that steers no shell")
]


class EnvSettings(Section):
    """What a command's environment holds beside the fixed set."""

    passed: tuple[ChildVariable, ...] = key((), alias="pass", says="Variables of the gateway that a command gets too.")
    set: Mapping[ChildVariable, Passage] = key({}, says="Variables with a fixed value that is no secret.")

    @field_validator("set")
    @classmethod
    def _no_secrets(cls, value: Mapping[str, str]) -> Mapping[str, str]:
        named = [name for name in value if secret_name(name)]
        if named:
            raise ValueError(
                f"{named[0]} looks like a secret, and a secret must not stand in this file; "
                "set it in the gateway's environment and name it under tools.exec.env.pass"
            )
        return value


def _search_path(value: object, info: ValidationInfo) -> tuple[str, ...]:
    parts = value.split(":") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not parts or not all(isinstance(part, str) for part in parts):
        raise ValueError("must be a list of directories, or one text with : between them")
    for part in parts:
        if not part.startswith(("/", "~/")):
            raise ValueError(
                f'"{printable(part)}" is relative: a command could be planted wherever the shell happens to stand'
            )
    return tuple(str(resolve_path(part, frame(info))) for part in parts)


def _shell(value: tuple[str, ...]) -> tuple[str, ...]:
    if not value:
        return DEFAULT_SHELL
    if len(value) < 2:
        raise ValueError("must have at least two words, the shell and the flag that makes it read a command (-c)")
    if not value[0].startswith("/"):
        raise ValueError("must begin with the absolute path of the shell")
    return value


def _user(value: str) -> str:
    if value and not _USER_NAME.match(value):
        raise ValueError(f'"{printable(value)}" is no name of a user')
    return value


class JobsSettings(Section):
    """Commands in the background: jobs that go on behind their turn."""

    at_once: Annotated[int, whole(0, 64)] = key(4, says="Most jobs at once, over all chats; 0 allows none.")
    timeout: Annotated[float, duration("30d")] = key("12h", says="Longest life of a job.")


class ExecSettings(Section):
    """The tool that runs shell commands on this host."""

    enabled: Flag = key(default=True, says="Whether the tool exists; false is the same as mode off.")
    mode: Mode = key(Mode.APPROVAL, says="What happens to a command that no rule decides.")
    shell: Annotated[tuple[Word, ...], AfterValidator(_shell), Rule("empty, or at least two words")] = key(
        DEFAULT_SHELL, says="Program and flags that an approved command is given to; no login shell."
    )
    cwd: FilePath = key(says="Directory that commands start in.", implied="agent.workspace")
    timeout: Annotated[float, duration("24h")] = key("120s", says="Longest run of a command.")
    max_output_bytes: Annotated[int, size(16 * _MIB)] = key(65536, says="Output that is kept of a command.")
    approval_timeout: Annotated[float, duration("7d")] = key("30m", says="How long a question stays open.")
    grant_minutes: Annotated[int, whole(0, 1440)] = key(
        15, says="For how many minutes a button offers to allow one exact command in its chat; 0 offers none."
    )
    path: Annotated[tuple[str, ...], BeforeValidator(_search_path), Rule("list of absolute directories")] = key(
        DEFAULT_PATH, says="PATH of every command; none of it may lie inside a file root."
    )
    user: Annotated[str, AfterValidator(_user), Rule("name of a user of this host")] = key(
        "", says="User that commands run as; needs a gateway that is started as root. Empty is the gateway's own user."
    )
    env: EnvSettings = key({}, says="")
    deny: tuple[Pattern, ...] = key((), says="Further expressions that refuse; built-in rules need no entry.")
    allow: tuple[AllowItem, ...] = key((), says="Commands that run without a question.")
    allow_packs: tuple[AllowPack, ...] = key((), says="Ready-made sets of allow rules.")
    builtin_deny: BuiltinDeny = key({}, says="")
    auto: AutoSettings = key(says="")
    containment: ContainmentSettings = key({}, says="")
    jobs: JobsSettings = key({}, says="")

    @model_validator(mode="after")
    def _one_switch(self) -> "ExecSettings":
        """``enabled: false`` and ``mode: off`` are one switch, so that no reader can see them differ."""
        if self.enabled and self.mode is not Mode.OFF:
            return self
        return self.model_copy(update={"enabled": False, "mode": Mode.OFF})


# --- the other tools


class Root(Section):
    """A directory that file tools may use."""

    path: FilePath = key(says="The directory.")
    access: RootAccess = key(RootAccess.READ_WRITE, says="What may be done below it.")

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: object) -> object:
        if not isinstance(value, str | dict):
            raise ValueError("must be a path, written as text")
        return {"path": value} if isinstance(value, str) else value


def _not_empty(roots: tuple[Root, ...]) -> tuple[Root, ...]:
    if not roots:
        raise ValueError("must not be empty")
    return roots


class FilesystemSettings(Section):
    """The tools that read, list, write and edit files."""

    enabled: Flag = key(default=True, says="Whether the file tools exist.")
    roots: Annotated[tuple[Root, ...], AfterValidator(_not_empty)] = key(
        says="Directories the tools are confined to.", implied="[agent.workspace]"
    )
    write: WriteRule = key(WriteRule.ALLOW, says="Whether a write inside a read-write root needs a yes.")
    max_read_bytes: Annotated[int, size(16 * _MIB)] = key(262144, says="Most that one read returns.")
    max_write_bytes: Annotated[int, size(64 * _MIB)] = key(1048576, says="Most that one write may hold.")
    max_send_bytes: Annotated[int, size(50_000_000)] = key(
        10 * _MIB, says="The largest file that is sent into a chat; Telegram takes 50 MB."
    )


class TrashSettings(Section):
    """Where files go that the tools take away or overwrite; it lies in the state directory."""

    max_bytes: Annotated[int, size(1024 * 1024 * _MIB)] = key(
        1024 * _MIB, says="Most that the trash holds; what does not fit is not taken away."
    )
    keep_days: Annotated[int, whole(1, 3650)] = key(30, says="Days after which a start removes what lies there.")


class WebFetchSettings(Section):
    """The tool that fetches a public web page."""

    enabled: Flag = key(default=True, says="Whether the tool exists.")
    timeout: Annotated[float, duration("10m")] = key("30s", says="Longest fetch, redirects included.")
    max_bytes: Annotated[int, size(64 * _MIB)] = key(1048576, says="Most that is read of a page.")
    hosts: tuple[Host, ...] = key((), says="Hosts that are fetched from without a question.")


class ToolsSettings(Section):
    """All tools, and what none of them may touch."""

    exec: ExecSettings = key(says="")
    filesystem: FilesystemSettings = key(says="")
    trash: TrashSettings = key({}, says="")
    web_fetch: WebFetchSettings = key({}, says="")
    denied_path: tuple[DeniedPath, ...] = key((), says="Paths that no tool may touch, whoever approves.")
    denied_command: tuple[DeniedPath, ...] = key((), says="Programs that never run, whoever approves.")
