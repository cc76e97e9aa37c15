"""A decision in words, for the question and for ``mtclaw policy explain``; says what is known and never "safe"."""

from mtbot.domain.call import Decision, Facts, Target, TargetKind
from mtbot.domain.span import span_text
from mtbot.policy import never
from mtbot.policy.effects import Prepared
from mtbot.policy.lexer import Literal, NotLiteral
from mtbot.policy.reading_values import UNKNOWN

_SUBCOMMANDS = frozenset(
    [
        "docker",
        "podman",
        "git",
        "kubectl",
        "helm",
        "systemctl",
        "apt",
        "apt-get",
        "dnf",
        "yum",
        "npm",
        "yarn",
        "pnpm",
        "pip",
        "cargo",
        "go",
        "gh",
        "glab",
        "aws",
        "gcloud",
        "az",
        "restic",
        "borg",
        "rclone",
        "tailscale",
        "ufw",
        "zfs",
        "zpool",
        "virsh",
        "nmcli",
        "ip",
        "poetry",
        "uv",
        "brew",
        "snap",
        "flatpak",
        "terraform",
    ]
)
_ONE_LEVEL = frozenset(
    [
        "git",
        "apt",
        "apt-get",
        "dnf",
        "yum",
        "npm",
        "yarn",
        "pnpm",
        "pip",
        "cargo",
        "go",
        "helm",
        "brew",
        "uv",
        "poetry",
        "terraform",
        "restic",
        "borg",
    ]
)
_MAX_NAMED = 6


def short_name(argv: tuple[str, ...]) -> str:
    """A command by its program and sub-commands: ``docker compose pull`` for a much longer line."""
    if not argv:
        return ""
    words = [never.base_name(argv[0]).replace(UNKNOWN, "…")]
    if words[0] in _SUBCOMMANDS:
        most = 2 if words[0] in _ONE_LEVEL else 3
        for word in argv[1:]:
            if len(words) == most or not word.replace("-", "").isalpha() or word.startswith("-"):
                if len(words) > 1 and not word.startswith(("-", "/")) and "." not in word:
                    break
                continue
            words.append(word)
    return " ".join(words)


def card_lines(prepared: Prepared, facts: Facts) -> tuple[str, ...]:
    """The lines of a question that say what is in it."""
    lines = []
    names = list(dict.fromkeys(short_name(argv) for argv in prepared.commands if argv))
    if len(prepared.commands) > 1:
        more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        lines.append(f"{len(prepared.commands)} commands: {', '.join(names[:_MAX_NAMED])}{more}")
    mode = prepared.call.arguments.get("mode")
    if prepared.call.tool == "write_file":
        lines.append(f"mode: {mode or 'overwrite'}")
    for path, digest in facts.operand_digests.items():
        name = path.rsplit("/", 1)[-1]
        lines.append(f"script content fixed at {digest[:6]} ({name})" if digest[0] != "(" else f"can't read {path}")
    if facts.unbound:
        lines.append(f"What {', '.join(facts.unbound)} will run is in files that may still change.")
    if prepared.call.background:
        lines.append(f"in the background, as a job that is ended after {span_text(prepared.call.timeout)}")
    if facts.tainted:
        lines.append(
            "This turn has read text from outside (a page, a file or what a command fetched), which may have asked for this."
        )
    return tuple(lines)


def target_line(target: Target, home: str) -> str:
    """A path as a question shows it; of what would be taken away also how much it is: ``~/old   (14 files, 3.1 MB)``."""
    weight = target.weight
    if not target.removed:
        return target.path
    inside = home != "/" and target.path.startswith(f"{home}/")
    shown = f"~{target.path[len(home) :]}" if inside else target.path
    if weight is None:
        return f"{shown}   (nobody could look how much it is)"
    files = "" if target.kind is TargetKind.FILE else f"{weight.files} file{'' if weight.files == 1 else 's'}, "
    return f"{shown}   ({'' if weight.whole else 'more than '}{files}{size_text(weight.size)})"


def size_text(size: int) -> str:
    """Bytes in the unit that people read: ``812 bytes``, ``3.1 MB``, ``2 GB``; a thousand to the next unit."""
    if size < 1000:
        return f"{size} byte{'' if size == 1 else 's'}"
    power = next((power for power in range(1, 4) if size < 999.95 * 1000**power), 4)
    shown = f"{size / 1000**power:.1f}".removesuffix(".0")
    return f"{shown} {('kB', 'MB', 'GB', 'TB')[power - 1]}"


def explained(prepared: Prepared, facts: Facts, decision: Decision) -> tuple[str, ...]:
    """The whole story of a decision, a line each."""
    lines = [f"verdict: {decision.verdict.value} (stage {decision.stage.value})"]
    if decision.rule:
        lines.append(f"rule: {decision.rule}")
    lines.append(f"reason: {decision.reason}")
    readings = prepared.readings
    if readings is not None:
        for number, command in enumerate(readings.commands, 1):
            via = f"  (inside {' > '.join(command.via)})" if command.via else ""
            lines.append(f"command {number}: {command.text}{via}")
            lines += [
                f"  redirect: {redirect.operator} {redirect.target.text.replace(UNKNOWN, '…')}"
                for redirect in command.redirects
            ]
        lines += [f"doubt: {detail}" for _, detail in readings.doubts]
        lines += [f"changes the user: {program}" for program in readings.elevates]
    if isinstance(prepared.literal, NotLiteral):
        lines.append(
            f"outside the literal subset: {prepared.literal.reason.value} (at character {prepared.literal.at + 1})"
        )
    elif isinstance(prepared.literal, Literal):
        lines.append(f"canonical: {prepared.literal.canonical()}")
    lines += [f"touches: {word} -> {path}" for word, path in facts.resolved.items()]
    lines += card_lines(prepared, facts)
    if decision.runs is not None:
        lines.append(f"runs: {decision.runs}")
    if decision.better:
        lines.append(f"better: {decision.better}")
    if decision.permit_hint:
        lines.append(f"to permit it: {decision.permit_hint}")
    return tuple(lines)
