"""A session's turns as messages, and those since a CCM last read, out of its evidence."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from acc_ace.container import Container
from acc_ace.core.gates.commit_gate import KEPT_MARK
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.commit import CommittedState
from acc_ace.core.schemas.interaction import Interaction, Outcome, ToolCall, ToolResult
from acc_ace.core.schemas.message import Message, MessageRole
from acc_ace.memory.tail import MOST_EXCHANGES, SinceReading, read_place, since_reading
from acc_ace.turn.reading import unread


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


def answered_calls(
    calls: Sequence[ToolCall], results: Sequence[ToolResult]
) -> list[tuple[ToolCall, ToolResult]]:
    """The calls of a turn that were answered, each with its own result, in the order of the calls.

    A call with an id of its own has the last result of that id: an earlier one said "pending".
    Calls that share an id are distinguished by their tools and by the model calls that made them.
    Left out are those where that leaves a doubt: no result is ever shown for another call.
    """
    sharing: defaultdict[str, list[int]] = defaultdict(list)
    for at, call in enumerate(calls):
        sharing[call.id].append(at)
    of_id: defaultdict[str, list[ToolResult]] = defaultdict(list)
    for result in results:
        of_id[result.tool_call_id].append(result)
    by_place: dict[int, ToolResult] = {}
    for call_id, places in sharing.items():
        if len(places) > 1:
            by_place |= _by_position(calls, places, of_id[call_id])
        elif of_id[call_id]:
            by_place[places[0]] = of_id[call_id][-1]
    return [(calls[at], by_place[at]) for at in sorted(by_place)]


def _by_position(
    calls: Sequence[ToolCall], places: Sequence[int], results: Sequence[ToolResult]
) -> dict[int, ToolResult]:
    """Results of calls that share an id: the first of a tool is that of its first call, and so on.

    Parallel calls end in any order, and one lost result moves all others: both are left out.
    """
    by_tool: defaultdict[str, list[int]] = defaultdict(list)
    for at in places:
        by_tool[calls[at].name].append(at)
    by_place: dict[int, ToolResult] = {}
    for name, own in by_tool.items():
        given = [result for result in results if result.name == name]
        in_a_row = len({calls[at].step for at in own}) == len(own)
        if len(given) == len(own) and in_a_row:
            by_place |= dict(zip(own, given, strict=True))
    return by_place


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


async def newest_exchanges(
    container: Container, key: SessionKey, read_to: str
) -> list[Interaction]:
    """The newest exchanges, back to that which a CCM read last. Raises StoreError."""
    newest, evidence = list[Interaction](), container.evidence
    name, _ = read_place(read_to)
    while page := await evidence.list(
        key, limit=MOST_EXCHANGES, before=newest[-1].invocation_id if newest else None
    ):
        newest += page
        is_there = not name or any(each.invocation_id == name for each in page)
        if is_there or len(page) < MOST_EXCHANGES:
            break
    return newest


async def since_last_reading(
    container: Container, key: SessionKey, state: CommittedState
) -> SinceReading:
    """What was said since a CCM read last, as of a committed state.

    With a CCM that is asked in every turn that is nothing, but for a long message or after a
    failure: what it passed over was its turn to read. Raises StoreError.
    """
    has_failed = state.ccs.uncertainty_signal.startswith(KEPT_MARK)
    if container.settings.compress == "every" and not (has_failed or read_place(state.read_to)[1]):
        return SinceReading()
    session = await container.directory.find(key)
    return since_reading(
        state,
        await newest_exchanges(container, key, state.read_to),
        own="",
        after=session.history_from if session else 0,
    )


async def unread_turns(container: Container, key: SessionKey, state: CommittedState) -> int:
    """How many messages of the user's no CCM has read. Raises StoreError."""
    return len(unread(await since_last_reading(container, key, state)))
