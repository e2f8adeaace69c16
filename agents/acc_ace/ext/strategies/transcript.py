"""A session's turns as messages. The evidence is the only store of both."""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby

from acc_ace.core.schemas.interaction import Interaction, Outcome, ToolCall, ToolResult
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.ext.strategies.memory import Message, MessageRole
from acc_ace.ext.strategies.message_units import answered_calls

MESSAGE_TOKENS = 4
"""Tokens of a message on top of its text: role and separators of current chat formats."""


def messages_of(interactions: Iterable[Interaction]) -> list[Message]:
    """The messages of answered turns, in the order of the turns given.

    No two calls have the same id: one that comes again, as some models let it, gets another one.
    """
    ids: set[str] = set()
    return [
        message
        for interaction in interactions
        if interaction.outcome is Outcome.ANSWERED
        for message in _turn(interaction, ids)
    ]


def estimate_message(message: Message) -> int:
    """Tokens of a message by the estimate that is used everywhere."""
    return MESSAGE_TOKENS + estimate_tokens(message_text(message))


def message_text(message: Message) -> str:
    """All that a model reads of a message."""
    calls = [f"{call.name} {_json(call.args)}" for call in message.tool_calls]
    results = [f"{result.name} {result.result}" for result in message.tool_results]
    return "\n".join([*([message.content] if message.content else []), *calls, *results])


def _turn(interaction: Interaction, ids: set[str]) -> Iterator[Message]:
    """x_t; for each model call its tool calls and their results; the answer.

    `ids` are those of earlier calls; those of this turn's are added.
    """
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
    for calls, results in _steps(interaction, ids):
        yield message(MessageRole.ASSISTANT, tool_calls=calls)
        yield message(MessageRole.TOOL, tool_results=results)
    if interaction.decision is not None:
        yield message(MessageRole.ASSISTANT, content=interaction.decision.final_answer)


def _steps(
    interaction: Interaction, ids: set[str]
) -> Iterator[tuple[list[ToolCall], list[ToolResult]]]:
    """Answered calls by the model call that made them; those of older records count as one."""
    pairs = answered_calls(interaction.tool_calls, interaction.tool_results)
    named = [
        _named(call, result, f"{interaction.turn}-{number}", ids)
        for number, (call, result) in enumerate(pairs, 1)
    ]
    for _, step in groupby(named, key=lambda pair: pair[0].step):
        calls, results = zip(*step, strict=True)
        yield list(calls), list(results)


def _named(
    call: ToolCall, result: ToolResult, place: str, ids: set[str]
) -> tuple[ToolCall, ToolResult]:
    """A call and its result under an id that no earlier call has."""
    name = call.id
    while name in ids:
        name = f"{name}-{place}"
    ids.add(name)
    if name == call.id:
        return call, result
    return (
        call.model_copy(update={"id": name}),
        result.model_copy(update={"tool_call_id": name}),
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
