"""What a classic memory strategy needs of a session, read from the stores within its budget."""

from dataclasses import dataclass, field
from datetime import datetime
from math import ceil

from acc_ace.memory.artifact_store import ArtifactStore
from acc_ace.memory.validity import only_valid
from acc_ace.schemas.artifact import Recall, RecallQuery
from acc_ace.schemas.interaction import TurnInput
from acc_ace.schemas.limits import Limits
from acc_ace.schemas.memory import CountedMessage, MemoryContext, MemoryInputs, Summary
from acc_ace.schemas.memory_name import MemoryName
from acc_ace.schemas.message import Message, MessageRole
from acc_ace.schemas.tenancy import SessionKey
from acc_ace.strategies import Replay, Retrieval, Summarised, Window
from acc_ace.strategies.memory_strategy import MemoryStrategy
from acc_ace.strategies.message_token_counter import TokenCounter
from acc_ace.strategies.summary import turns_to_summarise
from acc_ace.strategies.transcript import messages_of
from acc_ace.turn.evidence_store import EvidenceStore
from acc_ace.turn.recent_turns import NewestTurns

STRATEGIES: dict[MemoryName, MemoryStrategy] = {
    "replay": Replay(),
    "window": Window(),
    "summary": Summarised(),
    "retrieval": Retrieval(),
}
"""The strategies over messages, by name. 'acc' has stages of its own."""

_MOST = 4
"""Times its budget, by the estimate, that is read for a replay; hardly a model counts so little."""


@dataclass(frozen=True)
class Past:
    """Where a session's past is read from: its stores, its last summary, where it begins."""

    key: SessionKey
    evidence: EvidenceStore
    artifacts: ArtifactStore
    summary: Summary | None = None
    after_turn: int = 0
    """Messages of this turn and earlier ones are past a reset and no longer belong to it."""
    restores: int = 0
    """How often the session had gone back to other turns when this was read."""
    began: datetime | None = None
    """When the session began, by its record."""
    at: datetime | None = None
    """When x_t is said, in the zone whose days it means."""


@dataclass(frozen=True)
class Remembered:
    """The context of a request, and what a search found on the way."""

    context: MemoryContext
    recalled: Recall = field(default_factory=Recall)
    summarise_through: int | None = None
    """The turn up to which old turns should be summarised now, if they should."""


async def remember(
    name: MemoryName,
    past: Past,
    turn_input: TurnInput,
    *,
    system_prompt: str,
    counter: TokenCounter,
    limits: Limits,
    now: datetime,
) -> Remembered:
    """The context that a strategy makes of the past for x_t.

    Reads no more of the past than can fit. Raises InputTooLargeError when what may not be dropped
    is over the budget, StoreError when a store cannot be read.
    """
    budget = limits.replay_tokens if name == "replay" else limits.history_tokens
    summary = past.summary if name == "summary" else None
    recalled = await _recalled(past, turn_input, limits) if name == "retrieval" else Recall()
    system = _message("system", MessageRole.SYSTEM, system_prompt, now)
    incoming = _message("incoming", MessageRole.USER, turn_input.text, now, turn_input)
    (first, *counted, last), more = await _read(
        name, past, summary, (system, incoming), counter=counter, budget=budget
    )
    inputs = MemoryInputs(
        system=first,
        incoming=last,
        messages=counted,
        more=more,
        summary=summary,
        recalled=[candidate.artifact for candidate in recalled.candidates],
        budget=budget,
    )
    context = STRATEGIES[name].context(inputs)
    if name != "summary":
        return Remembered(context, recalled)
    return Remembered(context, recalled, turns_to_summarise(counted, summary, budget=budget))


async def recent_messages(past: Past, *, after_turn: int, tokens: int) -> list[Message]:
    """The newest messages after a turn, oldest first: whole turns, until they exceed `tokens`.

    The turn that goes over is among them, so that it can be seen that there is more.
    """
    reading = NewestTurns(past.evidence, past.key, after_turn=after_turn)
    await reading.read(tokens)
    return reading.messages()


async def _read(
    name: MemoryName,
    past: Past,
    summary: Summary | None,
    around: tuple[Message, Message],
    *,
    counter: TokenCounter,
    budget: int,
) -> tuple[list[CountedMessage], bool]:
    """System prompt, earlier messages and x_t, counted; whether there are more earlier ones."""
    system, incoming = around
    if name == "retrieval":
        return await counter.count([system, *await _last_turn(past), incoming]), False
    after = max(past.after_turn, summary.through_turn if summary else 0)
    reading = NewestTurns(past.evidence, past.key, after_turn=after)
    await reading.read(budget)
    counted = await counter.count([system, *reading.messages(), incoming])
    # The reading ends by the estimate. A model that counts less has room for what comes before,
    # and a replay leaves nothing out.
    while name == "replay" and not reading.all_read and reading.tokens <= _MOST * budget:
        used = sum(item.tokens for item in counted)
        if used > budget:
            break
        room = ceil((budget - used) * reading.tokens / used)
        await reading.read(min(room, _MOST * budget - reading.tokens))
        counted = await counter.count([system, *reading.messages(), incoming])
    return counted, not reading.all_read


async def _last_turn(past: Past) -> list[Message]:
    last = await past.evidence.last(past.key)
    return messages_of([last]) if last and last.turn > past.after_turn else []


async def _recalled(past: Past, turn_input: TurnInput, limits: Limits) -> Recall:
    recalled = await past.artifacts.recall(
        RecallQuery(
            key=past.key,
            text=turn_input.text,
            limit=limits.recall_k,
            max_tokens=min(limits.recall_tokens, limits.history_tokens),
            asked_at=past.at,
        )
    )
    return only_valid(recalled, past.at)


def _message(
    name: str,
    role: MessageRole,
    text: str,
    at: datetime,
    turn_input: TurnInput | None = None,
) -> Message:
    authority = {"authority": turn_input.authority} if turn_input else {}
    return Message.model_validate(
        {"id": name, "timestamp": at, "role": role, "content": text, **authority}
    )
