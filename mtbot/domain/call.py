"""One call's life, told as values in the order in which they come to be.

A ``ToolSpec`` says what a tool may touch, a ``Call`` what the model wants, ``Facts`` what the world looks like, a
``Decision`` what policy says, a ``Permit`` that it is on record, an ``Outcome`` what became of it.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from mtbot.domain.grant import Grant
from mtbot.domain.ids import CallId, Digest, SafeText, TurnId
from mtbot.domain.turn import Actor, Address

UNTRUSTED = "untrusted third-party text"
"""Stands in every tool result that came from outside, so that history can be told to hold some."""


class Risk(StrEnum):
    """The worst that a tool can do."""

    READ = "read"
    WRITE_LOCAL = "write-local"
    EXEC = "exec"
    EXTERNAL = "external"


class ToolDefault(StrEnum):
    """What a tool's calls get where nothing else decides."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class ToolSource(StrEnum):
    """Who wrote the tool; only builtin is vetted."""

    BUILTIN = "builtin"
    PLUGIN = "plugin"
    MCP = "mcp"


class Access(StrEnum):
    """What is done to a path."""

    READ = "read"
    WRITE = "write"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class PathArg:
    """An argument of a tool that names a path or a list of paths, and what the tool does there.

    REMOVE is a write that takes away what lies there, with everything below it.
    """

    name: str
    access: Access


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What the model is told about a tool (name, description, JSON schema) and what policy is told (the rest).

    ``kept_days``: what it takes away can be brought back for so many days; 0 means not at all.
    """

    name: str
    description: str
    schema: Mapping[str, object]
    risk: Risk
    default: ToolDefault
    source: ToolSource = ToolSource.BUILTIN
    path_args: tuple[PathArg, ...] = ()
    target_arg: str | None = None
    parallel_safe: bool = False
    kept_days: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """What the model wants done: a tool, its arguments (already checked against the schema), and where.

    ``shell`` is the argv prefix that an approved command is given to; empty for tools that start nothing.
    ``timeout`` is in seconds.
    """

    id: CallId
    turn: TurnId
    tool: str
    arguments: Mapping[str, object]
    cwd: str
    address: Address
    requester: Actor
    timeout: float = 120.0
    shell: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The command text of an exec call, else the empty string."""
        value = self.arguments.get("command", "")
        return value if self.tool == "exec" and isinstance(value, str) else ""

    @property
    def background(self) -> bool:
        """Whether it is to go on behind its turn, as a job."""
        return self.tool == "exec" and self.arguments.get("background") is True

    def digest(self, facts: "Facts") -> Digest:
        """The identity that a yes is bound to: SHA-256 (hex) over the call and everything that decides what it does.

        Where its words and targets lead is part of it: a link that is turned between question and yes voids the yes.
        """
        bound = {
            "v": 1,
            "session": self.address.session,
            "tool": self.tool,
            "arguments": dict(self.arguments),
            "cwd": self.cwd,
            "directory": facts.directory,
            "shell": self.shell,
            "env": sorted(facts.env_names),
            "profile": facts.profile,
            "programs": sorted(facts.programs.items()),
            "operands": sorted(facts.operand_digests.items()),
            "resolved": sorted(facts.resolved.items()),
            "targets": sorted((target.written, target.path) for target in facts.targets),
        }
        if facts.account:
            bound["account"] = facts.account
        text = json.dumps(bound, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
        return Digest(hashlib.sha256(text.encode()).hexdigest())


class TargetKind(StrEnum):
    """What lies at a resolved path."""

    FILE = "file"
    DIRECTORY = "directory"
    MISSING = "missing"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Weight:
    """How much lies at a path: names that are no directories, and bytes; not ``whole``: there is more than that."""

    files: int
    size: int
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Target:
    """A path that a call touches: as it was written, where it leads, what lies there.

    ``path`` is absolute with every link resolved (for a missing leaf: through its nearest existing ancestor).
    ``removed``: it would be taken away, and ``weight`` says how much that is, where somebody could look.
    """

    written: str
    path: str
    kind: TargetKind
    write: bool = False
    removed: bool = False
    weight: Weight | None = None


class Below(StrEnum):
    """What lies below a directory, as far as the sensitive set goes."""

    NOTHING = "nothing"
    REPOSITORY = "repository"
    SENSITIVE = "sensitive"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Facts:
    """What the world looks like at the moment of the decision; gathered by gate/facts, read by policy.

    ``directory`` is where the commands run: ``cwd``, or where a leading ``cd DIR`` leads from there, resolved.
    ``resolved`` maps a command's words to the absolute paths they lead to from ``directory``; ``below`` says of some
    of them what lies below. ``repository_keys`` are the configured ``section.key`` names of the repository around
    ``directory`` (empty: none; None: could not be read). ``programs`` maps a command word to the file that would run.
    ``operand_digests`` maps script operands to the SHA-256 of their content; ``unbound`` names programs whose input
    cannot be fixed so (make, npm). ``account`` is the user that it runs as, where that is not the gateway's own.
    ``contents`` maps words of a command that could be granted to the SHA-256 of the file there, MISSING or another word in
    parentheses. ``named_urls`` are the addresses that a person wrote in this turn. ``grants`` hold now for whoever asks here.
    """

    cwd: str = "/"
    directory: str = "/"
    home: str = "/"
    attended: bool = False
    tainted: bool = False
    profile: str = "host"
    containment_ready: bool = False
    env_names: tuple[str, ...] = ()
    account: str = ""
    targets: tuple[Target, ...] = ()
    resolved: Mapping[str, str] = field(default_factory=dict)
    below: Mapping[str, Below] = field(default_factory=dict)
    repository_keys: frozenset[str] | None = None
    programs: Mapping[str, str] = field(default_factory=dict)
    operand_digests: Mapping[str, str] = field(default_factory=dict)
    unbound: tuple[str, ...] = ()
    named_urls: tuple[str, ...] = ()
    grants: tuple[Grant, ...] = ()
    contents: Mapping[str, str] = field(default_factory=dict)


MISSING = "(missing)"
"""Stands in place of a digest where there is no file."""


class Verdict(StrEnum):
    """What policy says of a call."""

    REFUSE = "refuse"
    RUN = "run"
    CLASSIFY = "classify"
    ASK = "ask"


class Stage(StrEnum):
    """Which of the stages of the policy spoke, in their order."""

    INPUT = "input"
    DENY = "deny"
    PARSE = "parse"
    ALLOW = "allow"
    GRANT = "grant"
    MODE = "mode"
    CLASSIFIER = "classifier"
    TOOL = "tool"
    PERSON = "person"


UNCONTAINED = "host, NOT CONTAINED"
"""The profile of a run that should have been contained on a host that cannot contain it."""


@dataclass(frozen=True, slots=True)
class CallNeeds:
    """What a contained run is granted beyond the workspace: the network, and paths.

    ``write`` and ``read`` hold with everything below; of ``look``, a file may be read and a directory listed.
    ``repository`` is a directory whose git repository is read. ``looks``: the command only looks, so that the workspace,
    too, is only for reading.
    """

    network: bool = False
    write: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    look: tuple[str, ...] = ()
    repository: str = ""
    looks: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """The policy's answer. ``runs`` is the exact text given to the shell when the verdict is RUN, else None.

    ``better`` is the tool that the model should use instead; ``permit_hint`` the command on the host that would change
    this decision (never shown to the model). ``elevates``: needs root, so a chat cannot approve it; ``owner_only``: it
    does, and the owner listed it as one that they themselves may approve in a chat. ``environment`` holds variables that
    an allow rule forces. ``profile`` is the containment profile it would run under. ``grant`` is what a RUN of that stage
    rests on.
    """

    verdict: Verdict
    stage: Stage
    rule: str | None
    reason: str
    commands: tuple[tuple[str, ...], ...] = ()
    runs: str | None = None
    better: str = ""
    permit_hint: str = ""
    elevates: bool = False
    owner_only: bool = False
    hardline: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    profile: str = "host"
    needs: CallNeeds = CallNeeds()
    grant: Grant | None = None


class Basis(StrEnum):
    """What a permit rests on."""

    RULE = "rule"
    CLASSIFIER = "classifier"
    RULING = "ruling"
    GRANT = "grant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Permit:
    """Proof that ``started`` is on record; only gate/ makes one, and only with one may a tool perform.

    ``runs`` is the exact text for the shell (empty for other tools). ``seq`` and ``hash`` are the started event's.
    ``targets`` are the resolved paths that the decision was about, in the order of the tool's path arguments: a file
    tool opens these and no others. ``needs`` is what a contained run is granted.
    """

    digest: Digest
    basis: Basis
    profile: str
    runs: str
    environment: Mapping[str, str]
    seq: int
    hash: str
    targets: tuple[str, ...] = ()
    needs: CallNeeds = CallNeeds()


class Status(StrEnum):
    """How a call ended."""

    OK = "ok"
    FAILED = "failed"
    REFUSED = "refused"
    TIMED_OUT = "timed_out"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a call, masked: ``text`` is what the model reads, the numbers are what the record keeps.

    ``duration_ms`` is wall time; ``dropped`` counts output bytes that were not kept; ``lines`` counts output lines.
    ``survivors`` describes processes that could not be ended. ``tainted``: the text came from outside. ``undo`` names
    what the call left in the trash, from where a person can bring it back; ``whole`` the output that is kept whole,
    where ``text`` has only its ends. ``held`` are the parts of containment that it ran under. ``job`` names the job as which the call goes on; then nothing else is known of it.
    """

    status: Status
    text: SafeText
    exit_code: int | None = None
    duration_ms: int = 0
    dropped: int = 0
    lines: int = 0
    survivors: tuple[str, ...] = ()
    tainted: bool = False
    undo: str = ""
    whole: str = ""
    held: tuple[str, ...] = ()
    job: str = ""
