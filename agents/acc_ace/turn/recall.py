"""Step 2, Recall: A_t from the artifact store, by x_t and CCS_{t-1}."""

from datetime import datetime

from acc_ace.memory.artifact_store import ArtifactStore
from acc_ace.schemas.artifact import Recall, RecallQuery
from acc_ace.schemas.commit import CommittedState
from acc_ace.schemas.interaction import TurnInput
from acc_ace.schemas.limits import Limits
from acc_ace.schemas.tenancy import SessionKey


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
