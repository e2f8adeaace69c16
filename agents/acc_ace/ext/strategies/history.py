"""Load the history that a classic memory strategy needs, within its budget.

Old turns are summarised off the critical path: no turn waits for a summary.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from math import ceil

from acc_ace.core.gates.screening import screened
from acc_ace.core.schemas.artifact import Recall, RecallQuery
from acc_ace.core.schemas.base import MemoryName, SessionKey
from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.core.schemas.interaction import Interaction, Outcome, TurnInput
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.qualification import QualificationVerdict
from acc_ace.core.schemas.session import ConversationSummary
from acc_ace.core.text.prompt import Prompt
from acc_ace.core.text.tokens import clip_tokens
from acc_ace.ext.strategies import Replay, Retrieval, Summarised, Window
from acc_ace.ext.strategies.memory import (
    CountedMessage,
    MemoryContext,
    MemoryInputs,
    Message,
    MessageRole,
    Summary,
)
from acc_ace.ext.strategies.memory_strategy import MemoryStrategy, TokenCounter
from acc_ace.ext.strategies.summary import extract_summary, turns_to_summarise
from acc_ace.ext.strategies.transcript import estimate_message, message_text, messages_of
from acc_ace.memory.artifact_store import ArtifactStore, only_valid
from acc_ace.turn.ports import EvidenceStore
from acc_ace.turn.structured_call import Completion, parser, structured_call

_PAGE = 20


class NewestTurns:
    """Answered turns after a given one, newest first; each read resumes where the last ended."""

    def __init__(self, evidence: EvidenceStore, key: SessionKey, *, after_turn: int) -> None:
        self._evidence, self._key, self._after = evidence, key, after_turn
        self._found: list[Interaction] = []
        self._ahead: deque[Interaction] = deque()
        self._before: str | None = None
        self._last_page = False
        self.tokens = 0
        """Estimated tokens of the turns read so far."""
        self.all_read = False
        """Whether no turns are left to read."""

    async def read(self, tokens: int) -> None:
        """Read whole turns, at least one, until this read exceeds `tokens`.

        Raises StoreError.
        """
        limit = self.tokens + tokens
        while self.tokens <= limit and (turn := await self._next()) is not None:
            if turn.outcome is Outcome.ANSWERED:
                self._found.append(turn)
                self.tokens += sum(map(estimate_message, messages_of([turn])))

    def messages(self) -> list[Message]:
        """The messages of the turns read so far, oldest first."""
        return messages_of(reversed(self._found))

    async def _next(self) -> Interaction | None:
        if not self._ahead and not self._last_page:
            page = await self._evidence.list(self._key, limit=_PAGE, before=self._before)
            self._ahead.extend(page)
            self._last_page = len(page) < _PAGE
            self._before = page[-1].invocation_id if page else None
        if not self._ahead or self._ahead[0].turn <= self._after:
            self.all_read = True
            return None
        return self._ahead.popleft()


STRATEGIES: dict[MemoryName, MemoryStrategy] = {
    "replay": Replay(),
    "window": Window(),
    "summary": Summarised(),
    "retrieval": Retrieval(),
}
"""The strategies over messages, by name. 'acc' is not one: it runs its own stages."""

_MAX_BUDGETS = 4
"""A replay reads up to this many budgets of estimated tokens; hardly any model counts fewer."""


@dataclass(frozen=True)
class HistorySource:
    """Where a session's history is read from: its stores, last summary and starting point."""

    key: SessionKey
    evidence: EvidenceStore
    artifacts: ArtifactStore
    summary: Summary | None = None
    after_turn: int = 0
    """Messages up to this turn predate a reset and are excluded."""
    restores: int = 0
    """Number of rollbacks of the session when this was read."""
    began: datetime | None = None
    """The session's start, from its record."""
    at: datetime | None = None
    """Time of x_t, in the user's time zone."""
    rules: Sequence[ConstraintPin] = ()
    """The rules in force, by which recalled text is screened."""


@dataclass(frozen=True)
class LoadedHistory:
    """The context of a request, and the recall it was built from."""

    context: MemoryContext
    recalled: Recall = field(default_factory=Recall)
    rejected: Sequence[QualificationVerdict] = ()
    """What the gate said of recalled text that goes against its rules."""
    summarise_through: int | None = None
    """Turns up to this one are due for summarising; None if none are."""


async def load_history(
    name: MemoryName,
    past: HistorySource,
    turn_input: TurnInput,
    *,
    system_prompt: str,
    counter: TokenCounter,
    limits: Limits,
    now: datetime,
) -> LoadedHistory:
    """Build a strategy's context for x_t.

    Reads no more history than can fit. Raises InputTooLargeError when the parts that may not be
    dropped exceed the budget, StoreError when a store cannot be read.
    """
    budget = limits.replay_tokens if name == "replay" else limits.history_tokens
    summary = past.summary if name == "summary" else None
    recalled = await _recalled(past, turn_input, limits) if name == "retrieval" else Recall()
    passages = screened(
        (candidate.artifact for candidate in recalled.candidates),
        key=past.key,
        pins=past.rules,
        now=past.at or now,
        max_tokens=limits.artifact_tokens,
    )
    system = _message("system", MessageRole.SYSTEM, system_prompt, now)
    incoming = _message("incoming", MessageRole.USER, turn_input.text, now, turn_input)
    (first, *counted, last), more = await _read(
        name, past, summary, (system, incoming), counter=counter, budget=budget
    )
    inputs = MemoryInputs(
        system=first, incoming=last, messages=counted, more=more, summary=summary,
        recalled=passages.shown, budget=budget,
    )  # fmt: skip
    through = turns_to_summarise(counted, summary, budget=budget) if name == "summary" else None
    return LoadedHistory(STRATEGIES[name].context(inputs), recalled, passages.rejected, through)


