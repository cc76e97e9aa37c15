"""What the model is told instead of a result: refusals, denials, lapses and mishaps, in words that end the attempt.

A refusal names the rule and the better tool. It never says how the rule could be changed: that is for people only.
"""

from mtbot.domain.call import Decision
from mtbot.domain.record import ApprovalState, Ruling, Via
from mtbot.domain.span import span_text
from mtbot.policy import elevation

REFUSED = "Refused by policy"
NOT_RUN = "Not run"
DENIED = f"{NOT_RUN}: the person denied it"
NO_SUCH_TOOL = "There is no tool"
NOTHING_RUN = "Nothing was run"
INVALID = "[Invalid]"

_END = "Do not try to reach the same end by other means; say to the person what was not done."

MAX_NAME = 64
"""Characters of a tool's name that are repeated to the model; a mangled one can be a page long."""


def came_to_nothing(answer: str) -> bool:
    """Whether a tool's answer is one of these, so that the call did nothing."""
    return answer.startswith((REFUSED, NOT_RUN, NO_SUCH_TOOL, NOTHING_RUN, INVALID))


def was_denied(answer: str) -> bool:
    """Whether a tool's answer says that a person turned the call down."""
    return answer.startswith(DENIED)


def _bare(reason: str) -> str:
    return reason.rstrip(".")


def refused(decision: Decision) -> str:
    """A call that policy refused."""
    rule = f" (rule {decision.rule})" if decision.rule else ""
    if decision.rule == elevation.FORM:
        return f"{REFUSED} (rule {decision.rule}): {_bare(decision.reason)}. Write it as {elevation.RIGHT_FORM}; a person decides."
    better = f" Better: {decision.better}" if decision.better else ""
    return f"{REFUSED}{rule}: {_bare(decision.reason)}. This cannot be approved or rephrased.{better} {_END}"


def nobody_to_ask(decision: Decision) -> str:
    """A call that needs a person where there is none."""
    return f"{NOT_RUN}: this needs a person's approval ({_bare(decision.reason)}) and nobody can be asked here. {_END}"


def cannot_ask(why: str) -> str:
    """The question could not be put."""
    return f"{NOT_RUN}: the person could not be asked ({why}). {_END}"


def ruled_out(ruling: Ruling) -> str:
    """A call whose question was answered with no, lapsed, or was withdrawn; a person's words come through as they are."""
    if ruling.state is ApprovalState.DENIED:
        if ruling.via is Via.STOP:
            return f"{NOT_RUN}: the person stopped this turn."
        said = f' They said: "{ruling.reason}"' if ruling.reason else ""
        return f"{DENIED}.{said} {_END}"
    if ruling.state is ApprovalState.REVOKED:
        return f"{NOT_RUN}: the approval was revoked. {_END}"
    return f"{NOT_RUN}: nobody answered in time, so the request expired. {_END}"


def changed(what: str) -> str:
    """What was approved is not what would run now."""
    return f"{NOT_RUN}: {what} changed between the question and the approval. Propose the call again if it is still wanted."


def unknown_tool(name: str, known: tuple[str, ...]) -> str:
    """A tool that does not exist or is switched off."""
    return f"{NO_SUCH_TOOL} {name[:MAX_NAME]!r} here, or it is switched off. Tools: {', '.join(known) or 'none'}."


def bad_arguments(tool: str, reason: str) -> str:
    """Arguments that cannot be used."""
    return f"{NOTHING_RUN}: {tool}: {reason}."


def holds_mask(tool: str) -> str:
    """Arguments with a mask in them: what it hides is not known to the model and would be lost."""
    return (
        f"{INVALID} {NOTHING_RUN}: {tool}: the arguments hold a mask in place of a secret, and the mask is not the secret. "
        "Leave that part as it is, or ask the person to do it."
    )


def no_job(why: str) -> str:
    """A job that cannot be started."""
    return f"{NOT_RUN}: {why}. {_END}"


def watcher(command: str, *, jobs: bool) -> str:
    """A command that would go on until its time-out ends it, and in which way it works."""
    ways = "bound it, for example with `timeout 20 COMMAND`, or use a form that ends by itself"
    if jobs:
        ways = f"call it with background: true, or {ways}"
    return f"{NOT_RUN}: `{command}` goes on until somebody ends it, so here it would only run into its time-out. To use it, {ways}."


def job_started(job: str, seconds: float) -> str:
    """A job that runs now."""
    return (
        f"Job {job} runs in the background now, and is ended after {span_text(seconds)}. Do not wait for it: the person is "
        f"told when it ends, and can watch it with /tail {job} and end it with /kill {job}."
    )


def no_record(why: str) -> str:
    """The record cannot be written, so nothing may run."""
    return f"{NOT_RUN}: the record cannot be written ({why}), and nothing runs without its record. Tell the person."
