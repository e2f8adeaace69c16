"""Steps 1 to 4 of Algorithm 1: take x_t, recall A_t, qualify it to A_t+, compress to CCS_t.

Rules come first in qualification, and the model judges only what they leave; the CCM's reply
passes the commit gate before it is CCS_t.
"""

import asyncio
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from acc_ace.errors import InputError, InputTooLargeError
from acc_ace.gates.ccs_output import parse_ccs
from acc_ace.gates.commit_gate import GateResult, commit
from acc_ace.gates.qualification_gate import conclude, screen
from acc_ace.memory.artifact_store import ArtifactStore
from acc_ace.schemas.artifact import Recall, RecallQuery
from acc_ace.schemas.base import Authority, SessionKey
from acc_ace.schemas.ccs import CompressedCognitiveState
from acc_ace.schemas.commit import CommittedState
from acc_ace.schemas.interaction import TurnInput
from acc_ace.schemas.limits import Limits
from acc_ace.schemas.qualification import Qualification, RelevanceBatch
from acc_ace.text.prompt import Prompt
from acc_ace.text.tokens import estimate_tokens
from acc_ace.turn.structured_call import (
    Asked,
    Completion,
    artifact_values,
    ask,
    input_value,
    parser,
    state_value,
)

MAX_ID_CHARS = 256
"""Of the name of a user or a session, and of an idempotency key."""

_CHARS_PER_TOKEN_AT_MOST = 32
"""Longer than this per token is refused unread: blank padding must not cost a scan of it all."""


def check_key(key: SessionKey) -> None:
    """Raise InputError unless user and session have names that every store can keep apart."""
    _check_name("user id", key.user)
    _check_name("session id", key.session)


def _check_name(what: str, name: str) -> None:
    if not name or name != name.strip():
        raise InputError(f"the {what} is blank or has surrounding spaces; remove them")
    if len(name) > MAX_ID_CHARS:
        raise InputError(f"the {what} has {len(name):,} characters; the maximum is {MAX_ID_CHARS}")
    if any(unicodedata.category(char) in {"Cc", "Cs"} for char in name):
        raise InputError(f"the {what} contains a control character or a lone surrogate")


def check_request_id(name: str) -> None:
    """Raise InputError unless an idempotency key is '' or a name that every store can keep."""
    if name:
        _check_name("idempotency key", name)


def take_input(text: str, authority: Authority, limits: Limits) -> TurnInput:
    """x_t as a value; raises InputError when blank, InputTooLargeError beyond its budget.

    Callers outside the process may speak as user or below, never as system.
    """
    if authority is Authority.SYSTEM:
        raise InputError("an input cannot have system authority; use user, tool or retrieved")
    if len(text) > limits.input_tokens * _CHARS_PER_TOKEN_AT_MOST:
        raise InputTooLargeError(_too_large(f"{len(text):,} characters", limits))
    if not text.strip():
        raise InputError("the input is empty; send some text")
    tokens = estimate_tokens(text)
    if tokens > limits.input_tokens:
        raise InputTooLargeError(_too_large(f"about {tokens:,} tokens", limits))
    return TurnInput(text=text.encode("utf-8", "replace").decode("utf-8"), authority=authority)


def _too_large(size: str, limits: Limits) -> str:
    return (
        f"the input has {size}, the limit is {limits.input_tokens:,} tokens "
        "(ACC_ACE_LIMITS__INPUT_TOKENS); send less, or store it as a document and ask about it"
    )


def recall_query(
    key: SessionKey,
    turn_input: TurnInput,
    previous: CommittedState,
    limits: Limits,
    *,
    at: datetime,
) -> RecallQuery:
    """The query: x_t, said at `at`, and of CCS_{t-1} entities, goal, open questions, gist."""
    ccs = previous.ccs
    terms = [
        *ccs.focal_entities,
        ccs.goal_orientation,
        ccs.uncertainty_signal,
        ccs.semantic_gist,
    ]
    return RecallQuery(
        key=key,
        text=turn_input.text,
        state_terms=[term for term in terms if term],
        limit=limits.recall_k,
        max_tokens=limits.recall_tokens,
        excerpt_tokens=limits.artifact_tokens,
        asked_at=at,
    )


async def recall(
    store: ArtifactStore,
    *,
    key: SessionKey,
    turn_input: TurnInput,
    previous: CommittedState,
    limits: Limits,
    at: datetime,
) -> Recall:
    """At most k candidates; `at` is when x_t is said, in the zone whose days it means.

    Raises StoreError when the store cannot be read.
    """
    return await store.recall(recall_query(key, turn_input, previous, limits, at=at))


@dataclass(frozen=True)
class Qualified:
    """A_t+ with verdicts, and what the model call cost (none when nothing was left to judge)."""

    qualification: Qualification
    asked: Asked[RelevanceBatch]


async def qualify(
    recalled: Recall,
    *,
    key: SessionKey,
    turn_input: TurnInput,
    previous: CommittedState,
    now: datetime,
    limits: Limits,
    completion: Completion,
    prompt: Prompt,
) -> Qualified:
    """Screen by rule, let the model judge the rest in one call, conclude.

    A model that is down qualifies nothing: the unjudged stay out.
    """
    screening = screen(recalled, key=key, state=previous, now=now, limits=limits)
    asked: Asked[RelevanceBatch] = Asked(value=None)
    if screening.to_judge:
        inputs = {
            "current_input": input_value(turn_input),
            "previous_state": state_value(previous),
            "candidates": artifact_values(screening.to_judge, limits),
        }
        asked = await ask(
            completion, prompt, inputs, parser(RelevanceBatch), repairs=limits.repairs
        )
    return Qualified(conclude(screening, asked.value, limits=limits), asked)


@dataclass(frozen=True)
class Compressed:
    """What the gate made of the CCM's proposal, and what the call cost."""

    gate: GateResult
    asked: Asked[CompressedCognitiveState]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Of the model and of the gate, in that order."""
        return (*self.asked.warnings, *self.gate.warnings)


async def compress(
    qualification: Qualification,
    *,
    turn_input: TurnInput,
    previous: CommittedState,
    limits: Limits,
    completion: Completion,
    prompt: Prompt,
) -> Compressed:
    """Ask the CCM for CCS_t and pass whatever it said through the gate.

    Raises ConstraintBudgetError when the constraints alone are over budget.
    """
    inputs = {
        "current_input": input_value(turn_input),
        "previous_state": state_value(previous),
        "artifacts": artifact_values(qualification.qualified, limits),
    }
    asked = await ask(completion, prompt, inputs, parse_ccs, repairs=limits.repairs)
    gated = partial(
        commit,
        previous,
        asked.value,
        turn_input,
        known_artifacts={artifact.artifact_id for artifact in qualification.qualified},
        limits=limits,
    )
    # The language pass takes some 15 ms for 1,000 characters, and the first one compiles its rules.
    return Compressed(await asyncio.to_thread(gated), asked)
