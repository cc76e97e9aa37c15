"""Judge what was gathered: one tuple of checks, each a pure function to rows. A new check is one entry here."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from mtbot.doctor.probes import Gathered
from mtbot.domain.process import Containment


class Status(StrEnum):
    """How a row stands; FAIL makes doctor exit with 1."""

    OK = "OK"
    INFO = "INFO"
    WARN = "WARN"
    FAIL = "FAIL"


LONG_GRANT_MS = 4 * 3_600_000
"""A yes that lasts longer than this is warned of."""

SILENT_SECONDS = 120.0
"""A long poll is answered at least every minute, also when nobody said anything."""


@dataclass(frozen=True, slots=True)
class Row:
    """One finding."""

    check: str
    status: Status
    message: str


AS_ROOT = (
    "the gateway and its commands run as root. What then does not hold: an approved command reads every secret, rewrites "
    "record, database and rules, and ends or traces the gateway; sudo asks it for nothing; no file of this host is out of "
    "its reach. Name a user under tools.exec.user, and commands run as that one"
)
AS_ITSELF = (
    "{}; an approved command on the host runs as the same user, so it could reach the database, the key files and the "
    "secrets. A gateway that is started as root with tools.exec.user keeps them apart"
)


def config_file(found: Gathered) -> list[Row]:
    """The configuration was read, and who else can read it."""
    path = found.loaded.settings.file
    rows = [Row("configuration", Status.OK, str(path))]
    if found.config_mode & 0o077:
        rows.append(Row("configuration permissions", Status.WARN, f"{path} can be read by others; chmod 600 it"))
    rows += [Row("configuration", Status.WARN, warning) for warning in found.loaded.warnings]
    return rows


def secrets(found: Gathered) -> list[Row]:
    """Every secret that is named can be had."""
    rows = [
        Row(key, Status.OK, f"from {secret.source.value} {secret.place}")
        for key, secret in found.loaded.secrets.items()
    ]
    return rows + [Row("secrets", Status.FAIL, line) for line in found.loaded.missing]


def storage(found: Gathered) -> list[Row]:
    """The database and the directory around it."""
    rows = []
    place = found.state_directory
    if not (place.writable and place.executable):
        rows.append(
            Row(
                "state directory",
                Status.FAIL,
                f"{place.path} is not writable for {found.user}, and the database needs it",
            )
        )
    database = found.database
    if database.fault:
        rows.append(Row("database", Status.FAIL, database.fault))
    elif database.absent:
        rows.append(Row("database", Status.INFO, f"{database.label} is made at the first start"))
    else:
        rows.append(Row("database", Status.OK, database.label))
        state = Status.FAIL if database.chain_fault else Status.OK
        rows.append(Row("record", state, database.chain_fault or f"{database.events} events, chain whole"))
    if database.holder is not None:
        rows.append(Row("gateway", Status.INFO, f"running, pid {database.holder}"))
    if database.pending:
        rows.append(Row("questions", Status.INFO, f"{database.pending} open; `mtclaw approvals pending` shows them"))
    if database.grants:
        rows.append(_grants(found))
    return rows


def _grants(found: Gathered) -> Row:
    """What runs without a question now because a person said so; a long one is easily forgotten."""
    loaded, grants = found.loaded, found.database.grants
    last = max(grants, key=lambda grant: grant.until_ms)
    holds = "1 grant holds" if len(grants) == 1 else f"{len(grants)} grants hold"
    line = " ".join(last.command.split())
    told = (
        f"{holds}; the last to end is #{last.id} at {loaded.clock.clock_text(last.until_ms)}, for "
        f"{loaded.people.name(last.requester)} in {last.address.session}, {last.uses} runs so far: "
        f"{line if len(line) <= 80 else line[:79] + '…'}. `mtclaw grants list` shows all, `mtclaw grants revoke ID` ends one"
    )
    return Row("grants", Status.WARN if last.until_ms - last.given_ms > LONG_GRANT_MS else Status.INFO, told)


def gateway(found: Gathered) -> list[Row]:
    """A gateway that runs answers at its control socket, and its bots hear from Telegram."""
    state = found.gateway
    if state.fault:
        return [Row("control socket", Status.WARN, state.fault)]
    if not state.answers:
        silent = "nothing answers; it works, but approve, reload and status do not reach it at once"
        none = Row("control socket", Status.INFO, "no gateway runs")
        return [none if found.database.holder is None else Row("control socket", Status.WARN, silent)]
    rows = [Row("control socket", Status.OK, "the gateway answers")]
    for poll in state.polls:
        name = f"polling {poll.bot}"
        last = "Telegram has not answered yet" if poll.age_s is None else f"last answer {poll.age_s:.0f} s ago"
        if poll.trouble:
            rows.append(Row(name, Status.WARN, f"{last}; {poll.trouble}"))
        elif poll.age_s is None or poll.age_s > SILENT_SECONDS:
            rows.append(Row(name, Status.WARN, f"{last}, which is longer than a poll lasts"))
        else:
            rows.append(Row(name, Status.OK, last))
    return rows


def telegram(found: Gathered) -> list[Row]:
    """Every bot's token works, and somebody may speak to it."""
    settings = found.loaded.settings.channels.telegram
    if not settings.enabled:
        return [Row("telegram", Status.OK, "switched off")]
    rows = []
    for bot in found.bots:
        if bot.fault:
            rows.append(Row(f"telegram {bot.name}", Status.FAIL, bot.fault))
        else:
            rows.append(Row(f"telegram {bot.name}", Status.OK, f"@{bot.username}"))
    if found.loaded.settings.owner is None:
        rows.append(Row("owner", Status.WARN, "no owner is configured, so nobody is told of trouble"))
    return rows


