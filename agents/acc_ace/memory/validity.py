"""Whether an artifact still holds: it has neither expired nor been superseded."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from acc_ace.memory.ranking import Ranked
from acc_ace.schemas.artifact import Artifact, Recall


def is_valid(artifact: Artifact, now: datetime | None) -> bool:
    """Whether an artifact holds at a time; without one, nothing counts as expired."""
    if artifact.superseded_by is not None:
        return False
    if artifact.expires_at is None or now is None:
        return True
    expires = artifact.expires_at
    return (expires if expires.tzinfo else expires.replace(tzinfo=UTC)) > now


def only_valid(recall: Recall, now: datetime | None) -> Recall:
    """A recall without what no longer holds, for whoever has no gate that says so."""
    kept = [item for item in recall.candidates if is_valid(item.artifact, now)]
    return recall.model_copy(update={"candidates": kept})


def valid_first(
    ranked: Iterable[Ranked], artifacts: Mapping[str, Artifact], now: datetime | None
) -> list[Ranked]:
    """What still holds, then the rest, each in the given order; what is not there is left out."""
    known = [item for item in ranked if item.artifact_id in artifacts]
    return sorted(known, key=lambda item: not is_valid(artifacts[item.artifact_id], now))
