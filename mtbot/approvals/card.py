"""One anatomy of a question for every surface: what, where, why, who asked, who decides, until when.

The words are stated here and nowhere else; channels only lay them out. A card's title and body stay for ever, an edit
changes only the lines below, so that the chat keeps what was decided.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from mtbot.domain.call import UNCONTAINED, Decision, Outcome, Status
from mtbot.domain.ids import ApprovalId, SafeText
from mtbot.domain.ports import Clock, Masker, Question
from mtbot.domain.process import CONTAINED, HOST
from mtbot.domain.record import Approval, ApprovalState, Card, CardKind, Choice, ChoiceAction, Offer, Ruling, Via
from mtbot.domain.turn import surface
from mtbot.redaction.display import display

MAX_MESSAGE = 4000
"""Title, body and lines together (UTF-16 units): Telegram takes 4096, and a card must never be split."""

MAX_BODY = 2800
"""The longest command (UTF-16 units) that is shown in the message itself; the rest of the message needs room too."""

MAX_ATTACHED = 262_144
"""The longest command (UTF-16 units) that is sent as a file; longer ones are refused without asking."""

MAX_LINE = 400
"""Characters of one line; the command itself is never a line, so nothing that runs is cut."""

MAX_NAME = 80
"""Characters of a name, and half of those of a list of names or a directory: what follows on the line must be seen."""

MAX_SHOWN = 200
"""Characters of a line of a status message, which is only looked at."""

MAX_DETAIL = 1200
"""UTF-16 units of all lines about what is in a command."""

MAX_REASON = 500
"""Characters of a person's reason below a question; the record and the model get it whole."""

_TITLES = {
    "exec": "Run this on {host}?",
    "write_file": "Run this on {host}? Write a file",
    "edit_file": "Run this on {host}? Change a file",
    "trash": "Move to trash on {host}?",
    "read_file": "Run this on {host}? Read a file",
    "send_file": "Run this on {host}? Send a file to this chat",
    "search": "Run this on {host}? Search files",
    "list_dir": "Run this on {host}? List a directory",
    "web_fetch": "Run this on {host}? Fetch a page",
}


_DONE = {"trash": "moved"}
"""What a tool did, in one word, where there is a better one than that it is done."""

DAY_MS = 86_400_000


