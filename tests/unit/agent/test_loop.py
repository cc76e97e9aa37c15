"""Every end that a step can have, with a scripted model and a scripted gate."""

import asyncio
from collections.abc import Awaitable
from dataclasses import replace

import pytest

from mtbot.agent.circles import IDLE_CALLS
from mtbot.agent.context import ELIDED, Window
from mtbot.agent.loop import CUT, EMPTY, STOPPED, close_open_calls, sentence
from mtbot.domain.call import Outcome, Status
from mtbot.domain.errors import ProviderError, ProviderKind
from mtbot.domain.ids import ApprovalId, CallId
from mtbot.domain.model import Finish, ModelAnswer, ModelRequest
from mtbot.domain.record import Approval, ApprovalState, Via
from mtbot.domain.turn import (
    SYSTEM,
    Failed,
    Message,
    Parked,
    Reply,
    Role,
    TurnEnd,
)
from mtbot.gate.gate import CallStopped, Done, Waiting
from tests.unit.agent.scenes import (
    ASK,
    CRON,
    EXEC,
    MASK,
    TOKENS,
    begun,
    contents,
    done,
    parked_state,
    ruled,
    says,
    scene,
    turned_down,
    wants,
)


class TestAnswers:
    """A turn without calls."""

    async def test_an_answer_ends_the_turn(self) -> None:
        """It is the reply and the last entry; tokens and steps are counted."""
        here = scene(says("  It runs.\n"))
        history = (Message(Role.USER, "hi"), Message(Role.ASSISTANT, "hello"))
        end = await here.advance(begun(), history)
        state = begun().say(Message(Role.ASSISTANT, "It runs."))
        assert end == Reply(replace(state, step=1, spent=TOKENS), "It runs.")
        sent = (Message(Role.SYSTEM, "You are mtclaw."), *history, Message(Role.USER, "is jellyfin ok?"))
        assert here.model.asked == [ModelRequest("sim-1", sent, (EXEC,), 0.5)]

    @pytest.mark.parametrize(
        ("answer", "text"),
        [
            (says("", refusal="I can't help with that."), "The model declined: I can't help with that."),
            (says("half a", Finish.FILTERED), "The provider's content filter stopped the answer."),
            (says("half a", Finish.LENGTH), "half a\n\n(The answer was cut off at the model's length limit.)"),
            (says(" ", Finish.LENGTH), "The answer was cut off at the model's length limit before it said anything."),
        ],
    )
    async def test_an_odd_end_is_told_in_words(self, answer: ModelAnswer, text: str) -> None:
        """A refusal, a filter, a cut; nothing empty is stored."""
        end = await scene(answer).advance(begun())
        assert isinstance(end, Reply)
        assert end.text == text
        assert end.state.messages[-1] == Message(Role.ASSISTANT, text)

    async def test_an_empty_answer_is_asked_for_once_more(self) -> None:
        """Models say nothing now and then."""
        here = scene(says(" \n"), says("It runs."))
        end = await here.advance(begun())
        assert isinstance(end, Reply)
        assert (end.text, end.state.step, end.state.spent) == ("It runs.", 2, TOKENS + TOKENS)
        assert here.model.asked[0] == here.model.asked[1]

    @pytest.mark.parametrize("nothing", ["", " \n\t", "\u200b", "\u2800 \u3164", "\ufeff\u00ad\ufe0f"])
    async def test_silence_is_told_and_not_asked_for_ever(self, nothing: str) -> None:
        """Twice is enough; characters of which nobody sees anything are silence too."""
        here = scene(says(nothing), says(nothing))
        end = await here.advance(begun())
        assert isinstance(end, Reply)
        assert end.text == EMPTY
        assert len(here.model.asked) == 2


