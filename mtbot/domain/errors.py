"""Every error that mtclaw raises on purpose, in one tree; each has a stable code, an exit status and a hint.

    MtclawError
    ├── ConfigError            the configuration cannot be used
    ├── StateError             a file or directory of mtclaw's own state cannot be used
    │   ├── SealError          the sealing key is missing, unreadable or not the one that sealed the data
    │   ├── SchemaError        the database is newer than this program, or older and may not be migrated now
    │   ├── StorageError       the database cannot be opened, read or written
    │   │   └── RecordUnavailable  an audit event cannot be written, so nothing may run
    │   │       └── NotWrittenYet  a person's no counts all the same
    │   └── InUseError         another gateway holds this database or this bot token
    ├── ConsentError           a ruling or a use of one was refused
    │   ├── NoSuchApproval
    │   ├── NameTaken          the name of a new request is in use; choose another
    │   ├── AlreadyDecided     carries the row that won
    │   ├── NotAllowed         this actor may not decide this
    │   └── NotUsable          not approved, lapsed, already used, or bound to something else
    ├── ChannelError           the chat service said no
    │   ├── TokenRejected      401: the bot token is wrong or revoked
    │   ├── PollConflict       409: somebody else reads this bot's updates
    │   ├── Throttled          429: carries ``retry_after`` in seconds
    │   ├── Unreachable        no connection was made, so nothing was sent
    │   ├── Ambiguous          the connection broke after sending; it may or may not have arrived
    │   └── ChatGone           blocked, kicked or deleted; do not send there again
    ├── ProviderError          the model could not answer; ``kind`` says why
    ├── ControlError           the control socket cannot be used, or what was said over it
    │   └── PeerRefused        whoever is at the other end may not speak, or not do that
    └── ProcessesDown          the spawner is gone; nothing can be started

Data travels as attributes, never inside the text; the text is for people and names no secret.
"""

from enum import StrEnum


class MtclawError(Exception):
    """Base of all. ``code`` is stable, ``exit_status`` is for the command line, ``hint`` tells how to mend it."""

    code = "error"
    exit_status = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class ConfigError(MtclawError):
    """The configuration cannot be used; ``problems`` holds every fault found, one line each."""

    code = "config"

    def __init__(self, problems: tuple[str, ...], *, hint: str = "") -> None:
        super().__init__("\n".join(problems), hint=hint)
        self.problems = problems


class StateError(MtclawError):
    """A file or directory of mtclaw's own state cannot be used."""

    code = "state"


class SealError(StateError):
    """The sealing key is missing, unreadable or not the one that sealed the data."""

    code = "seal"


class SchemaError(StateError):
    """The database schema and this program do not fit."""

    code = "schema"


class StorageError(StateError):
    """The database cannot be opened, read or written."""

    code = "storage"


class RecordUnavailable(StorageError):
    """An audit event cannot be written; nothing may run."""

    code = "record_unavailable"


class NotWrittenYet(RecordUnavailable):
    """A no that cannot be written down now; it counts in this process, which writes it down when it can."""

    code = "not_written_yet"


class InUseError(StateError):
    """Another gateway holds this database or this token."""

    code = "in_use"


class ConsentError(MtclawError):
    """A ruling, or the use of one, was refused."""

    code = "consent"


class NoSuchApproval(ConsentError):
    """There is no request of that name."""

    code = "no_such_approval"


class NameTaken(ConsentError):
    """A new request cannot have this name, because another one has it; nothing was asked under it."""

    code = "name_taken"


class AlreadyDecided(ConsentError):
    """Somebody (or the clock) was first; ``state``, ``decider`` and ``at_ms`` say who and when."""

    code = "already_decided"

    def __init__(self, state: str, decider: str, at_ms: int) -> None:
        super().__init__(f"already {state} by {decider}")
        self.state = state
        self.decider = decider
        self.at_ms = at_ms


class NotAllowed(ConsentError):
    """This actor may not decide this request."""

    code = "not_allowed"


class NotUsable(ConsentError):
    """The approval cannot be used; ``why`` is one of not_approved, expired, used, changed, gone, grant."""

    code = "not_usable"

    def __init__(self, why: str, message: str) -> None:
        super().__init__(message)
        self.why = why


class ChannelError(MtclawError):
    """The chat service refused; ``status`` is its code.

    ``file_arrived``: the file that goes before a question is there, and only the question is not.
    """

    code = "channel"
    file_arrived = False

    def __init__(self, message: str, *, status: int = 0, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status


class TokenRejected(ChannelError):
    """401: the bot token is wrong or revoked."""

    code = "token_rejected"


class PollConflict(ChannelError):
    """409: somebody else reads this bot's updates, or a webhook is set."""

    code = "poll_conflict"


class Throttled(ChannelError):
    """429: wait ``retry_after`` seconds."""

    code = "throttled"

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message, status=429)
        self.retry_after = retry_after


class Unreachable(ChannelError):
    """No connection was made, so nothing was sent."""

    code = "unreachable"


class Ambiguous(ChannelError):
    """The connection broke after the request was written; it may or may not have arrived."""

    code = "ambiguous"


class ChatGone(ChannelError):
    """Blocked, kicked, deleted: do not send there again. ``moved_to`` is set when the group became a supergroup."""

    code = "chat_gone"

    def __init__(self, message: str, *, status: int = 403, moved_to: int | None = None) -> None:
        super().__init__(message, status=status)
        self.moved_to = moved_to


class ProviderKind(StrEnum):
    """Why a model could not answer."""

    AUTH = "auth"
    RATE = "rate"
    QUOTA = "quota"
    CONTEXT = "context"
    BAD_REQUEST = "bad_request"
    TRANSIENT = "transient"
    TIMEOUT = "timeout"
    NETWORK = "network"
    GARBLED = "garbled"


class ProviderError(MtclawError):
    """The model could not answer; ``kind`` says why, ``retry_after`` is in seconds where the provider named it."""

    code = "provider"

    def __init__(
        self, kind: ProviderKind, message: str, *, status: int = 0, retry_after: float | None = None, hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.status = status
        self.retry_after = retry_after


class ControlError(MtclawError):
    """The control socket cannot be used, or the other end refused what was asked of it."""

    code = "control"


class PeerRefused(ControlError):
    """Whoever is at the other end of the control socket may not speak there, or not do what they want."""

    code = "peer_refused"


class ProcessesDown(MtclawError):
    """The spawner is gone; nothing can be started."""

    code = "processes_down"
