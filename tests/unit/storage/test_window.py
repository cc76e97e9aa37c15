"""From stored entries to a history that every model accepts."""

from hypothesis import given
from hypothesis import strategies as st

from mtbot.domain.ids import CallId
from mtbot.domain.turn import Message, Role, ToolCall
from mtbot.storage.window import NO_RESULT, NOT_SHOWN, Entry, mend, weight, window

BIG = 256 * 1024


def user(words: str = "hi") -> Message:
    """What a person said."""
    return Message(Role.USER, words)


def says(words: str, *names: str) -> Message:
    """What the model said, with calls of those ids."""
    return Message(Role.ASSISTANT, words, tuple(ToolCall(CallId(name), "exec", "{}") for name in names))


def result(name: str, words: str = "ok") -> Message:
    """What a tool answered."""
    return Message(Role.TOOL, words, call_id=CallId(name), tool_name="exec")


def turns(*groups: tuple[Message, ...]) -> list[Entry]:
    """Entries of turns t0, t1 ..."""
    return [(f"t{number}", message) for number, group in enumerate(groups) for message in group]


def well_formed(messages: tuple[Message, ...]) -> bool:
    """Whether every call has its answer right behind it, in order, and no answer is without its call."""
    open_ids: list[CallId | None] = []
    for message in messages:
        if message.role is Role.TOOL:
            if not open_ids or message.call_id != open_ids.pop(0):
                return False
            continue
        if open_ids:
            return False
        open_ids = [call.id for call in message.calls]
    return not open_ids


class TestMend:
    """Pairs, by position, both ways."""

    def test_what_is_whole_stays_as_it_is(self) -> None:
        """Nothing is changed without need."""
        whole = (user(), says("", "a", "b"), result("a"), result("b"), says("done"))
        assert mend(whole) == whole

    def test_a_call_without_answer_is_answered(self) -> None:
        """At the end, in the middle, and before a person speaks again."""
        assert mend((says("", "a"),)) == (says("", "a"), result("a", NO_RESULT))
        assert mend((says("", "a", "b"), result("b"))) == (says("", "a", "b"), result("a", NO_RESULT), result("b"))
        assert mend((says("", "a"), user())) == (says("", "a"), result("a", NO_RESULT), user())

    def test_an_answer_without_call_is_left_out(self) -> None:
        """At the beginning, too many of them, behind a person, and for another call."""
        assert mend((result("a"), user())) == (user(),)
        assert mend((says("", "a"), result("a"), result("a", "twice"))) == (says("", "a"), result("a"))
        assert mend((user(), result("a"), says("x"))) == (user(), says("x"))
        assert mend((says("", "a"), result("z"))) == (says("", "a"), result("a", NO_RESULT))

    def test_an_id_that_a_provider_used_before_is_answered_by_position(self) -> None:
        """The result of an earlier call of that name is not taken for the later one."""
        entries = (says("", "a"), result("a", "first"), says("", "a"), user())
        assert mend(entries) == (says("", "a"), result("a", "first"), says("", "a"), result("a", NO_RESULT), user())

    def test_two_calls_with_one_id_get_their_answers_in_order(self) -> None:
        """Some providers number nothing."""
        entries = (says("", "", ""), result("", "one"), result("", "two"))
        assert mend(entries) == entries

    def test_answers_in_another_order_are_put_in_order(self) -> None:
        """Tools that ran side by side ended as they liked."""
        assert mend((says("", "a", "b"), result("b"), result("a"))) == (says("", "a", "b"), result("a"), result("b"))

    def test_a_model_that_said_nothing_is_left_out(self) -> None:
        """Some models refuse an empty entry."""
        assert mend((user(), says(""), user("x"))) == (user(), user("x"))

    def test_only_a_model_calls(self) -> None:
        """Calls in a person's entry are somebody's edit."""
        odd = Message(Role.USER, "hi", (ToolCall(CallId("a"), "exec", "{}"),))
        assert mend((odd,)) == (user("hi"),)


class TestWindow:
    """Whole turns, within limits, from a person on."""

    def test_the_newest_turns_are_kept(self) -> None:
        """As many as allowed, oldest first."""
        entries = turns(*((user(f"q{n}"), says(f"a{n}")) for n in range(4)))
        assert window(entries, 2, BIG) == (user("q2"), says("a2"), user("q3"), says("a3"))
        assert window(entries, 9, BIG) == tuple(message for _, message in entries)
        assert window([], 2, BIG) == ()

    def test_bytes_are_counted_as_bytes_with_arguments(self) -> None:
        """Of content and of calls."""
        assert weight((user("é"), Message(Role.ASSISTANT, "", (ToolCall(CallId("a"), "exec", '{"é"}'),)))) == 2 + 6

    def test_a_turn_that_does_not_fit_is_left_out_whole(self) -> None:
        """Exactly the limit fits."""
        entries = turns((user("12345"), says("67890")), (user("abc"), says("de")))
        assert window(entries, 9, 15) == (user("12345"), says("67890"), user("abc"), says("de"))
        assert window(entries, 9, 14) == (user("abc"), says("de"))

    def test_the_newest_turn_loses_long_results_before_it_is_lost(self) -> None:
        """Its oldest results first, and only as many as needed."""
        long, other = result("a", "x" * 500), result("b", "y" * 500)
        entries = turns((user("old"),), (user("q"), says("", "a", "b"), long, other, says("z")))
        kept = window(entries, 9, 600)
        assert kept == (user("old"), user("q"), says("", "a", "b"), result("a", NOT_SHOWN), other, says("z"))

    def test_a_newest_turn_that_cannot_fit_leaves_no_history(self) -> None:
        """Half a turn would mislead."""
        assert window(turns((user("old"),), (user("x" * 100), result("a", "short"))), 9, 50) == ()

    def test_a_history_begins_with_a_person(self) -> None:
        """What comes before the first one is cut, and what it leaves behind is mended."""
        entries = turns((says("", "a"), result("a"), user("late"), says("yes")), (user("q"),))
        assert window(entries, 9, BIG) == (user("late"), says("yes"), user("q"))
        assert window(turns((says("alone"),)), 9, BIG) == ()

    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["t1", "t2", "t3"]),
                st.builds(
                    Message,
                    st.sampled_from(list(Role)),
                    st.sampled_from(["", "words", "w" * 300]),
                    st.lists(
                        st.builds(
                            ToolCall, st.sampled_from([CallId("a"), CallId("b")]), st.just("exec"), st.just("{}")
                        ),
                        max_size=3,
                    ).map(tuple),
                    st.sampled_from([None, CallId("a"), CallId("b")]),
                ),
            ),
            max_size=25,
        ),
        st.integers(1, 4),
        st.integers(0, 2000),
    )
    def test_whatever_lies_in_the_database_the_history_is_well_formed(
        self, entries: list[Entry], count: int, size: int
    ) -> None:
        """Property: well formed, from a person on, within the size, and mending changes nothing more."""
        kept = window(entries, count, size)
        assert well_formed(kept)
        assert not kept or kept[0].role is Role.USER
        assert weight(kept) <= size
        assert mend(kept) == kept
