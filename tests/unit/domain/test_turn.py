"""What comes in, what a turn is, and that a turn can be written down and read back."""

import json
from dataclasses import replace

import pytest

from mtbot.domain.ids import BotName, CallId, ChatId, Digest, SessionId, ThreadId, TurnId, UserId
from mtbot.domain.turn import (
    SURFACES,
    SYSTEM,
    Actor,
    ActorKind,
    Address,
    Message,
    Repeats,
    Role,
    SourceRef,
    SurfaceName,
    ToolCall,
    TurnState,
    Usage,
    surface,
)

CHIEF = Actor(ActorKind.TELEGRAM, 1001, "Chief")
GROUP = Address(SurfaceName.GROUP, BotName("ops"), ChatId(-100), ThreadId(7))
FIRST = ToolCall(CallId("a"), "exec", '{"command": "id"}')
SECOND = ToolCall(CallId("b"), "exec", "cut off \udcff{")
STATE = TurnState(
    id=TurnId("t1"),
    address=GROUP,
    requester=CHIEF,
    ref=SourceRef(5, 6),
    messages=(
        Message(Role.USER, "do it: ёж"),
        Message(Role.ASSISTANT, "", (FIRST, SECOND)),
        Message(Role.TOOL, "ok", call_id=CallId("a"), tool_name="exec"),
    ),
    open_calls=(SECOND,),
    step=3,
    spent=Usage(10, 2),
    tainted=True,
    ran=("id",),
    refused=("rm -rf x (files.rm-recursive)",),
    repeats=Repeats(7, Digest("d" * 64)),
)


def test_every_surface_says_what_may_be_asked_there() -> None:
    """Only the clock is unattended, and only the host's own terminal may talk of root."""
    assert {one.name: (one.attended, one.may_elevate, one.shows_cards) for one in SURFACES} == {
        SurfaceName.PRIVATE: (True, False, True),
        SurfaceName.GROUP: (True, False, True),
        SurfaceName.TERMINAL: (True, True, True),
        SurfaceName.CRON: (False, False, False),
    }


@pytest.mark.parametrize("name", list(SurfaceName))
def test_every_name_has_its_surface(name: SurfaceName) -> None:
    """The table has no gaps."""
    assert surface(name).name is name


@pytest.mark.parametrize(
    ("address", "session"),
    [
        (GROUP, "telegram:ops:-100:7"),
        (Address(SurfaceName.PRIVATE, BotName("ops"), ChatId(1001)), "telegram:ops:1001:0"),
        (Address(SurfaceName.TERMINAL, BotName(""), ChatId(0), label="local"), "cli:local"),
        (Address(SurfaceName.CRON, BotName("ops"), ChatId(0), label="job:nightly"), "cron:job:nightly"),
    ],
)
def test_a_place_is_one_session(address: Address, session: str) -> None:
    """Bot, chat and topic on Telegram; the label elsewhere."""
    assert address.session == SessionId(session)


def test_an_actor_is_known_by_kind_and_number() -> None:
    """A uid is no Telegram id, even when the numbers are equal."""
    assert (CHIEF.key, CHIEF.user) == ("telegram:1001", UserId(1001))
    host = Actor(ActorKind.LOCAL, 1001)
    assert (host.key, host.user) == ("local:1001", None)
    assert (SYSTEM.key, SYSTEM.user) == ("system:0", None)


def test_tokens_add_up() -> None:
    """Each kind by itself."""
    assert Usage(1, 2) + Usage(10, 20) == Usage(11, 22)


class TestMessages:
    """Entries of the history."""

    @pytest.mark.parametrize("message", STATE.messages)
    def test_an_entry_is_read_back_unchanged(self, message: Message) -> None:
        """Also after a trip through JSON."""
        assert Message.from_dict(message.to_dict()) == message
        assert Message.from_dict(json.loads(json.dumps(message.to_dict()))) == message

    @pytest.mark.parametrize("calls", ["text", 5, None, {}])
    def test_calls_that_are_no_list_are_refused(self, calls: object) -> None:
        """A row that somebody wrote into."""
        with pytest.raises(TypeError, match="calls is not a list"):
            Message.from_dict({**STATE.messages[0].to_dict(), "calls": calls})

    def test_an_unknown_role_is_refused(self) -> None:
        """Nobody else speaks."""
        with pytest.raises(ValueError, match="developer"):
            Message.from_dict({**STATE.messages[0].to_dict(), "role": "developer"})


class TestStates:
    """A turn between two steps."""

    def test_it_belongs_to_the_session_of_its_place(self) -> None:
        """Always."""
        assert STATE.session == GROUP.session

    def test_what_is_said_is_added_at_the_end(self) -> None:
        """And nothing else changes."""
        said = Message(Role.ASSISTANT, "Done.")
        assert STATE.say(said) == replace(STATE, messages=(*STATE.messages, said))
        assert STATE.say() == STATE

    def test_an_answer_is_for_the_first_open_call(self) -> None:
        """By its id and name; the others stay open in their order."""
        both = replace(STATE, open_calls=(FIRST, SECOND))
        entry = Message(Role.TOOL, "fine", call_id=CallId("a"), tool_name="exec")
        assert both.answer("fine") == replace(both, messages=(*both.messages, entry), open_calls=(SECOND,))

    def test_nothing_is_answered_where_nothing_is_open(self) -> None:
        """That would be a result without a call."""
        with pytest.raises(ValueError, match="not enough values"):
            replace(STATE, open_calls=()).answer("x")

    @pytest.mark.parametrize(
        "state",
        [
            STATE,
            replace(STATE, address=replace(GROUP, thread=None)),
            TurnState(
                TurnId("t2"), Address(SurfaceName.CRON, BotName(""), ChatId(0), label="j"), SYSTEM, SourceRef(), ()
            ),
        ],
    )
    def test_it_is_read_back_unchanged(self, state: TurnState) -> None:
        """Half characters, topics and empty places included; the text is plain ASCII."""
        text = state.to_json()
        assert text.isascii()
        assert TurnState.from_json(text) == state
        assert TurnState.from_json(text).to_json() == text

    @pytest.mark.parametrize(
        "text", ["", "[]", "{}", "null", '{"id": "t1"}', STATE.to_json().replace("group", "attic")]
    )
    def test_anything_else_is_refused(self, text: str) -> None:
        """By one of three errors, which the store turns into its own."""
        with pytest.raises((KeyError, TypeError, ValueError)):
            TurnState.from_json(text)
