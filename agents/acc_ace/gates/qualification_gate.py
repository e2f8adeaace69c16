"""The qualification gate: which recalled candidates may reach the compressor.

Deterministic rules come first, each with a reason code; only the candidates that pass go to the
model, which judges only relevance (step 3 of Algorithm 1, A_t to A_t+).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from acc_ace.gates.screening import Rules, utc, verdict
from acc_ace.schemas.artifact import Artifact, ArtifactKind, Recall
from acc_ace.schemas.base import SessionKey
from acc_ace.schemas.commit import CommittedState
from acc_ace.schemas.limits import Limits
from acc_ace.schemas.qualification import (
    Qualification,
    QualificationReason,
    QualificationVerdict,
    RelevanceBatch,
    RelevanceDecision,
)
from acc_ace.text.tokens import estimate_tokens


@dataclass(frozen=True)
class Screening:
    """The verdicts of the deterministic rules, and the candidates for the model; best first."""

    verdicts: tuple[QualificationVerdict, ...]
    passed: tuple[Artifact, ...]
    to_judge: tuple[Artifact, ...]


def screen(
    recall: Recall, *, key: SessionKey, state: CommittedState, now: datetime, limits: Limits
) -> Screening:
    """Apply the deterministic rules, in order: scope, authority, staleness, duplicates,
    impersonation, instruction-like content, contradiction with active constraints.

    The newest turn of this session needs no judgement by the model if it passes the rules.
    Content is examined up to the maximum length that any stage is shown.
    """
    rules = Rules(
        key=key,
        pins=state.pins,
        now=now,
        seen_tokens=max(limits.artifact_tokens, limits.recall_tokens),
    )
    candidates = [candidate.artifact for candidate in recall.candidates]
    previous = _previous_turn(candidates, key)
    if previous is not None:
        # First, so that it is never rejected as a duplicate.
        candidates.remove(previous)
        candidates.insert(0, previous)
    verdicts: list[QualificationVerdict] = []
    passed: list[Artifact] = []
    to_judge: list[Artifact] = []
    for artifact in candidates:
        rejection = rules.reject(artifact)
        if rejection is not None:
            verdicts.append(verdict(artifact, rejection.reason, rejection.detail))
        elif artifact is previous:
            passed.append(artifact)
            verdicts.append(verdict(artifact, QualificationReason.PREVIOUS_TURN))
        else:
            to_judge.append(artifact)
    return Screening(tuple(verdicts), tuple(passed), tuple(to_judge))


def conclude(
    screening: Screening, decisions: RelevanceBatch | None, *, limits: Limits
) -> Qualification:
    """Add the model's decisions; None when no model answered.

    Decisions on unknown ids are ignored, and the first of several on one id counts. Candidates
    without a decision are rejected as unjudged. At most `limits.recall_k` artifacts and
    `limits.recall_tokens` tokens qualify, counted as a stage sees them; the previous turn first.
    """
    decided = _by_id(decisions)
    verdicts = list(screening.verdicts)
    qualified: list[Artifact] = list(screening.passed)
    left = limits.recall_tokens - sum(_cost(artifact, limits) for artifact in qualified)
    for artifact in screening.to_judge:
        decision = decided.get(artifact.artifact_id)
        if decision is None or not decision.relevant:
            verdicts.append(_declined(artifact, decision))
            continue
        cost = _cost(artifact, limits)
        if len(qualified) >= limits.recall_k or cost > left:
            verdicts.append(verdict(artifact, QualificationReason.OVER_BUDGET))
            continue
        left -= cost
        qualified.append(artifact)
        verdicts.append(verdict(artifact, QualificationReason.RELEVANT, decision.reason))
    return Qualification(verdicts=verdicts, qualified=qualified)


def _previous_turn(candidates: Sequence[Artifact], key: SessionKey) -> Artifact | None:
    """The newest turn of this session among the candidates."""
    own = [
        artifact
        for artifact in candidates
        if artifact.kind is ArtifactKind.TURN
        and artifact.session == key.session
        and artifact.tenant == key.tenant
    ]
    return max(own, key=lambda item: (item.turn or 0, utc(item.created_at)), default=None)


def _by_id(decisions: RelevanceBatch | None) -> dict[str, RelevanceDecision]:
    """The first decision on each id, also under the id without brackets that a model added."""
    found: dict[str, RelevanceDecision] = {}
    for decision in decisions.decisions if decisions is not None else ():
        named = decision.artifact_id.strip()
        found.setdefault(named, decision)
        if named.startswith("[") and named.endswith("]"):
            found.setdefault(named[1:-1].strip(), decision)
    return found


def _declined(artifact: Artifact, decision: RelevanceDecision | None) -> QualificationVerdict:
    if decision is None:
        return verdict(artifact, QualificationReason.UNJUDGED, "the model gave no decision")
    return verdict(artifact, QualificationReason.NOT_RELEVANT, decision.reason)


def _cost(artifact: Artifact, limits: Limits) -> int:
    return min(estimate_tokens(artifact.content), limits.artifact_tokens)
