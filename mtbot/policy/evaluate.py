"""The decision: what was read and what was looked up, in; one Decision, out. Pure, total, and on one page.

The stages in their order; the first that speaks ends it: input, deny, parse, allow, grant, mode (the classifier and the
person come after, outside). Every tool passes here; a tool without valid metadata asks.
"""

from dataclasses import replace

from mtbot.domain.call import (
    UNCONTAINED,
    Below,
    CallNeeds,
    Decision,
    Facts,
    Risk,
    Stage,
    Target,
    TargetKind,
    ToolDefault,
    ToolSource,
    Verdict,
)
from mtbot.domain.process import CONTAINED, HOST
from mtbot.domain.turn import SurfaceName
from mtbot.policy import allow, deny, elevation, grants, sensitive
from mtbot.policy.allow_rule import Role
from mtbot.policy.classify import NOT_CONTAINED, floor
from mtbot.policy.deny import Denial, Mention
from mtbot.policy.effects import Prepared, host_of
from mtbot.policy.explain import short_name
from mtbot.policy.lexer import Literal
from mtbot.policy.reading_values import Readings
from mtbot.policy.rule import Level
from mtbot.policy.ruleset import Mode, RootAccess

TOOL_STAGE = Stage.TOOL


def evaluate(prepared: Prepared, facts: Facts) -> Decision:
    """What policy says of a call. Never raises and never does anything."""
    if prepared.call.tool == "exec":
        return _command(prepared, facts)
    return _tool(prepared, facts)


# --- exec


def _command(prepared: Prepared, facts: Facts) -> Decision:
    text = prepared.call.command
    if "\0" in text:
        return _refuse(prepared, Stage.INPUT, "input.nul", "it holds a NUL character, which no program can be given")
    if any("\ud800" <= char <= "\udfff" for char in text):
        return _refuse(prepared, Stage.INPUT, "input.encoding", "it holds half a character (a lone surrogate)")
    if prepared.rules.mode is Mode.OFF:
        return _refuse(prepared, Stage.MODE, "mode.off", "commands are switched off")
    found = deny.judge(prepared.readings, prepared.rules.deny) if prepared.readings else deny.too_long()
    if isinstance(found, Denial) and found.level is Level.REFUSE:
        return _denied(prepared, found)
    forbidden = _forbidden(prepared, facts)
    if forbidden is not None:
        return forbidden
    decision = _must_ask(prepared, found)
    if decision is None:
        allowed = _allowed(prepared, facts)
        decision = allowed if isinstance(allowed, Decision) else _not_allowed(prepared, facts, allowed)
    if decision.verdict is not Verdict.ASK:
        return decision
    if decision.elevates or decision.owner_only:
        return replace(decision, profile=HOST)
    if facts.profile == UNCONTAINED and prepared.rules.require_containment:
        return _required(prepared, Stage.MODE)
    return decision if decision.profile == facts.profile else replace(decision, profile=facts.profile)


def _denied(prepared: Prepared, found: Denial) -> Decision:
    decision = _refuse(prepared, Stage.DENY, found.rule_id, found.reason)
    softens = not found.hardline and not found.rule_id.startswith(("deny[", "limits."))
    return replace(
        decision,
        better=_sentence(found.better),
        hardline=found.hardline,
        permit_hint=f"mtclaw policy soften {found.rule_id}" if softens else "",
    )


def _forbidden(prepared: Prepared, facts: Facts) -> Decision | None:
    """What the owner listed as never approvable: programs, and paths that any word leads to."""
    rules = prepared.rules
    for word, path in facts.programs.items():
        if path in rules.denied_commands or word in rules.denied_commands:
            return _refuse(prepared, Stage.DENY, "denied_command", f"{word} is listed under tools.denied_command")
    for word, path in facts.resolved.items():
        entry = rules.denied_path(path)
        if entry is not None:
            return _refuse(
                prepared, Stage.DENY, "denied_path", f"{word} lies in {entry}, listed under tools.denied_path"
            )
    if prepared.wants.cut:
        rule = "denied_path" if rules.denied_paths else "denied_command"
        return _refuse(prepared, Stage.DENY, rule, f"it holds too many words to look up for tools.{rule}")
    return None


def _must_ask(prepared: Prepared, found: Denial | Mention | None) -> Decision | None:
    """What neither a rule nor the classifier may let run: softened rules, root, text that is not fully understood."""
    readings = prepared.readings
    assert readings is not None, "a text that was not read is refused before"
    if readings.elevates:
        return _elevated(prepared, readings)
    if isinstance(found, Denial):
        return replace(_ask(prepared, Stage.DENY, found.reason), rule=found.rule_id, better=_sentence(found.better))
    mention = f"; it mentions what {found.rule_id} refuses: {found.text}" if isinstance(found, Mention) else ""
    if readings.doubts:
        return _ask(prepared, Stage.PARSE, f"{readings.doubts[0][1]}{mention}")
    if mention and not isinstance(prepared.literal, Literal):
        return _ask(prepared, Stage.PARSE, mention.removeprefix("; "))
    return None


