"""CCS_0 of a returning user: notes of earlier sessions that pass the qualification gate's rules."""

from collections.abc import Sequence
from typing import NamedTuple

from acc_ace.container import Container
from acc_ace.core.gates.ccs_budget import fit_items
from acc_ace.core.gates.qualification_gate import screen
from acc_ace.core.schemas.artifact import Artifact, Recall, RecalledArtifact
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.commit import CommittedState
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.qualification import QualificationReason, QualificationVerdict
from acc_ace.core.text.tokens import clip_tokens
from acc_ace.memory.session_notes import ENTITIES

_ENTITY_TOKENS = 24
_REFERENCE_TOKENS = 40


def initial_state(
    empty: CommittedState, notes: Sequence[Artifact], *, limits: Limits
) -> CommittedState:
    """The empty state plus entities and references to preferences and lessons, within budgets.

    Notes are data: they set no constraint or goal, and name their source session.
    """
    entities: list[str] = []
    references: list[str] = []
    for note in notes:
        kind, _, text = note.content.partition(": ")
        if kind == ENTITIES:
            entities += [entity.strip() for entity in text.split(", ")]
        else:
            gist = clip_tokens(note.content, _REFERENCE_TOKENS)
            references.append(f"[{note.artifact_id}] {gist} ({note.source}, turn {note.turn})")
    return empty.model_copy(
        update={
            "ccs": empty.ccs.model_copy(
                update={
                    "focal_entities": fit_items(
                        entities,
                        budget=limits.focal_entities_tokens,
                        item_budget=_ENTITY_TOKENS,
                        max_items=limits.list_items,
                    ).items,
                    "retrieved_artifacts": fit_items(
                        references,
                        budget=limits.retrieved_artifacts_tokens,
                        item_budget=limits.retrieved_artifacts_tokens,
                        max_items=limits.list_items,
                    ).items,
                }
            )
        }
    )


KNOWN_SESSIONS = 4
KNOWN_NOTES = 8
"""Earlier sessions, and notes of each, that a new session starts from."""

KNOWN = "known of the user"
"""The reason shown for a note that is a candidate at a session's start."""


class Bootstrap(NamedTuple):
    """The initial state of a session, and the gate's verdict on each note."""

    state: CommittedState
    verdicts: tuple[QualificationVerdict, ...] = ()


async def bootstrap(container: Container, key: SessionKey) -> Bootstrap:
    """Fill CCS_0 from the user's notes. Raises StoreError.

    The deterministic rules decide: scope, authority, staleness, duplicates, impersonation,
    instruction-like content. No model judges relevance, since preferences matter even if the
    first input is only a greeting; the commit gate bounds the result.
    """
    notes = await _notes(container, key)
    if not notes:
        return Bootstrap(CommittedState())
    limits = container.settings.limits
    screening = screen(
        Recall(candidates=notes),
        key=key,
        state=CommittedState(),
        now=container.clock.now(),
        limits=limits,
    )
    passed = [*screening.passed, *screening.to_judge]
    verdicts = [*screening.verdicts, *map(_known, passed)]
    return Bootstrap(initial_state(CommittedState(), passed, limits=limits), tuple(verdicts))


async def _notes(container: Container, key: SessionKey) -> list[RecalledArtifact]:
    """Notes of the user's latest sessions, newest session and newest note first."""
    records = await container.directory.list(key.tenant, limit=KNOWN_SESSIONS + 1)
    candidates: list[RecalledArtifact] = []
    for record in records:
        for note_id in reversed(record.notes[-KNOWN_NOTES:]):
            note = await container.artifacts.get(key.tenant, note_id)
            if note is not None:
                candidates.append(RecalledArtifact(artifact=note, score=0.0, why=[KNOWN]))
    return candidates


def _known(note: Artifact) -> QualificationVerdict:
    return QualificationVerdict(
        artifact_id=note.artifact_id, ok=True, reason=QualificationReason.RELEVANT, detail=KNOWN
    )
