"""The qualification gate: which recalled candidates may reach the compressor.

Deterministic rules come first, each with a reason code; only the candidates that pass go to the
model, which judges only relevance (step 3 of Algorithm 1, A_t to A_t+).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from acc_ace.core.gates.screening import RuleScreen, utc, verdict
from acc_ace.core.schemas.artifact import Artifact, ArtifactKind, Recall
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.commit import CommittedState
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.qualification import (
    Qualification,
    QualificationReason,
    QualificationVerdict,
    RelevanceBatch,
    RelevanceDecision,
)
from acc_ace.core.text.tokens import estimate_tokens


@dataclass(frozen=True)
class Screening:
    """The verdicts of the deterministic rules, and the candidates for the model; best first."""

    verdicts: tuple[QualificationVerdict, ...]
    passed: tuple[Artifact, ...]
    to_judge: tuple[Artifact, ...]


RELEVANT_SCORE: Final = 0.3
"""From here on, a candidate near the best is relevant without a model's word."""

DOUBTFUL_SCORE: Final = 0.15
"""Below it a candidate shares too little with x_t to be worth a model call."""

NEAR_BEST: Final = 0.4
"""Share of the best score below which a candidate is not relevant.

Scores are shares of x_t's weighted terms, with bonuses for place and time (`memory.ranking`). What
is qualified fills the budget of quotations in the order of its scores (docs/benchmarks.md).
"""

_BESIDE_BEST: Final = 0.8
"""Share of the best score from which on a model judges what a score leaves in doubt."""


def decide_by_score(
    candidates: Sequence[Artifact], scores: Mapping[str, float]
) -> list[RelevanceDecision]:
    """Decide the candidates whose scores leave no doubt; the model judges the others."""
    best = max((scores.get(each.artifact_id, 0.0) for each in candidates), default=0.0)
    decisions = []
    for artifact in candidates:
        score = scores.get(artifact.artifact_id, 0.0)
        # Far from the best, a model would be asked for little: it is plainly relevant, or out.
        least = DOUBTFUL_SCORE if score >= _BESIDE_BEST * best else RELEVANT_SCORE
        is_out = score < max(least, NEAR_BEST * best)
        if is_out or score >= RELEVANT_SCORE:
            decision = RelevanceDecision(
                artifact_id=artifact.artifact_id, relevant=not is_out, reason=f"score {score:.2f}"
            )
            decisions.append(decision)
    return decisions


def screen(
    recall: Recall,
    *,
    key: SessionKey,
    state: CommittedState,
    now: datetime,
    limits: Limits,
    mandatory: Collection[str] = (),
) -> Screening:
    """Apply the deterministic rules, in order: scope, authority, staleness, duplicates,
    impersonation, instruction-like content, contradiction with active constraints.

    The newest turn of this session and `mandatory` ids need no judgement if they pass the rules.
    Content is examined up to the maximum length that any stage is shown.
    """
    rules = RuleScreen(
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
            verdicts.append(rejection)
        elif artifact is previous or artifact.artifact_id in mandatory:
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
    """The first decision on each id, also under the id without what a model put around it."""
    by_id: dict[str, RelevanceDecision] = {}
    for decision in decisions.decisions if decisions is not None else ():
        named = decision.artifact_id.strip()
        by_id.setdefault(named, decision)
        by_id.setdefault(named.strip("\"'`[] "), decision)
    return by_id


def _declined(artifact: Artifact, decision: RelevanceDecision | None) -> QualificationVerdict:
    if decision is None:
        return verdict(artifact, QualificationReason.UNJUDGED, "the model gave no decision")
    return verdict(artifact, QualificationReason.NOT_RELEVANT, decision.reason)


def _cost(artifact: Artifact, limits: Limits) -> int:
    return min(estimate_tokens(artifact.content), limits.artifact_tokens)