def _elevated(prepared: Prepared, readings: Readings) -> Decision:
    """A command that changes the user: never by rule, never in a job, in one form, and for a person at the host."""
    program = readings.elevates[0]
    if prepared.call.address.surface is SurfaceName.CRON:
        reason = f"{program} changes the user, and no scheduled job does that"
        return _refuse(prepared, Stage.PERSON, elevation.SCHEDULED, reason)
    fault = elevation.form_fault(readings, prepared.literal)
    if fault is not None:
        refusal = _refuse(prepared, Stage.PERSON, elevation.FORM, fault)
        return replace(refusal, better=_sentence(elevation.RIGHT_FORM))
    listed = elevation.chat_may_approve(prepared.rules.elevation, prepared.literal, prepared.second_reading)
    if listed:
        reason = f"{program} changes the user, and elevation.chat lists this command for the owner to approve"
        return replace(_ask(prepared, Stage.PERSON, reason), rule=elevation.CHAT, owner_only=True)
    asking = _ask(prepared, Stage.PERSON, f"{program} changes the user, which only the host itself can allow")
    return replace(asking, rule=elevation.HOST, elevates=True)


def _allowed(prepared: Prepared, facts: Facts) -> Decision | str:
    """RUN if rules alone allow every command; else the reason why not."""
    literal = prepared.literal
    if not isinstance(literal, Literal):
        reason = literal.reason.value if literal is not None else "it was not read"
        return f"no rule can allow it: {reason}"
    paths = {word: allow.PathFact(path, facts.below.get(word, Below.UNKNOWN)) for word, path in facts.resolved.items()}
    context = allow.AllowContext(facts.directory, prepared.rules.places, paths, facts.repository_keys, facts.cwd)
    verdict = allow.judge(literal, prepared.second_reading, prepared.rules.allow, context)
    if isinstance(verdict, allow.NotAllowed):
        named = verdict.kind is allow.WhyNot.NO_RULE and verdict.command
        return f'no rule allows "{short_name(verdict.command)}"' if named else verdict.reason
    profile = HOST
    if verdict.needs.contained or verdict.needs.confinable:
        if not facts.containment_ready and prepared.rules.require_containment:
            return _required(prepared, Stage.ALLOW)
        profile = CONTAINED if facts.containment_ready else UNCONTAINED
    return Decision(
        Verdict.RUN,
        Stage.ALLOW,
        ", ".join(dict.fromkeys(rule.id for rule in verdict.rules)),
        "every command in it is allowed by a rule",
        prepared.commands,
        runs=verdict.runs,
        environment=verdict.environment,
        profile=profile,
        needs=_needs(verdict, facts),
    )


def _needs(allowed: allow.Allowed, facts: Facts) -> CallNeeds:
    """What a contained run of it is granted: what the rules say, and the paths that they judged."""
    whole = (Role.CONTENT_BELOW, Role.OUTSIDE_REPOSITORY)
    needs = allowed.needs
    return CallNeeds(
        network=needs.network,
        write=needs.write,
        read=tuple(path for path, role in allowed.operands if role in whole),
        look=(facts.directory, *(path for path, role in allowed.operands if role not in whole)),
        repository=facts.directory if needs.plain_repository else "",
        looks=needs.confinable,
    )


def _required(prepared: Prepared, stage: Stage) -> Decision:
    """It would run uncontained, and the owner does not want that."""
    reason = "it should run contained, which cannot be done here, and tools.exec.containment.require is set"
    return _refuse(prepared, stage, "containment.required", reason)


def _not_allowed(prepared: Prepared, facts: Facts, why_not: str) -> Decision:
    """What no rule lets run: a person may have allowed exactly this for a while, else the mode decides."""
    grant = grants.covering(prepared, facts)
    if grant is None:
        return _by_mode(prepared, facts, why_not)
    if facts.profile == UNCONTAINED and prepared.rules.require_containment:
        return _required(prepared, Stage.GRANT)
    assert isinstance(prepared.literal, Literal), "only plain commands are granted"
    return Decision(
        Verdict.RUN,
        Stage.GRANT,
        grant.rule,
        "a person allowed exactly this for a while",
        prepared.commands,
        runs=prepared.literal.canonical(),
        profile=facts.profile,
        grant=grant,
    )


def _by_mode(prepared: Prepared, facts: Facts, why_not: str) -> Decision:
    hint = _permit_hint(prepared)
    asking = Decision(Verdict.ASK, Stage.MODE, None, why_not, prepared.commands, permit_hint=hint)
    if prepared.rules.mode is not Mode.AUTO or not facts.attended:
        return asking
    held = floor(prepared, facts)
    if held == NOT_CONTAINED and prepared.rules.require_containment:
        return _required(prepared, Stage.CLASSIFIER)
    if held is not None:
        return replace(asking, stage=Stage.CLASSIFIER, reason=held)
    return replace(asking, verdict=Verdict.CLASSIFY)


