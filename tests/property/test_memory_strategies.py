"""Whatever the session and the budget: nothing is parted, nothing that must stay is dropped."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc_ace.core.schemas.artifact import Artifact
from acc_ace.core.schemas.base import Tenant
from acc_ace.core.schemas.interaction import (
    GeneratorOutput,
    Interaction,
    ToolCall,
    ToolResult,
    TurnInput,
)
from acc_ace.errors import InputTooLargeError
from acc_ace.ext.strategies import Acc, Replay, Retrieval, Summarised, Window
from acc_ace.ext.strategies.memory import (
    CountedMessage,
    MemoryContext,
    MemoryInputs,
    Message,
    MessageRole,
    Summary,
)
from acc_ace.ext.strategies.memory_strategy import MemoryStrategy
from acc_ace.ext.strategies.summary import turns_to_summarise
from acc_ace.ext.strategies.transcript import estimate_message, messages_of
from tests.fakes.clock import START

STRATEGIES: list[MemoryStrategy] = [Acc(), Replay(), Window(), Summarised(), Retrieval()]
BOUNDED: list[MemoryStrategy] = [Window(), Summarised(), Retrieval()]
WORDS = st.text("ab 日本.", max_size=60)


IDS = st.sampled_from(["call_0", "call_1", "call_0-1-1", ""])
"""Ids as some models give them: the same ones in every reply, or in one reply many times."""


@st.composite
def _calls(draw: st.DrawFn, turn: int) -> tuple[list[ToolCall], list[ToolResult]]:
    """Up to three steps of up to three parallel calls; now and then one without a result.

    Parallel calls end in any order. A call and its result begin with the same words.
    """
    calls: list[ToolCall] = []
    results: list[ToolResult] = []
    repeats = draw(st.booleans())
    for step in range(draw(st.integers(0, 3))):
        ended = []
        for number in range(draw(st.integers(1, 3))):
            place = f"{turn}-{step}-{number}"
            call_id = draw(IDS) if repeats else place
            name = draw(st.sampled_from(["look", "count"]))
            args = {"q": f"{place} {draw(WORDS)}"}
            calls.append(ToolCall(id=call_id, name=name, args=args, step=step))
            if draw(st.integers(0, 9)):
                result = f"{place} {draw(WORDS)}"
                ended.append(ToolResult(tool_call_id=call_id, name=name, result=result))
        results += draw(st.permutations(ended))
    return calls, results


@st.composite
def sessions(draw: st.DrawFn) -> list[CountedMessage]:
    interactions = []
    for turn in range(1, draw(st.integers(0, 8)) + 1):
        calls, results = draw(_calls(turn))
        said, answer = draw(WORDS) or "x", draw(WORDS) or "y"
        interactions.append(_turn(turn, calls, results, said=said, answer=answer))
    return [counted(message) for message in messages_of(interactions)]


def _turn(
    number: int,
    calls: list[ToolCall],
    results: list[ToolResult],
    *,
    said: str = "x",
    answer: str = "y",
) -> Interaction:
    return Interaction(
        turn=number,
        invocation_id=f"i{number}",
        input=TurnInput(text=said),
        tool_calls=calls,
        tool_results=results,
        decision=GeneratorOutput(final_answer=answer),
        created_at=START + timedelta(seconds=number),
    )


def _place(call: ToolCall) -> str:
    place: str = call.args["q"].split()[0]
    return place


def _answer(call: ToolCall) -> ToolResult:
    return ToolResult(tool_call_id=call.id, name=call.name, result=call.args["q"])


def counted(message: Message) -> CountedMessage:
    return CountedMessage(message, estimate_message(message))


def single(role: MessageRole, text: str, *, name: str = "m") -> CountedMessage:
    return counted(Message(id=name, timestamp=START, role=role, content=text))


@st.composite
def given_inputs(draw: st.DrawFn) -> MemoryInputs:
    summary = Summary(content=draw(WORDS), through_turn=draw(st.integers(0, 8)), created_at=START)
    passages = [
        Artifact(
            artifact_id=f"turn:s:{number}",
            content=draw(WORDS),
            source="turn",
            created_at=START,
            tenant=Tenant("a", "u"),
            session="s",
        )
        for number in range(draw(st.integers(0, 4)))
    ]
    return MemoryInputs(
        system=single(MessageRole.SYSTEM, "You answer.", name="prompt"),
        incoming=single(MessageRole.USER, draw(WORDS) or "hm", name="incoming"),
        messages=draw(sessions()),
        summary=draw(st.sampled_from([None, summary])),
        recalled=passages,
        budget=draw(st.integers(1, 900)),
    )


def tried(strategy: MemoryStrategy, inputs: MemoryInputs) -> MemoryContext | None:
    try:
        return strategy.context(inputs)
    except InputTooLargeError:
        return None


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda item: type(item).__name__)
@given(inputs=given_inputs())
def test_system_prompt_comes_first_and_the_input_last(
    strategy: MemoryStrategy, inputs: MemoryInputs
) -> None:
    context = tried(strategy, inputs)
    if context is not None:
        assert context.messages[0] == inputs.system.message
        assert context.messages[-1] == inputs.incoming.message


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda item: type(item).__name__)
@given(inputs=given_inputs())
def test_no_context_is_over_its_budget(strategy: MemoryStrategy, inputs: MemoryInputs) -> None:
    context = tried(strategy, inputs)
    assert context is None or context.tokens <= inputs.budget


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda item: type(item).__name__)
@given(inputs=given_inputs())
def test_a_call_and_its_results_stand_together_or_not_at_all(
    strategy: MemoryStrategy, inputs: MemoryInputs
) -> None:
    context = tried(strategy, inputs)
    pending: set[str] = set()
    for message in context.messages if context else []:
        if message.role is MessageRole.TOOL:
            answered = {result.tool_call_id for result in message.tool_results}
            assert answered <= pending
            pending -= answered
        else:
            assert pending == set(), "a call was left without its result"
            pending = {call.id for call in message.tool_calls}
    assert pending == set()


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda item: type(item).__name__)
@given(inputs=given_inputs())
def test_no_call_is_shown_the_result_of_another(
    strategy: MemoryStrategy, inputs: MemoryInputs
) -> None:
    context = tried(strategy, inputs)
    asked: dict[str, ToolCall] = {}
    for message in context.messages if context else []:
        assert not asked.keys() & {call.id for call in message.tool_calls}, "an id comes again"
        asked |= {call.id: call for call in message.tool_calls}
        for result in message.tool_results:
            call = asked[result.tool_call_id]
            assert result.name == call.name
            assert result.result.split()[0] == call.args["q"].split()[0]


@given(calls=_calls(1), lost=st.booleans())
def test_calls_that_cannot_be_confused_are_never_left_out(
    calls: tuple[list[ToolCall], list[ToolResult]], lost: bool
) -> None:
    asked, answered = calls
    if not lost:
        answered = [_answer(call) for call in asked]
    places = {result.result.split()[0] for result in answered}
    shown = {
        result.result.split()[0]
        for message in messages_of([_turn(1, asked, answered)])
        for result in message.tool_results
    }
    ids = [call.id for call in asked]
    own = {_place(call) for call in asked if ids.count(call.id) == 1}
    assert own & places <= shown
    in_a_row = len({(call.id, call.name, call.step) for call in asked}) == len(asked)
    if in_a_row and len(places) == len(asked):
        assert shown == places


@pytest.mark.parametrize("strategy", BOUNDED, ids=lambda item: type(item).__name__)
@given(inputs=given_inputs())
def test_a_bounded_strategy_fails_only_when_prompt_and_input_alone_do_not_fit(
    strategy: MemoryStrategy, inputs: MemoryInputs
) -> None:
    alone = inputs.system.tokens + inputs.incoming.tokens
    assert (tried(strategy, inputs) is None) == (alone > inputs.budget)


@given(inputs=given_inputs())
def test_the_window_is_a_suffix_of_whole_turns_or_part_of_the_last(inputs: MemoryInputs) -> None:
    context = tried(Window(), inputs)
    if context is None:
        return
    kept = context.messages[1:-1]
    shown = sorted({message.turn for message in kept})
    all_turns = sorted({item.message.turn for item in inputs.messages})
    assert shown == all_turns[len(all_turns) - len(shown) :]
    if len(shown) > 1:
        for turn in shown:
            whole = [item.message for item in inputs.messages if item.message.turn == turn]
            assert [message for message in kept if message.turn == turn] == whole


@given(inputs=given_inputs())
def test_a_context_never_opens_with_a_result_or_a_call(inputs: MemoryInputs) -> None:
    context = tried(Window(), inputs)
    if context is not None:
        first = context.messages[1]
        assert first.role is not MessageRole.TOOL
        assert not first.tool_calls


@given(inputs=given_inputs())
def test_replay_drops_nothing(inputs: MemoryInputs) -> None:
    context = tried(Replay(), inputs)
    if context is not None:
        assert context.messages[1:-1] == [item.message for item in inputs.messages]
        assert context.dropped == 0


@given(inputs=given_inputs())
def test_what_a_summary_covers_is_not_told_twice(inputs: MemoryInputs) -> None:
    context = tried(Summarised(), inputs)
    if context is not None and inputs.summary is not None:
        turns = [message.turn for message in context.messages if message.turn]
        assert all(turn > inputs.summary.through_turn for turn in turns)


@given(messages=sessions(), budget=st.integers(1, 900), done=st.integers(0, 8))
def test_summarising_always_moves_on_and_keeps_the_last_turn(
    messages: list[CountedMessage], budget: int, done: int
) -> None:
    summary = Summary(content="x", through_turn=done, created_at=START)
    through = turns_to_summarise(messages, summary, budget=budget)
    if through is not None:
        assert done < through < messages[-1].message.turn


@given(inputs=given_inputs())
def test_strategies_are_pure(inputs: MemoryInputs) -> None:
    before = inputs.model_copy(deep=True)
    for strategy in STRATEGIES:
        assert tried(strategy, inputs) == tried(strategy, inputs)
    assert inputs == before