class TestCalls:
    """Each call goes through the gate, one after the other, once."""

    async def test_results_stand_with_their_calls_in_order(self) -> None:
        """Four calls with four different ends: none is lost, none is doubled."""
        here = scene(
            wants("a", "b", "c", "d", text="Let me look."),
            says("Done."),
            gate=[
                done("out a", shown="a"),
                turned_down("Refused by policy: no"),
                done("status: timed out", status=Status.TIMED_OUT, shown="c"),
                Done(Outcome(Status.REFUSED, MASK("There is no tool 'd' here."))),
            ],
        )
        end = await here.advance(begun())
        assert isinstance(end, Reply)
        assert here.gate.seen == ["a", "b", "c", "d"]
        results = ["out a", "Refused by policy: no", "status: timed out", "There is no tool 'd' here."]
        assert end.state.messages[1:] == (
            Message(Role.ASSISTANT, "Let me look.", wants("a", "b", "c", "d").calls),
            *(
                Message(Role.TOOL, text, call_id=CallId(f"m{number}"), tool_name="exec")
                for number, text in enumerate(results)
            ),
            Message(Role.ASSISTANT, "Done."),
        )
        assert end.state.open_calls == ()
        assert here.model.asked[1].messages[1:] == end.state.messages[:-1]

    async def test_what_ran_without_a_question_is_noted(self) -> None:
        """Also what failed or was stopped; nothing runs unseen."""
        here = scene(
            wants("a", "b", "c", "d"),
            says("Done."),
            gate=[
                done(shown="docker ps"),
                done(shown="sleep 9", status=Status.STOPPED),
                turned_down(),
                done(shown="asked for", asked=True),
            ],
        )
        end = await here.advance(begun())
        assert end.state.ran == ("docker ps", "sleep 9")
        assert end.state.refused == ()

    async def test_where_nobody_is_there_what_did_not_run_is_noted(self) -> None:
        """With the rule, or that there is none."""
        not_asked = done("Not run: nobody can be asked", ASK, status=Status.REFUSED, shown="certbot renew")
        here = scene(wants("a", "b"), says("Done."), gate=[not_asked, turned_down()])
        end = await here.advance(begun(CRON))
        assert end.state.refused == ("certbot renew (no rule)",)
        assert end.state.denied == ("rm -rf x (files.rm)",)
        assert end.state.ran == ()

    async def test_text_from_outside_taints_the_turn_for_good(self) -> None:
        """A later clean result does not wash it off."""
        here = scene(wants("a", "b"), says("Done."), gate=[done(tainted=True), done()])
        end = await here.advance(begun())
        assert end.state.tainted
        assert [state.tainted for state in here.kept] == [False, True, True]

    @pytest.mark.parametrize("finish", [Finish.LENGTH, Finish.FILTERED])
    async def test_calls_of_an_answer_that_was_cut_never_run(self, finish: Finish) -> None:
        """All of them are answered, and the model may send them again."""
        here = scene(wants("rm -rf /tmp/build", "id", finish=finish), says("Shorter then."))
        end = await here.advance(begun())
        assert isinstance(end, Reply)
        assert here.gate.seen == []
        assert contents(end.state)[2:4] == [(Role.TOOL, CUT), (Role.TOOL, CUT)]

    async def test_every_state_is_kept_before_the_next_thing_happens(self) -> None:
        """A turn that is cancelled at any moment has lost nothing."""
        here = scene(wants("a", "b"), says("Done."), gate=[done("out a"), done("out b")])
        await here.advance(begun())
        assert [(len(state.messages), len(state.open_calls)) for state in here.kept] == [(2, 2), (3, 1), (4, 0)]
        assert here.kept[0].spent == TOKENS

    async def test_a_call_that_needs_a_person_parks_the_turn(self) -> None:
        """What came before has run, what comes after stays open, and the model is not asked."""
        here = scene(wants("a", "b", "c"), gate=[done("out a"), Waiting(ApprovalId("K7QD"))])
        end = await here.advance(begun())
        assert isinstance(end, Parked)
        assert end.approval == "K7QD"
        assert [call.arguments for call in end.state.open_calls] == ["b", "c"]
        assert end.state == here.kept[-1]
        assert len(here.model.asked) == 1


class TestLimits:
    """A turn always comes to an end."""

    async def test_steps_are_limited(self) -> None:
        """And the person is asked whether to go on."""
        here = scene(*[wants("a")] * 3, gate=[done()] * 3, max_steps=3)
        end = await here.advance(begun())
        assert isinstance(end, Reply)
        assert end.text == "I stopped after 3 steps without coming to an end. Say if I should go on."
        assert end.state.messages[-1] == Message(Role.ASSISTANT, end.text)
        assert len(here.model.asked) == 3

    @pytest.mark.parametrize(
        "answer",
        [
            turned_down(),
            turned_down("Not run: nobody answered in time, so the request expired."),
            Done(Outcome(Status.REFUSED, MASK("There is no tool 'x' here, or it is switched off."))),
            Done(Outcome(Status.REFUSED, MASK("Nothing was run: exec: missing argument command."))),
        ],
    )
    async def test_a_model_that_goes_in_circles_is_stopped(self, answer: Done) -> None:
        """Five calls in a row that came to nothing."""
        here = scene(*[wants("a")] * IDLE_CALLS, gate=[answer] * IDLE_CALLS)
        end = await here.advance(begun())
        assert isinstance(end, Reply)
        assert end.text == "I stopped: nothing of what I tried could be run, again and again."
        assert end.state.messages[-1] == Message(Role.ASSISTANT, end.text)
        assert len(here.model.asked) == IDLE_CALLS

    async def test_calls_that_are_cut_again_and_again_are_stopped_too(self) -> None:
        """They cost as much as others."""
        end = await scene(*[wants("a", finish=Finish.LENGTH)] * IDLE_CALLS).advance(begun())
        assert isinstance(end, Reply)
        assert end.text.startswith("I stopped: nothing")

    async def test_one_call_that_runs_begins_the_count_anew(self) -> None:
        """It is about a row without a gap."""
        gate = [turned_down()] * (IDLE_CALLS - 1) + [done()] + [turned_down()] * (IDLE_CALLS - 1)
        here = scene(*(wants(f"a{number}") for number in range(len(gate))), says("Done."), gate=gate)
        end = await here.advance(begun())
        assert isinstance(end, Reply)
        assert end.text == "Done."