def model(found: Gathered) -> list[Row]:
    """Every model that a profile names answers."""
    rows = []
    for one in found.models:
        name = f"model {one.provider}/{one.model}"
        if one.fault:
            rows.append(Row(name, Status.FAIL, one.fault))
        elif one.listed:
            rows.append(Row(name, Status.OK, "listed by its server"))
        else:
            rows.append(Row(name, Status.WARN, "its server answers but does not list it"))
    return rows


def paths(found: Gathered) -> list[Row]:
    """Directories and files that the configuration names."""
    rows = []
    for path in found.paths:
        wanted = path.key not in ("agent.system_prompt_files", "tools.exec.shell")
        if not path.exists:
            status = Status.WARN if path.key == "agent.system_prompt_files" else Status.FAIL
            rows.append(Row(path.key, status, f"{path.path} does not exist; {_mend(path.key, path.path)}"))
        elif wanted and not path.directory:
            rows.append(Row(path.key, Status.FAIL, f"{path.path} is no directory"))
        elif path.key == "agent.workspace" and not path.writable:
            rows.append(Row(path.key, Status.FAIL, f"{path.path} is not writable for {found.user}"))
        elif path.key == "tools.exec.shell" and not path.executable:
            rows.append(Row(path.key, Status.FAIL, f"{path.path} cannot be executed"))
        elif not path.readable:
            rows.append(Row(path.key, Status.FAIL, f"{path.path} cannot be read by {found.user}"))
        else:
            rows.append(Row(path.key, Status.OK, path.path))
    return rows


def _mend(key: str, path: str) -> str:
    return f"mkdir -p {path}" if key != "tools.exec.shell" else f"set {key}"


def exec_policy(found: Gathered) -> list[Row]:
    """The mode, and every change to the built-in rules."""
    rows = []
    settings = found.loaded.settings
    named = [("", settings.base), *((f" of profile {name}", one) for name, one in settings.profiles.items())]
    for suffix, profile in named:
        exec_settings = profile.tools.exec
        mode = exec_settings.mode.value
        if mode == "auto":
            message = "a model decides what no rule decides; it is beta and can be talked into things"
            rows.append(Row(f"exec mode{suffix}", Status.WARN, f"auto: {message}"))
        else:
            rows.append(Row(f"exec mode{suffix}", Status.OK, mode))
        changed = [f"{rule} asks instead of refusing" for rule in exec_settings.builtin_deny.ask]
        changed += [f"{rule} is switched off" for rule in exec_settings.builtin_deny.off]
        rows += [Row(f"built-in rules{suffix}", Status.WARN, message) for message in changed]
    return rows


