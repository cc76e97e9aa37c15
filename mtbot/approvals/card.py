"""One anatomy of a question for every surface: what, where, why, who asked, who decides, until when.

The words are stated here and nowhere else; channels only lay them out. A card's title and body stay for ever, an edit
changes only the lines below, so that the chat keeps what was decided.
"""

from dataclasses import dataclass

from mtbot.domain.call import Decision, Outcome, Status
from mtbot.domain.ids import ApprovalId, SafeText
from mtbot.domain.ports import Clock, Masker, Question
from mtbot.domain.record import Approval, ApprovalState, Card, CardKind, Choice, ChoiceAction, Ruling, Via

MAX_BODY = 2800
"""The longest command (UTF-16 units) that is shown in the message itself; the rest of the message needs room too."""

MAX_ATTACHED = 262_144
"""The longest command (UTF-16 units) that is sent as a file; longer ones are refused without asking."""

_TITLES = {
    "exec": "Run this on {host}?",
    "write_file": "Run this on {host}? Write a file",
    "read_file": "Run this on {host}? Read a file",
    "list_dir": "Run this on {host}? List a directory",
    "web_fetch": "Run this on {host}? Fetch a page",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where commands run: the host's short name and the user that the gateway runs as."""

    host: str
    user: str


def utf16(text: str) -> int:
    """The length of ``text`` in UTF-16 units, which is what Telegram counts."""
    return len(text) + sum(1 for char in text if ord(char) > 0xFFFF)


def too_long(display: str) -> bool:
    """Whether a command cannot be shown whole by any means and so must be refused unasked."""
    return utf16(display) > MAX_ATTACHED


class Cards:
    """Makes the cards of one host."""

    def __init__(self, place: Place, clock: Clock, masker: Masker) -> None:
        self._place = place
        self._clock = clock
        self._mask = masker.mask

    def question(
        self, asked: Question, approval: ApprovalId, token: str, expires_ms: int, names: tuple[str, str]
    ) -> Card:
        """The question itself; ``names`` are who asked and, unless everybody may, who decides (else "")."""
        title = _TITLES.get(asked.call.tool, "Run this on {host}? Tool " + asked.call.tool)
        if asked.elevates:
            title = "Needs root, so it can't be approved here."
        body, attachment = self._body(asked)
        choices = () if asked.elevates else (Choice("✅ Approve once", ChoiceAction.APPROVE, token),)
        return Card(
            CardKind.QUESTION,
            self._mask(f"{title.format(host=self._place.host)}  #{approval}"),
            body,
            tuple(self._lines(asked, approval, expires_ms, names)),
            (*choices, Choice("🚫 Deny", ChoiceAction.DENY, token)),
            attachment=attachment,
        )

    def _body(self, asked: Question) -> tuple[SafeText, SafeText | None]:
        if utf16(asked.display) <= MAX_BODY:
            return asked.display, None
        note = f"(too long for a message: the whole text is in the file {asked.digest[:12]}.txt, {len(asked.display)} characters)"
        return self._mask(note), asked.display

    def _lines(self, asked: Question, approval: ApprovalId, expires_ms: int, names: tuple[str, str]) -> list[SafeText]:
        who, deciders = names
        mask = self._mask
        lines = list(asked.detail)
        if asked.call.tool == "exec":
            contained = "not contained, network open" if asked.facts.profile == "host" else asked.facts.profile
            lines.append(mask(f"in {asked.call.cwd} · as {self._place.user} · {contained}"))
        lines.append(mask(f"Why I ask: {asked.why}"))
        if asked.masked:
            noun = "value is" if asked.masked == 1 else "values are"
            lines.append(mask(f"{asked.masked} secret {noun} masked above; what runs has the real one."))
        until = self._clock.clock_text(expires_ms)
        minutes = max(1, round((expires_ms - self._clock.now_ms()) / 60_000))
        if asked.elevates:
            lines.append(
                mask(f"To allow it, on {self._place.host}: `mtclaw approvals approve {approval}` · open until {until}")
            )
            return lines
        parts = [f"Asked by {who}", deciders, f"open until {until} ({minutes} min)"]
        parts.append("reply to this message to deny with a reason")
        lines.append(mask(" · ".join(part for part in parts if part)))
        return lines

    def refused(self, shown: SafeText, decision: Decision) -> Card:
        """What policy refused: the command, the rule, the better tool, and what on the host would change it."""
        lines = [f"Rule {decision.rule}: {decision.reason}." if decision.rule else f"{decision.reason}."]
        if decision.hardline:
            lines.append("Nobody can approve this, here or anywhere.")
        elif decision.permit_hint:
            lines.append("Nobody can approve this in the chat.")
            lines.append(f"(Owner, on {self._place.host}: `{decision.permit_hint}` turns it into a question.)")
        return Card(
            CardKind.NOTICE, self._mask("⛔ Not run:"), shown, tuple(self._mask(line) for line in lines), silent=True
        )

    def ruled(self, approval: Approval, ruling: Ruling, decider: str) -> Card:
        """The question after a ruling: how it was decided in place of the lines."""
        at = self._clock.clock_text(ruling.at_ms)
        if ruling.state is ApprovalState.APPROVED:
            return approval.card.closed(self._mask(f"✅ Approved once by {decider} {at}"))
        if ruling.state is ApprovalState.DENIED:
            said = f': "{ruling.reason}"' if ruling.reason else ""
            word = "⏹ Stopped" if ruling.via is Via.STOP else "🚫 Denied"
            return approval.card.closed(self._mask(f"{word} by {decider} {at}{said}"))
        if ruling.state is ApprovalState.REVOKED:
            return approval.card.closed(self._mask(f"🚫 Denied: revoked by {decider} {at}, nothing ran"))
        again = (Choice("Ask again", ChoiceAction.ASK_AGAIN, approval.token),)
        return approval.card.closed(self._mask(f"Expired {at}, nothing ran."), choices=again)

    def ended(self, approval: Approval, decider: str, outcome: Outcome) -> Card:
        """The question after its call ended: who approved and how it went."""
        at = self._clock.clock_text(approval.ruling.at_ms) if approval.ruling else ""
        return approval.card.closed(self._mask(f"✅ Approved once by {decider} {at} · {ending(outcome)}"))


def ending(outcome: Outcome) -> str:
    """How a call ended, in a few words: ``exit 0 · 41 s · 38 lines``."""
    seconds = outcome.duration_ms / 1000
    took = f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    how = {
        Status.OK: f"exit {outcome.exit_code}" if outcome.exit_code is not None else "done",
        Status.FAILED: f"exit {outcome.exit_code}" if outcome.exit_code is not None else "failed",
        Status.REFUSED: "not run",
        Status.TIMED_OUT: "timed out",
        Status.STOPPED: "stopped",
    }[outcome.status]
    if outcome.status is Status.REFUSED:
        return how
    lines = f"{outcome.lines} line" + ("" if outcome.lines == 1 else "s")
    return " · ".join((how, took, lines) if outcome.lines else (how, took))