_WHERE = {
    HOST: "not contained, network open",
    CONTAINED: "contained, network closed",
    UNCONTAINED: "NOT CONTAINED, network open",
}
"""What an approved command could reach, by its profile."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where commands run: the host's short name and the user that the gateway runs as; ``runs_as``: another for commands."""

    host: str
    user: str
    runs_as: str = ""


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
        self._masker = masker

    def masked(self, words: str) -> SafeText:
        """A person's own words, fit to be written down."""
        return self._masker.mask(words)

    def question(
        self, asked: Question, approval: ApprovalId, token: str, expires_ms: int, names: tuple[str, str]
    ) -> Card:
        """The question itself; ``names`` are who asked and, unless everybody may, who decides (else "")."""
        at_host = not asked.elevates or surface(asked.call.address.surface).may_elevate
        title = _TITLES.get(asked.call.tool, f"Run this on {{host}}? Tool {asked.call.tool}")
        if not at_host:
            title = "Needs root and can't be approved here."
        headed = self._line(f"{title.replace('{host}', self._place.host)}  #{approval}")
        lines = tuple(self._lines(asked, approval, expires_ms, names, at_host=at_host))
        body, attachment = self._body(asked, MAX_MESSAGE - utf16("\n".join((headed, *lines))) - 2)
        approve = (Choice("✅ Approve once", ChoiceAction.APPROVE, token),) if at_host else ()
        lasting = () if asked.offer is None else (lasting_choice(asked.offer, token),)
        return Card(
            CardKind.QUESTION,
            headed,
            body,
            lines,
            (*approve, *lasting, Choice("🚫 Deny", ChoiceAction.DENY, token)),
            attachment=attachment,
        )

    def _body(self, asked: Question, room: int) -> tuple[SafeText, SafeText | None]:
        """The whole command, or the name of the file that holds it; the file is named by its own SHA-256."""
        if utf16(asked.display) <= min(MAX_BODY, room):
            return asked.display, None
        digest = hashlib.sha256(asked.display.encode("utf-8", "replace")).hexdigest()
        size = f"{len(asked.display)} characters, SHA-256 {digest}"
        note = f"(too long for a message: the whole text is in the file {digest[:12]}.txt, {size})"
        return self._masker.mask(note), asked.display

    def _lines(
        self, asked: Question, approval: ApprovalId, expires_ms: int, names: tuple[str, str], *, at_host: bool
    ) -> list[SafeText]:
        who, deciders = _cut(_seen(names[0]), MAX_NAME), _cut(_seen(names[1]), 2 * MAX_NAME)
        lines = self._details(asked.detail)
        if asked.call.tool == "exec":
            contained = _WHERE.get(asked.facts.profile, asked.facts.profile)
            user = self._place.runs_as or self._place.user
            lines.append(self._line(f"in {_cut(_seen(asked.call.cwd), 2 * MAX_NAME)} · as {user} · {contained}"))
        else:
            lines.append(self._line(f"as {self._place.user}"))
        if asked.kept_days:
            day = self._clock.day_text(self._clock.now_ms() + asked.kept_days * DAY_MS)
            lines.append(self._line(f"Can be restored until {day}."))
        lines.append(self._line(f"Why I ask: {asked.why.rstrip('.')}."))
        if asked.masked:
            noun = "value is" if asked.masked == 1 else "values are"
            lines.append(self._line(f"{asked.masked} secret {noun} masked above; what runs has the real one."))
        until = self._clock.clock_text(expires_ms)
        if not at_host:
            lines.append(self._line(f"Asked by {who}"))
            command = f"`mtclaw approvals run {approval}`"
            lines.append(self._line(f"To allow it, on {self._place.host}: {command} · open until {until}"))
            return lines
        span = _span(expires_ms - self._clock.now_ms())
        parts = [f"Asked by {who}", deciders, f"open until {until} ({span})"]
        parts.append("reply to this message to deny with a reason")
        lines.append(self._line(" · ".join(part for part in parts if part)))
        return lines

    def _details(self, detail: tuple[SafeText, ...]) -> list[SafeText]:
        """What is in the command, as far as there is room; how many lines are left out is said."""
        lines: list[SafeText] = []
        used = 0
        for number, text in enumerate(detail):
            line = self._line(text)
            used += utf16(line) + 1
            if used > MAX_DETAIL:
                lines.append(self._line(f"({len(detail) - number} more lines of this kind are not shown)"))
                break
            lines.append(line)
        return lines

    def refused(self, shown: SafeText, decision: Decision) -> Card:
        """What policy refused: the command, the rule, and what on the host would change it."""
        rule = f"Rule {decision.rule}: " if decision.rule else ""
        says = f"{rule}{_seen(decision.reason).rstrip('.')}."
        lines = []
        if decision.hardline:
            lines.append(f"{says} Nobody can approve this, here or anywhere.")
        else:
            lines.append(f"{says} Nobody can approve this in the chat.")
        if decision.permit_hint and not decision.hardline:
            lines.append(f"(Owner, on {self._place.host}: `{decision.permit_hint}` turns it into a question.)")
        return Card(
            CardKind.NOTICE,
            self._line(f"⛔ Not run: {shown}"),
            self._masker.mask(""),
            tuple(self._line(line) for line in lines),
            silent=True,
        )

    def ruled(self, approval: Approval, ruling: Ruling, decider: str) -> Card:
        """The question after a ruling: how it was decided in place of the lines."""
        at, decider = self._clock.clock_text(ruling.at_ms), _cut(_seen(decider), MAX_NAME)
        if ruling.state is ApprovalState.APPROVED:
            said = f"✅ Approved {_for_how_long(ruling)} by {decider} {at}"
            return approval.card.closed(self._line(said), *self._lasting(ruling))
        if ruling.state is ApprovalState.DENIED:
            said = f': "{_cut(_seen(self._masker.mask(ruling.reason)), MAX_REASON)}"' if ruling.reason else ""
            word = "⏹ Stopped" if ruling.via is Via.STOP else "🚫 Denied"
            return approval.card.closed(self._masker.mask(f"{word} by {decider} {at}{said}"))
        if ruling.state is ApprovalState.REVOKED:
            word = "⏹ Stopped" if ruling.via is Via.STOP else "🚫 Denied: revoked"
            return approval.card.closed(self._line(f"{word} by {decider} {at}, nothing ran"))
        # a job asks again when it runs again
        attended = surface(approval.address.surface).attended
        again = (Choice("Ask again", ChoiceAction.ASK_AGAIN, approval.token),) if attended else ()
        return approval.card.closed(self._line(f"Expired {at}, nothing ran."), choices=again)

    def ended(self, approval: Approval, decider: str, outcome: Outcome) -> Card:
        """The question after its call ended: who approved, how it went, and a way back where there is one."""
        how = _DONE.get(approval.tool, "") if outcome.status is Status.OK else ""
        choices = (Choice("↩ Undo", ChoiceAction.UNDO, approval.token),) if outcome.undo else ()
        if outcome.whole:
            choices = (*choices, Choice("Whole output", ChoiceAction.OUTPUT, approval.token))
        said = self._approved(approval, decider, how or ending(outcome))
        return approval.card.closed(said, *self._lasting(approval.ruling), choices=choices)

    def running(self, approval: Approval, decider: str, seconds: float, wrote: str, stop: str) -> Card:
        """The question while its call runs: for how long, what it last ``wrote``, and a button if ``stop`` is a token."""
        minutes, rest = divmod(int(seconds), 60)
        how = f"running {minutes}:{rest:02}" + (f' · "{_cut(_seen(wrote), MAX_NAME)}"' if wrote else "")
        return approval.card.closed(self._approved(approval, decider, how), choices=_stop(stop))

    def working(self, what: str, seconds: float, wrote: Sequence[str], stop: str) -> Card:
        """A turn that is worked on: what is done, for how long, the last lines that it wrote."""
        title = self._line(f"⏳ {_cut(_seen(what), MAX_SHOWN)} · {_took(int(seconds) * 1000 or 1000)}")
        wrote = [_cut(_seen(line), MAX_SHOWN) for line in wrote]
        if len(wrote) == 1:
            quoted = (self._line(f'"{wrote[0]}"'),)
            return Card(CardKind.NOTICE, title, self._masker.mask(""), quoted, _stop(stop), silent=True)
        return Card(CardKind.NOTICE, title, self._masker.mask("\n".join(wrote)), (), _stop(stop), silent=True)

    def undone(self, approval: Approval, decider: str, by: str, at_ms: int) -> Card:
        """The question after ``by`` brought back what its call had taken away."""
        said = f"↩ Undone by {_cut(_seen(by), MAX_NAME)} {self._clock.clock_text(at_ms)}"
        how = _DONE.get(approval.tool, "done")
        return approval.card.closed(self._approved(approval, decider, how), self._line(said))

    def _approved(self, approval: Approval, decider: str, how: str) -> SafeText:
        at = self._clock.clock_text(approval.ruling.at_ms) if approval.ruling else ""
        how_long = _for_how_long(approval.ruling)
        return self._line(f"✅ Approved {how_long} by {_cut(_seen(decider), MAX_NAME)} {at} · {how}")

    def _lasting(self, ruling: Ruling | None) -> tuple[SafeText, ...]:
        """What a yes that lasts means from here on, and how it ends."""
        if ruling is None or not ruling.lasts_ms:
            return ()
        until = self._clock.clock_text(ruling.at_ms + ruling.lasts_ms)
        return (
            self._line(f"Until {until} exactly this runs here again unasked, for the same person · /grants ends it"),
        )

    def line(self, text: str) -> SafeText:
        """One line of a card: masked, at most MAX_LINE characters."""
        return self._line(text)

    def _line(self, text: str) -> SafeText:
        """One line: masked, at most MAX_LINE characters."""
        return self._masker.mask(_cut(" ".join(self._masker.mask(text).splitlines()), MAX_LINE))