def host(found: Gathered) -> list[Row]:
    """Who the gateway would run as, and what that means for the record."""
    account = found.account
    if account.faults:
        return [
            Row("tools.exec.user", Status.FAIL, fault.removeprefix("tools.exec.user: ")) for fault in account.faults
        ]
    if account.exposed:
        named = ", ".join(account.exposed)
        message = (
            f"commands run as {account.name}, who can all the same reach {named}; chmod 600 them, 700 what holds them"
        )
        return [Row("user", Status.WARN, message)]
    if account.name:
        message = (
            f"the gateway runs as {found.user}, commands as {account.name}, who cannot reach database, keys and secrets"
        )
        return [Row("user", Status.OK, message)]
    return [Row("user", Status.WARN, AS_ROOT) if found.root else Row("user", Status.INFO, AS_ITSELF.format(found.user))]


def elevation(found: Gathered) -> list[Row]:
    """What a chat may approve that changes the user."""
    listed = found.loaded.settings.elevation.chat
    if not listed:
        return [Row("elevation", Status.OK, "nothing that changes the user can be approved in a chat")]
    shown = "; ".join(" ".join(words) for words in listed)
    message = f"the owner may approve in a chat: {shown}; `mtclaw policy sudoers` prints what it needs"
    return [Row("elevation.chat", Status.WARN, message)]


def _without_bubblewrap(held: Containment) -> str:
    """What is not held, and why."""
    why = "; ".join(held.no_bubblewrap)
    lost = "builds can read secrets in the workspace, change git hooks, and change modes of the user's files anywhere"
    return f"without bubblewrap {lost} ({why})"


def containment(found: Gathered) -> list[Row]:
    """What commands can be kept from, found out by trying, and what follows where they cannot."""
    held = found.held
    missing = "; ".join(held.missing)
    if held.ready:
        parts = ", ".join(held.parts)
        rows = [Row("containment", Status.OK, f"ready: {parts} (a contained command tried to break out)")]
        rows += [] if held.signals else [Row("containment", Status.INFO, f"not held: {missing}")]
        rows += [] if held.bubblewrap else [Row("containment", Status.INFO, _without_bubblewrap(held))]
    else:
        rows = [Row("containment", Status.WARN, f"NOT CONTAINED: {missing}")]
    for profile in found.profiles:
        name = f"containment of profile {profile.name}" if profile.name else "containment"
        if profile.trouble:
            rows.append(Row(name, Status.WARN, f"NOT CONTAINED: {profile.trouble}"))
        if profile.needs and (profile.trouble or not held.ready):
            then = "refused, in chat and by cron" if profile.require else "run on the host and say NOT CONTAINED"
            what = ", ".join(need for need in profile.needs if profile.require or need != "mode auto")
            rows += [Row(name, Status.WARN, f"{then}: {what}")] if what else []
    return rows


def anchor(found: Gathered) -> list[Row]:
    """Whether the head of the record leaves this host, so that a rewritten record shows."""
    wanted = found.loaded.settings.audit.anchor.value
    if found.anchor_trouble:
        return [Row("audit.anchor", Status.WARN, found.anchor_trouble)]
    if wanted == "off":
        message = "off: somebody with this account could rewrite the record unnoticed; owner or syslog keeps its head"
        return [Row("audit.anchor", Status.INFO, message)]
    return [Row("audit.anchor", Status.OK, wanted)]


def cron(found: Gathered) -> list[Row]:
    """When each job is due."""
    if not found.loaded.settings.cron.enabled:
        return [Row("cron", Status.INFO, "switched off")]
    return [Row(f"job {name}", Status.OK, f"next {due}") for name, due in found.overdue]


CHECKS: tuple[Callable[[Gathered], list[Row]], ...] = (
    config_file,
    secrets,
    storage,
    gateway,
    telegram,
    model,
    paths,
    exec_policy,
    host,
    elevation,
    containment,
    anchor,
    cron,
)


def judge(found: Gathered) -> tuple[Row, ...]:
    """Every row of every check."""
    return tuple(row for check in CHECKS for row in check(found))