class TestFailures:
    """The model cannot answer."""

    @pytest.mark.parametrize("kind", list(ProviderKind))
    async def test_every_kind_has_its_sentence(self, kind: ProviderKind) -> None:
        """For a person: no status, no body, except what a refused request is about."""
        error = ProviderError(kind, "the provider's words", status=400, hint="a hint for the log")
        here = scene(error, error)
        end = await here.advance(begun())
        assert isinstance(end, Failed)
        assert (end.state, end.code, end.text) == (begun(), f"model.{kind.value}", sentence(error))
        assert ("the provider's words" in end.text) is (kind is ProviderKind.BAD_REQUEST)
        assert "400" not in end.text
        assert "hint" not in end.text
        assert len(here.model.asked) == (2 if kind is ProviderKind.CONTEXT else 1)

    async def test_what_had_run_before_is_not_lost(self) -> None:
        """Or the model would run it again next time."""
        here = scene(
            wants("git push"), ProviderError(ProviderKind.TRANSIENT, "x"), gate=[done("pushed", shown="git push")]
        )
        end = await here.advance(begun())
        assert isinstance(end, Failed)
        assert contents(end.state)[-1] == (Role.TOOL, "pushed")
        assert (end.state.ran, end.state.spent) == (("git push",), TOKENS)

    async def test_a_conversation_that_is_too_long_is_made_tighter_once(self) -> None:
        """The request, not the turn: results are left out of what is sent, and later ones are sent whole."""
        too_long = ProviderError(ProviderKind.CONTEXT, "x")
        results = [done("one " * 500), done("two " * 500), done("three " * 500)]
        here = scene(wants("a"), wants("b"), too_long, wants("c"), says("Done."), gate=results)
        end = await here.advance(begun())
        assert isinstance(end, Reply)
        sent = [
            [message.content for message in request.messages if message.role is Role.TOOL]
            for request in here.model.asked
        ]
        one, two, three = (str(result.outcome.text) for result in results)
        assert sent == [[], [one], [one, two], [ELIDED, two], [ELIDED, two, three]]
        assert [text for role, text in contents(end.state) if role is Role.TOOL] == [one, two, three]
        assert Window(40).tighter(5).turns == 4

    async def test_still_too_long_is_told(self) -> None:
        """Once tighter, and again too long later in the same turn: the person is told how to begin afresh."""
        too_long = ProviderError(ProviderKind.CONTEXT, "x")
        here = scene(too_long, wants("a"), too_long, gate=[done()])
        end = await here.advance(begun())
        assert isinstance(end, Failed)
        assert end.text == "This conversation has become too long for the model. /new starts a fresh one."
        assert len(here.model.asked) == 3


