"""A session's turns as messages. The evidence is the only store of both."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from core.domain.tokens import estimate_tokens
from schemas.interaction import Interaction, Outcome, ToolCall
from schemas.message import Message, MessageRole

MESSAGE_TOKENS = 4
"""What a message costs beside its text: role and separators of current chat formats."""


def messages_of(interactions: Iterable[Interaction]) -> list[Message]:
    """The messages of answered turns, in the order of the turns given."""
    return [
        message
        for interaction in interactions
        if interaction.outcome is Outcome.ANSWERED
        for message in _turn(interaction)
    ]


def estimate_message(message: Message) -> int:
    """Tokens of a message by the estimate that is used everywhere."""
    return MESSAGE_TOKENS + estimate_tokens(message_text(message))


def message_text(message: Message) -> str:
    """All that a model reads of a message."""
    calls = [f"{call.name} {_json(call.args)}" for call in message.tool_calls]
    results = [f"{result.name} {result.result}" for result in message.tool_results]
    return "\n".join([*([message.content] if message.content else []), *calls, *results])


def _turn(interaction: Interaction) -> Iterator[Message]:
    """x_t; for each model call its tool calls and their results; the answer."""
    number = 0

    def named() -> str:
        nonlocal number
        number += 1
        return f"{interaction.turn}:{number}"

    def message(role: MessageRole, **parts: object) -> Message:
        values = {"timestamp": interaction.created_at, "turn": interaction.turn, **parts}
        return Message.model_validate({"id": named(), "role": role, **values})

    yield message(
        MessageRole.USER,
        content=interaction.input.text,
        authority=interaction.input.authority,
    )
    results = {result.tool_call_id: result for result in interaction.tool_results}
    for calls in _steps(interaction.tool_calls):
        answered = [call for call in calls if call.id in results]
        if answered:
            yield message(MessageRole.ASSISTANT, tool_calls=answered)
            yield message(MessageRole.TOOL, tool_results=[results[call.id] for call in answered])
    if interaction.decision is not None:
        yield message(MessageRole.ASSISTANT, content=interaction.decision.final_answer)


def _steps(calls: Sequence[ToolCall]) -> Iterator[list[ToolCall]]:
    """Calls by the model call that made them; those of older records count as one."""
    for _, step in groupby(calls, key=lambda call: call.step):
        yield list(step)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
