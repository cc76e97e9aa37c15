"""The words of a cut-off notice: what a crash interrupted or left unsaid, who had allowed it, what is still open.

A notice names its event by number. Nobody has to guess it: whoever may press a button in this chat may see its record
and ask for the command anyway, and asking again is a request like any other.
"""

from collections.abc import Callable, Sequence

from mtbot.domain.again import KeptState, Standing
from mtbot.domain.call import Stage
from mtbot.domain.ids import ChatId, SafeText
from mtbot.domain.ports import Clock, Masker
from mtbot.domain.record import Approval, AuditEvent, Card, CardKind, Choice, ChoiceAction, EventKind, Via
from mtbot.domain.turn import Actor, ActorKind, Address, Message, Role, SurfaceName
from mtbot.policy.people import People
from mtbot.redaction.display import display

MARK = "#"
"""What the token of a notice begins with; tokens of questions never hold it."""

UNKNOWN = "Cut off: I am back. This was running; how it ended is unknown, and I have not run it again:"
ENDED = "Cut off: I am back. This had ended when I was cut off, but I had not answered yet. I have not run it again:"

_CHOICES = (
    ("Show", ChoiceAction.SHOW),
    ("Ask to run it again", ChoiceAction.ASK_AGAIN),
    ("Dismiss", ChoiceAction.DISMISS),
)


class CutOffCards:
    """Makes the notices and what their buttons say."""

    def __init__(self, clock: Clock, masker: Masker, people: Callable[[], People]) -> None:
        self._clock = clock
        self._masker = masker
        self._people = people

    def place(self, address: Address, event: AuditEvent) -> Address | None:
        """Where a notice about a call at ``address`` goes: there; for a job the owner's chat; a terminal is gone."""
        if address.surface is SurfaceName.TERMINAL:
            return None
        if address.surface is not SurfaceName.CRON:
            return address
        owner = self._people().owner
        private = None if owner is None else Address(SurfaceName.PRIVATE, event.draft.bot, ChatId(int(owner)))
        return private if event.draft.bot else None

    def notice(
        self, started: AuditEvent, end: AuditEvent | None, ran: Sequence[str] = (), still_open: Sequence[Approval] = ()
    ) -> Card:
        """The notice of a call that was ``started``; ``end`` is how it ended, if that is known."""
        lines = [self._how(started, end)]
        if ran:
            lines.append(f"Before that ran by rule: {', '.join(ran)}")
        for approval in still_open:
            until = self._clock.clock_text(approval.expires_ms)
            lines.append(f"Still open from before: #{approval.id} (until {until}). Its buttons work.")
        repeatable = str(started.draft.session).startswith("telegram:")
        choices = tuple(
            Choice(label, action, f"{MARK}{started.seq}")
            for label, action in _CHOICES
            if repeatable or action is not ChoiceAction.ASK_AGAIN
        )
        return Card(
            CardKind.NOTICE,
            self._masker.mask(UNKNOWN if end is None else ENDED),
            self._masker.mask(display(self._subject(started))),
            tuple(map(self._line, lines)),
            choices,
        )

    def closed(self, started: AuditEvent, end: AuditEvent | None, what: str, by: Actor) -> Card:
        """The notice after somebody has dealt with it: ``Dismissed``, ``Asked to run it again``."""
        said = f"{what} by {self._people().name(by)} {self._clock.clock_text(self._clock.now_ms())}"
        return self.notice(started, end).closed(self._line(self._how(started, end)), self._line(said))

    def note(self, started: AuditEvent, end: AuditEvent | None, ran: Sequence[str] = ()) -> tuple[Message, ...]:
        """What the model finds in the history in place of the turn that was cut."""
        how = f"started {self._clock.clock_text(started.draft.at_ms)}" if end is None else self._how(started, end)
        before = f"\nBefore that ran by rule: {', '.join(ran)}" if ran else ""
        said = (
            f"{UNKNOWN if end is None else ENDED}\n{self._subject(started)}\n"
            f"({how}; do not run it again unless the person asks for it){before}"
        )
        return (
            Message(Role.USER, "(A message of mine was being worked on when the process of the bot ended.)"),
            Message(Role.ASSISTANT, str(self._masker.mask(said))),
        )

    def story(self, events: Sequence[AuditEvent]) -> SafeText:
        """Everything on record about the call, a line an event; its output is gone with its process."""
        lines = ["On record about it:"]
        for event in events:
            draft = event.draft
            parts = [
                f"{self._clock.clock_text(draft.at_ms)} {draft.kind.value.replace('_', ' ')}",
                draft.word.value,
                draft.rule,
                f"by {self._who(draft.decider)}" if draft.decider else "",
                draft.reason,
                "" if draft.exit_code is None else f"exit {draft.exit_code}",
            ]
            lines.append(f"- {display(' · '.join(part for part in parts if part))}")
        lines.append("Its output was not kept.")
        return self._masker.mask("\n".join(lines))

    def dealt_with(self, standing: Standing) -> str:
        """What a late presser is told; empty while nobody has dealt with it."""
        said = {
            KeptState.KEPT: "",
            KeptState.ASKED: f"{self._who(standing.by)} asked for it again",
            KeptState.DISMISSED: f"{self._who(standing.by)} dismissed it",
            KeptState.CLEARED: "This conversation was begun anew since, so that call is gone.",
        }[standing.state]
        dated = standing.state in (KeptState.ASKED, KeptState.DISMISSED)
        return f"{said} {self._clock.clock_text(standing.at_ms)}." if dated else said

    def again(self, started: AuditEvent) -> str:
        """What the model is told when a person wants a call once more that is not kept."""
        masked = " Some values in it are masked here; use the real ones." if "‹" in started.draft.command else ""
        return (
            f"(The call below was cut off when the process of the bot ended. I ask for it again: propose exactly this "
            f"{started.draft.tool} call.{masked})\n{started.draft.command}"
        )

    def _how(self, started: AuditEvent, end: AuditEvent | None) -> str:
        draft = started.draft
        parts = []
        if draft.approval is not None:
            parts += [f"#{draft.approval}", f"approved by {self._who(draft.decider)}"]
        elif draft.stage == Stage.GRANT:
            parts += [f"by {draft.rule}", f"approved by {self._who(draft.decider)}"]
        elif draft.via is Via.CLASSIFIER:
            parts.append("passed by the classifier")
        else:
            parts.append(f"ran by rule {draft.rule}".rstrip())
        if draft.detail.startswith("job="):
            parts.append(f"background job {draft.detail.removeprefix('job=')}")
        parts.append(f"started {self._clock.clock_text(draft.at_ms)}")
        if end is not None:
            how = "failed" if end.draft.kind is EventKind.FAILED else end.draft.reason or "ended"
            parts.append(how if end.draft.exit_code is None else f"exit {end.draft.exit_code}")
        return " · ".join(parts)

    def _who(self, key: str) -> str:
        kind, _, number = key.partition(":")
        if kind not in (ActorKind.TELEGRAM, ActorKind.LOCAL) or not number.isdigit():
            return "mtclaw"
        return self._people().name(Actor(ActorKind(kind), int(number)))

    def _subject(self, event: AuditEvent) -> str:
        draft = event.draft
        return draft.command if draft.tool == "exec" else f"{draft.tool} {draft.command}"

    def _line(self, text: str) -> SafeText:
        return self._masker.mask(display(" ".join(text.splitlines())))
