"""A session's turns as messages, and what of them a counter lets into a context."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from pydantic import ValidationError

from acc_ace.core.schemas.base import MemoryName
from acc_ace.core.schemas.interaction import Interaction, Outcome, ToolCall, ToolResult, TurnInput
from acc_ace.core.schemas.limits import Limits
from acc_ace.errors import InputTooLargeError
from acc_ace.ext.strategies.history import HistorySource, load_history
from acc_ace.ext.strategies.memory import (
    CountedMessage,
    MemoryContext,
    Message,
    MessageRole,
    Summary,
)
from acc_ace.ext.strategies.memory_strategy import EstimatedTokens, TokenCounter
from acc_ace.ext.strategies.transcript import messages_of
from tests.contract.values import KEY, interaction
from tests.fakes.clock import START
from tests.fakes.stores import InMemoryArtifactStore, InMemoryEvidenceStore


def with_tools(number: int) -> Interaction:
    """A turn of two parallel calls, one of which fails, then one more call."""
    return interaction(
        number,
        tool_calls=[
            ToolCall(id="a", name="look", args={"q": "x"}, step=0),
            ToolCall(id="b", name="look", args={"q": "y"}, step=0),
            ToolCall(id="c", name="count", args={}, step=1),
        ],
        tool_results=[
            # They come in the order in which they end, not in which they were asked for.
            ToolResult(tool_call_id="b", name="look", result="no such thing", is_error=True),
            ToolResult(tool_call_id="a", name="look", result="found"),
            ToolResult(tool_call_id="c", name="count", result="2"),
        ],
    )


def test_a_turn_is_messages_with_id_time_role_calls_and_results() -> None:
    asked, called, answered, again, counted, said = messages_of([with_tools(3)])
    assert [message.role for message in (asked, called, answered, again, counted, said)] == [
        MessageRole.USER,
        MessageRole.ASSISTANT,
        MessageRole.TOOL,
        MessageRole.ASSISTANT,
        MessageRole.TOOL,
        MessageRole.ASSISTANT,
    ]
    assert (asked.content, said.content) == ("hello", "answer 3")
    assert [(call.id, call.name, call.args) for call in called.tool_calls] == [
        ("a", "look", {"q": "x"}),
        ("b", "look", {"q": "y"}),
    ]
    assert [(r.tool_call_id, r.result, r.is_error) for r in answered.tool_results] == [
        ("a", "found", False),
        ("b", "no such thing", True),
    ]
    assert asked.timestamp == START + timedelta(seconds=3)


def test_ids_of_messages_are_unique_in_a_session_and_the_same_every_time() -> None:
    turns = [with_tools(number) for number in range(1, 5)]
    ids = [message.id for message in messages_of(turns)]
    assert len(set(ids)) == len(ids) == 24
    assert ids == [message.id for message in messages_of(turns)]


def test_a_call_whose_result_was_lost_is_no_message() -> None:
    whole = with_tools(1)
    torn = whole.model_copy(update={"tool_results": whole.tool_results[:1]})
    called = [call.id for message in messages_of([torn]) for call in message.tool_calls]
    assert called == ["b"]


def with_one_id(number: int, *, lost: bool = False) -> Interaction:
    """A turn of a model that names each of its calls alike."""
    calls = [
        ToolCall(id="call_0", name="disk", args={}, step=0),
        ToolCall(id="call_0", name="count", args={"q": "x"}, step=1),
        ToolCall(id="call_0", name="count", args={"q": "y"}, step=2),
    ]
    results = [
        ToolResult(tool_call_id="call_0", name="disk", result=f"disk {number} is full"),
        ToolResult(tool_call_id="call_0", name="count", result="1 x"),
        ToolResult(tool_call_id="call_0", name="count", result="2 y"),
    ]
    return interaction(number, tool_calls=calls, tool_results=results[: 2 if lost else 3])


def test_calls_of_one_id_keep_their_own_results_under_ids_of_their_own() -> None:
    messages = messages_of([with_one_id(1), with_one_id(2)])
    calls = [call for message in messages for call in message.tool_calls]
    results = [result for message in messages for result in message.tool_results]
    assert [(call.name, call.args.get("q")) for call in calls] == 2 * [
        ("disk", None),
        ("count", "x"),
        ("count", "y"),
    ]
    reported = ["disk 1 is full", "1 x", "2 y", "disk 2 is full", "1 x", "2 y"]
    assert [result.result for result in results] == reported
    assert [call.id for call in calls] == [result.tool_call_id for result in results]
    assert len({call.id for call in calls}) == 6


def test_where_a_result_of_a_shared_id_was_lost_none_is_given_to_another_call() -> None:
    messages = messages_of([with_one_id(1, lost=True)])
    assert [call.name for message in messages for call in message.tool_calls] == ["disk"]
    assert [r.result for message in messages for r in message.tool_results] == ["disk 1 is full"]


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.UNDONE])
def test_only_answered_turns_are_messages(outcome: Outcome) -> None:
    assert messages_of([with_tools(1).model_copy(update={"outcome": outcome})]) == []


@pytest.mark.parametrize(
    "parts",
    [
        {"role": "user", "tool_calls": [ToolCall(id="a", name="look")]},
        {"role": "assistant", "content": "x", "tool_results": with_tools(1).tool_results},
        {"role": "tool", "content": "x"},
        {"role": "assistant"},
        {"role": "narrator", "content": "x"},
    ],
)
def test_parts_that_do_not_fit_their_role_are_refused(parts: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Message.model_validate({"id": "m", "timestamp": START, **parts})


class Heavy:
    """A TokenCounter of a model that reads every text as ten times what is estimated."""

    async def count(self, messages: Sequence[Message]) -> list[CountedMessage]:
        estimated = await EstimatedTokens().count(messages)
        return [item._replace(tokens=10 * item.tokens) for item in estimated]


async def remembered(
    counter: TokenCounter, memory: MemoryName = "window", summary: Summary | None = None
) -> MemoryContext:
    """The context of turn 31 of a session."""
    evidence = InMemoryEvidenceStore()
    for number in range(1, 31):
        await evidence.record(KEY, interaction(number, f"Note {number} about sensor {number}."))
    past = HistorySource(KEY, evidence, InMemoryArtifactStore(), summary)
    found = await load_history(
        memory,
        past,
        TurnInput(text="What now?"),
        system_prompt="You answer.",
        counter=counter,
        limits=Limits(history_tokens=400),
        now=START,
    )
    return found.context


async def test_the_count_of_the_model_decides_before_a_message_is_added() -> None:
    by_estimate = await remembered(EstimatedTokens())
    by_model = await remembered(Heavy())
    assert by_model.tokens <= 400
    assert by_estimate.tokens <= 400
    assert len(by_model.messages) < len(by_estimate.messages)
    assert by_model.messages[0].role is MessageRole.SYSTEM
    assert by_model.messages[-1].content == "What now?"


async def test_a_prompt_that_the_model_counts_over_the_budget_is_never_cut() -> None:
    class Enormous(Heavy):
        async def count(self, messages: Sequence[Message]) -> list[CountedMessage]:
            return [CountedMessage(message, 10_000) for message in messages]

    with pytest.raises(InputTooLargeError, match="ACC_ACE_LIMITS__HISTORY_TOKENS"):
        await remembered(Enormous())


async def test_a_summary_is_one_system_message_in_the_place_of_its_turns() -> None:
    summary = Summary(content="Sensors were set up.", through_turn=28, created_at=START)
    context = await remembered(EstimatedTokens(), "summary", summary)
    prompt, standing, *rest = context.messages
    assert prompt.content == "You answer."
    assert standing.role is MessageRole.SYSTEM
    assert "Sensors were set up." in (standing.content or "")
    assert [message.turn for message in rest] == [29, 29, 30, 30, 0]