async def recent_messages(past: HistorySource, *, after_turn: int, tokens: int) -> list[Message]:
    """The newest messages after a turn, oldest first: whole turns, until they exceed `tokens`.

    Includes the turn that exceeds the limit, so callers can detect that there are more.
    """
    reading = NewestTurns(past.evidence, past.key, after_turn=after_turn)
    await reading.read(tokens)
    return reading.messages()


async def _read(
    name: MemoryName,
    past: HistorySource,
    summary: Summary | None,
    around: tuple[Message, Message],
    *,
    counter: TokenCounter,
    budget: int,
) -> tuple[list[CountedMessage], bool]:
    """System prompt, earlier messages and x_t with token counts; whether older ones remain."""
    system, incoming = around
    if name == "retrieval":
        return await counter.count([system, *await _last_turn(past), incoming]), False
    after = max(past.after_turn, summary.through_turn if summary else 0)
    reading = NewestTurns(past.evidence, past.key, after_turn=after)
    await reading.read(budget)
    counted = await counter.count([system, *reading.messages(), incoming])
    # Reading stops by the estimate. A model that counts fewer tokens has room for older turns,
    # and a replay must not omit any.
    while name == "replay" and not reading.all_read and reading.tokens <= _MAX_BUDGETS * budget:
        used = sum(item.tokens for item in counted)
        if used > budget:
            break
        room = ceil((budget - used) * reading.tokens / used)
        await reading.read(min(room, _MAX_BUDGETS * budget - reading.tokens))
        counted = await counter.count([system, *reading.messages(), incoming])
    return counted, not reading.all_read


async def _last_turn(past: HistorySource) -> list[Message]:
    last = await past.evidence.last(past.key)
    return messages_of([last]) if last and last.turn > past.after_turn else []


async def _recalled(past: HistorySource, turn_input: TurnInput, limits: Limits) -> Recall:
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


EXTRACTIVE = "extractive"
"""Recorded as the model of a summary that no model wrote."""

_SHOWN_TOKENS = 500
"""Maximum tokens of one message shown to the Summarizer."""


async def summarise(
    past: HistorySource, *, completion: Completion, prompt: Prompt, limits: Limits, now: datetime
) -> Summary | None:
    """Extend the last summary; None while the turns still fit.

    Covers at most `limits.history_tokens` of messages per call; call again until None. If the
    model is down or its summary is empty, quotes are used, so every call makes progress.
    Raises StoreError.
    """
    previous = past.summary
    done = max(past.after_turn, previous.through_turn if previous else 0)
    messages = await recent_messages(past, after_turn=done, tokens=limits.replay_tokens)
    counted = [CountedMessage(message, estimate_message(message)) for message in messages]
    through = turns_to_summarise(counted, previous, budget=limits.history_tokens)
    if through is None:
        return None
    old = _first(counted, through, limits.history_tokens)
    known = previous.content if previous else ""
    inputs = {
        "previous_summary": known or None,
        "messages": [_shown(message) for message in old],
        "max_tokens": limits.summary_tokens,
    }
    asked = await structured_call(
        completion, prompt, inputs, parser(ConversationSummary), repairs=limits.repairs
    )
    written = asked.value.summary.strip() if asked.value else ""
    quoted = partial(extract_summary, known, old, max_tokens=limits.summary_tokens)
    return Summary(
        content=clip_tokens(written, limits.summary_tokens) or quoted(),
        from_turn=previous.from_turn if previous else old[0].turn,
        through_turn=old[-1].turn,
        model=asked.model if written else EXTRACTIVE,
        restores=past.restores,
        session_started=past.began,
        created_at=now,
    )


def _first(counted: Sequence[CountedMessage], through: int, tokens: int) -> list[Message]:
    """The oldest messages up to a turn: whole turns, within `tokens`, at least one turn."""
    old = [item for item in counted if item.message.turn <= through]
    first, spent = old[0].message.turn, 0
    chosen: list[Message] = []
    for turn in dict.fromkeys(item.message.turn for item in old):
        spent += sum(item.tokens for item in old if item.message.turn == turn)
        if spent > tokens and turn != first:
            break
        chosen += [item.message for item in old if item.message.turn == turn]
    return chosen


def _shown(message: Message) -> dict[str, object]:
    return {
        "turn": message.turn,
        "role": message.authority if message.role == "user" else message.role,
        "text": clip_tokens(message_text(message), _SHOWN_TOKENS),
    }
