"""CCS_0 of a known user: what the gate let through of the notes of earlier sessions."""

from collections.abc import Sequence

from acc_ace.gates.ccs_budget import fit_items
from acc_ace.memory.session_notes import ENTITIES
from acc_ace.schemas.artifact import Artifact
from acc_ace.schemas.commit import CommittedState
from acc_ace.schemas.limits import Limits
from acc_ace.text.tokens import clip_tokens

_ENTITY_TOKENS = 24
_REFERENCE_TOKENS = 40


def known_state(
    empty: CommittedState, notes: Sequence[Artifact], *, limits: Limits
) -> CommittedState:
    """The empty state with entities, and references to preferences and lessons, within budgets.

    Notes are data: they set no constraint and no goal, and name the session they came from.
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
