"""A session's turns as messages."""

from datetime import timedelta

import pytest
from pydantic import ValidationError

from acc_ace.core.schemas.interaction import Interaction, Outcome, ToolCall, ToolResult
from acc_ace.core.schemas.message import Message, MessageRole
from acc_ace.turn.transcript import messages_of
from tests.contract.values import interaction
from tests.fakes.clock import START


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
