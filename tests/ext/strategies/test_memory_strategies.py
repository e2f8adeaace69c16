"""Sliding window and summary: bounded, in order, and no call without its results."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc_ace.errors import InputTooLargeError, ModelUnavailable
from acc_ace.ext.strategies import estimated, sliding_window, summarised
from acc_ace.turn.transcript import messages_of
from schemas.generation import GeneratorOutput
from schemas.interaction import Interaction, ToolCall, ToolResult, TurnInput
from schemas.message import Message, MessageRole
from tests.fakes.clock import START

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
def sessions(draw: st.DrawFn) -> list[Message]:
    interactions = []
    for turn in range(1, draw(st.integers(0, 8)) + 1):
        calls, results = draw(_calls(turn))
        said, answer = draw(WORDS) or "x", draw(WORDS) or "y"
        interactions.append(_turn(turn, calls, results, said=said, answer=answer))
    prompt = Message(id="p", timestamp=START, role=MessageRole.SYSTEM, content="You answer.")
    return [prompt, *messages_of(interactions)]


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


BUDGETS = st.integers(1, 900)


def tokens(messages: Sequence[Message]) -> int:
    return sum(map(estimated, messages))


def last_exchange(messages: Sequence[Message]) -> list[Message]:
    starts = [at for at, item in enumerate(messages) if item.role is MessageRole.USER]
    return list(messages[starts[-1] :]) if starts else []


@given(sessions(), BUDGETS)
def test_a_window_is_the_newest_of_the_session_within_its_budget_or_says_that_none_fits(
    messages: list[Message], budget: int
) -> None:
    least = [messages[0], *last_exchange(messages)]
    if tokens(least) > budget:
        with pytest.raises(InputTooLargeError, match=f"the window {budget}"):
            sliding_window(messages, budget=budget)
        return
    shown = sliding_window(messages, budget=budget)
    assert shown[0] == messages[0]
    assert shown[1:] == messages[len(messages) - len(shown) + 1 :]
    assert tokens(shown) <= budget
    assert shown[len(shown) - len(least) + 1 :] == least[1:]
    _no_call_without_its_result(shown)


@given(sessions(), BUDGETS)
def test_the_window_drops_nothing_that_would_fit(messages: list[Message], budget: int) -> None:
    if tokens(messages) <= budget:
        assert sliding_window(messages, budget=budget) == messages


async def quoted(known: str, messages: Sequence[Message]) -> str:
    return f"{known.count('covers')} summaries; covers {messages[0].id} to {messages[-1].id}"


@given(sessions(), BUDGETS)
def test_a_summary_stands_in_the_place_of_the_oldest_messages_and_of_no_others(
    messages: list[Message], budget: int
) -> None:
    shown = asyncio.run(summarised(messages, budget=budget, summarizer=quoted))
    if shown == messages:
        assert tokens(messages) <= budget or last_exchange(messages) == messages[1:]
        return
    prompt, summary, *rest = shown
    assert prompt == messages[0]
    assert summary.role is MessageRole.SYSTEM
    replaced = messages[1 : len(messages) - len(rest)]
    assert f"covers {replaced[0].id} to {replaced[-1].id}" in (summary.content or "")
    assert rest == messages[len(messages) - len(rest) :]
    assert rest[-len(last_exchange(messages)) :] == last_exchange(messages)
    _no_call_without_its_result(shown)


async def test_the_next_summary_extends_the_last_one_and_there_is_only_one() -> None:
    messages = messages_of(_turn(turn, [], [], said="word " * 20) for turn in range(1, 12))
    once = await summarised(messages, budget=200, summarizer=quoted)
    later = messages_of(_turn(turn, [], [], said="word " * 20) for turn in range(12, 22))
    twice = await summarised([*once, *later], budget=200, summarizer=quoted)
    [summary] = [item for item in twice if item.role is MessageRole.SYSTEM]
    assert "1 summaries" in (summary.content or "")


async def test_a_summarizer_that_fails_leaves_the_messages_as_they_are() -> None:
    async def down(known: str, messages: Sequence[Message]) -> str:
        raise ModelUnavailable("down")

    messages = messages_of(_turn(turn, [], [], said="word " * 20) for turn in range(1, 12))
    before = list(messages)
    with pytest.raises(ModelUnavailable):
        await summarised(messages, budget=200, summarizer=down)
    assert messages == before


def _no_call_without_its_result(shown: Sequence[Message]) -> None:
    calls = [call.id for item in shown for call in item.tool_calls]
    results = [result.tool_call_id for item in shown for result in item.tool_results]
    assert calls == results