def _permit_hint(prepared: Prepared) -> str:
    """The command on the host that would add a rule; only for text that a rule can allow at all."""
    if not isinstance(prepared.literal, Literal):
        return ""
    return "mtclaw policy allow '" + prepared.call.command.replace("'", "'\\''") + "'"


# --- other tools


def _tool(prepared: Prepared, facts: Facts) -> Decision:
    spec, rules = prepared.spec, prepared.rules
    for target in facts.targets:
        entry = rules.denied_path(target.path)
        if entry is not None:
            return _refuse(prepared, TOOL_STAGE, "denied_path", f"{target.written} lies in {entry}, a denied path")
    if spec.default is ToolDefault.DENY:
        return _refuse(prepared, TOOL_STAGE, "tool.denied", f"{spec.name} is switched off by its own metadata")
    for target in facts.targets:
        outside = _outside(prepared, target)
        if outside is not None:
            return outside
    if not _vetted(prepared, facts):
        return _ask(
            prepared, TOOL_STAGE, f"{spec.name} carries no security metadata that can be trusted", "tool.metadata"
        )
    for target in facts.targets:
        pointer = target.write and sensitive.is_repository_pointer(target.path)
        if pointer or sensitive.is_sensitive(target.path, rules.places):
            return _ask(prepared, TOOL_STAGE, f"{target.path} belongs to the sensitive files", "path.sensitive")
        if target.removed and facts.below.get(target.written) is Below.SENSITIVE:
            return _ask(prepared, TOOL_STAGE, f"{target.path} holds sensitive files", "path.sensitive")
    if spec.target_arg is not None and facts.tainted and not _known_page(prepared, facts):
        reason = "this turn has read text from outside, and nobody here named this address"
        return _ask(prepared, TOOL_STAGE, reason, "web.tainted")
    writes = any(target.write for target in facts.targets)
    if spec.default is ToolDefault.ASK or (writes and rules.write is ToolDefault.ASK):
        return _ask(prepared, TOOL_STAGE, f"{spec.name} asks first", "tool.asks")
    return Decision(Verdict.RUN, TOOL_STAGE, f"tool.{spec.name}", "inside what this tool may do")


def _outside(prepared: Prepared, target: Target) -> Decision | None:
    """A target that no one can approve: outside the roots, or written to where only reading is permitted."""
    root = prepared.rules.root_of(target.path)
    if root is None:
        return _refuse(prepared, TOOL_STAGE, "root.outside", f"{target.written} leads outside the roots of file tools")
    if target.write and root.access is RootAccess.READ:
        return _refuse(prepared, TOOL_STAGE, "workspace-root", f"{root.path} is open for reading only")
    if target.kind is TargetKind.OTHER:
        return _refuse(prepared, TOOL_STAGE, "path.special", f"{target.written} is neither a file nor a directory")
    return _taken_along(prepared, target) if target.removed else None


def _taken_along(prepared: Prepared, target: Target) -> Decision | None:
    """What no one can approve to take away: nothing at all, and a directory together with what is not its own."""
    rules = prepared.rules
    if target.kind is TargetKind.MISSING:
        return _refuse(prepared, TOOL_STAGE, "path.missing", f"{target.written} does not exist")
    below = target.path.rstrip("/") + "/"
    for entry in rules.denied_paths:
        if entry.startswith(below):
            return _refuse(prepared, TOOL_STAGE, "denied_path", f"{target.written} holds {entry}, a denied path")
    for root in rules.roots:
        if root.path == target.path or root.path.startswith(below):
            return _refuse(prepared, TOOL_STAGE, "root.whole", f"{root.path} is a root of the file tools as a whole")
    for own in rules.places.own:
        if own == target.path or own.startswith(below):
            return _refuse(prepared, TOOL_STAGE, "path.own", f"{target.written} holds files of mtclaw itself")
    return None


def _vetted(prepared: Prepared, facts: Facts) -> bool:
    """Whether the metadata is a builtin's own and says everything that the call needs judged."""
    spec = prepared.spec
    if spec.source is not ToolSource.BUILTIN or spec.risk is Risk.EXEC:
        return False
    if spec.risk is Risk.WRITE_LOCAL and not any(target.write for target in facts.targets):
        return False
    return bool(spec.path_args) or spec.target_arg is not None


def _known_page(prepared: Prepared, facts: Facts) -> bool:
    """Whether the owner listed the host, or a person named this very address in this turn."""
    url = prepared.call.arguments.get(prepared.spec.target_arg or "")
    if not isinstance(url, str):
        return False
    return url in facts.named_urls or host_of(url) in prepared.rules.hosts


# --- shapes


def _refuse(prepared: Prepared, stage: Stage, rule: str, reason: str) -> Decision:
    return Decision(Verdict.REFUSE, stage, rule, reason, prepared.commands)


def _ask(prepared: Prepared, stage: Stage, reason: str, rule: str | None = None) -> Decision:
    return Decision(Verdict.ASK, stage, rule, reason, prepared.commands)


def _sentence(better: str | None) -> str:
    if not better:
        return ""
    text = better[0].upper() + better[1:]
    return text if text.endswith(".") else f"{text}."