def _stop(token: str) -> tuple[Choice, ...]:
    return (Choice("⏹ Stop", ChoiceAction.STOP, token),) if token else ()


def lasting_choice(offer: Offer, token: str) -> Choice:
    """The button that gives a yes for a while."""
    return Choice(f"✅ Approve for {_span(offer.ms)}", ChoiceAction.GRANT, token)


def _for_how_long(ruling: Ruling | None) -> str:
    return f"for {_span(ruling.lasts_ms)}" if ruling is not None and ruling.lasts_ms else "once"


def _seen(words: str) -> str:
    """Words that somebody else chose, with everything hidden made visible, on one line."""
    return display(" ".join(words.splitlines()))


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def ending(outcome: Outcome) -> str:
    """How a call ended, in a few words: ``exit 0 · 41 s · 38 lines``."""
    if outcome.job:
        return f"running as job {outcome.job}"
    if outcome.status is Status.REFUSED:
        return "not run"
    how = {
        Status.OK: "done",
        Status.FAILED: "failed",
        Status.TIMED_OUT: "timed out",
        Status.STOPPED: "stopped",
    }[outcome.status]
    if outcome.exit_code is not None and outcome.status in (Status.OK, Status.FAILED):
        how = f"exit {outcome.exit_code}"
    parts = [how, _took(outcome.duration_ms)]
    if outcome.lines:
        parts.append(f"{outcome.lines} line{'' if outcome.lines == 1 else 's'}")
    if outcome.survivors:
        parts.append(f"could not be ended: {_seen(', '.join(outcome.survivors))}")
    return " · ".join(parts)


def _took(milliseconds: int) -> str:
    """A duration in its largest units: ``0.3 s``, ``41 s``, ``2 min 5 s``."""
    if milliseconds < 1000:
        return f"{milliseconds / 1000:.1f} s"
    seconds = round(milliseconds / 1000)
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min {seconds % 60} s"


def _span(milliseconds: int) -> str:
    """How long a question is open: ``30 min``, ``12 h``, ``2 h 30 min``."""
    minutes = max(1, round(milliseconds / 60_000))
    hours, rest = divmod(minutes, 60)
    if minutes <= 120:
        return f"{minutes} min"
    return f"{hours} h {rest} min" if rest else f"{hours} h"