class TestResuming:
    """A turn that was parked goes on after its ruling."""

    async def test_after_a_yes_the_call_runs_and_the_rest_follows(self) -> None:
        """Each once; a person has seen the first one, so it is not named again."""
        here = scene(says("Done."), gate=[done("out a", asked=True), done("out b", shown="b")])
        end = await here.resume(parked_state("a", "b"), ruled(ApprovalState.APPROVED))
        assert isinstance(end, Reply)
        assert (here.gate.resumed, here.gate.seen) == ([("a", "K7QD")], ["b"])
        assert contents(end.state)[2:] == [(Role.TOOL, "out a"), (Role.TOOL, "out b"), (Role.ASSISTANT, "Done.")]
        assert (end.state.ran, end.state.step, end.state.spent) == (("b",), 2, TOKENS + TOKENS)

    async def test_after_a_no_the_model_hears_why(self) -> None:
        """And answers."""
        here = scene(
            says("Then not."), gate=[done('Not run: They said: "later"', None, status=Status.REFUSED, asked=True)]
        )
        end = await here.resume(parked_state("a"), ruled(ApprovalState.DENIED, Via.REPLY))
        assert isinstance(end, Reply)
        assert end.text == "Then not."
        assert here.model.asked[0].messages[-1].content == 'Not run: They said: "later"'

    @pytest.mark.parametrize(
        ("approval", "text", "entry"),
        [
            (ruled(ApprovalState.EXPIRED, Via.EXPIRY, SYSTEM), "#K7QD expired, nothing ran.", None),
            (ruled(ApprovalState.REVOKED, Via.CLI), "#K7QD was revoked, nothing ran.", None),
            (ruled(ApprovalState.DENIED, Via.STOP), "", "(stopped by the person)"),
        ],
    )
    async def test_where_nobody_wants_an_answer_the_model_is_not_asked(
        self, approval: Approval, text: str, entry: str | None
    ) -> None:
        """Lapsed, revoked or stopped: every open call is closed, and the history says how it ended."""
        here = scene(gate=[done("Not run.", None, status=Status.REFUSED, asked=True)])
        end = await here.resume(parked_state("a", "b"), approval)
        assert isinstance(end, Reply)
        assert end.text == text
        assert contents(end.state)[2:] == [
            (Role.TOOL, "Not run."),
            (Role.TOOL, STOPPED),
            (Role.ASSISTANT, entry or text),
        ]
        assert (here.model.asked, here.gate.seen) == ([], [])

    @pytest.mark.parametrize(
        ("state", "said"),
        [
            (ApprovalState.DENIED, "#K7QD was denied (later), nothing ran."),
            (ApprovalState.EXPIRED, "#K7QD expired, nothing ran."),
            (ApprovalState.REVOKED, "#K7QD was revoked, nothing ran."),
        ],
    )
    async def test_where_nobody_is_there_every_no_ends_the_turn_as_a_failure(
        self, state: ApprovalState, said: str
    ) -> None:
        """A job that was denied has not done what it was for, and the model is not asked for another way."""
        here = scene(gate=[done("Not run.", None, status=Status.REFUSED, asked=True)])
        approval = ruled(state, Via.REPLY)
        assert approval.ruling is not None
        approval = replace(approval, ruling=replace(approval.ruling, reason="later"))
        parked = replace(parked_state("a", "b"), address=CRON)
        end = await here.resume(parked, approval)
        assert isinstance(end, Failed)
        assert (end.code, end.text, end.state.open_calls) == (state.value, said, ())
        assert here.model.asked == []

    async def test_another_question_parks_it_again(self) -> None:
        """With the first call answered."""
        here = scene(gate=[done("out a", asked=True), Waiting(ApprovalId("M3XA"))])
        end = await here.resume(parked_state("a", "b"), ruled(ApprovalState.APPROVED))
        assert isinstance(end, Parked)
        assert end.approval == "M3XA"
        assert [call.arguments for call in end.state.open_calls] == ["b"]

    async def test_without_a_ruling_the_model_hears_what_the_gate_says(self) -> None:
        """A request that was opened anew meanwhile."""
        here = scene(says("Hm."), gate=[done("Not run.", None, status=Status.REFUSED, asked=True)])
        end = await here.resume(parked_state("a"), ruled(ApprovalState.PENDING))
        assert isinstance(end, Reply)
        assert end.text == "Hm."


class TestStopping:
    """A turn is cancelled in the middle."""

    @pytest.mark.parametrize("again", [False, True])
    async def test_a_tool_that_was_stopped_leaves_its_outcome(self, again: bool) -> None:
        """The call has its end, the others are closed, and the cancellation goes up."""
        stopped = CallStopped(Done(Outcome(Status.STOPPED, MASK("status: stopped\noutput:\n61 %"))))
        here = scene(wants("a", "b"), gate=[stopped])
        run: Awaitable[TurnEnd]
        run = here.resume(parked_state("a", "b"), ruled(ApprovalState.APPROVED)) if again else here.advance(begun())
        with pytest.raises(asyncio.CancelledError):
            await run
        last = here.kept[-1]
        assert contents(last)[2:] == [(Role.TOOL, "status: stopped\noutput:\n61 %"), (Role.TOOL, STOPPED)]
        assert last.open_calls == ()
        assert len(here.model.asked) == (0 if again else 1)

    async def test_a_model_that_is_being_asked_is_left(self) -> None:
        """What came before is kept."""
        asked: asyncio.Future[ModelAnswer] = asyncio.get_running_loop().create_future()
        here = scene(wants("a"), asked, gate=[done("out a")])
        task = asyncio.ensure_future(here.advance(begun()))
        while len(here.model.asked) < 2:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert contents(here.kept[-1])[-1] == (Role.TOOL, "out a")

    def test_closing_answers_every_open_call(self) -> None:
        """And leaves a turn without any as it is."""
        closed = close_open_calls(parked_state("a", "b"))
        assert contents(closed)[2:] == [(Role.TOOL, STOPPED)] * 2
        assert close_open_calls(closed) == closed
