"""The qualification gate: which recalled candidates may reach the compressor.

Deterministic rules come first, each with a reason code; only what they leave goes to the model,
which judges relevance and nothing else (step 3 of Algorithm 1, A_t to A_t+).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from core.domain.gate.contradiction import contradiction
from core.domain.gate.impersonation import impersonates
from core.domain.language.injection import instruction_like
from core.domain.plain_text import one_line
from core.domain.similarity import near_duplicate
from core.domain.tokens import clip_tokens, estimate_tokens
from schemas.artifact import Artifact, ArtifactKind, Recall
from schemas.authority import Authority
from schemas.commit import CommittedState, ConstraintPin
from schemas.limits import Limits
from schemas.qualification import (
    Qualification,
    QualificationReason,
    QualificationVerdict,
    RelevanceBatch,
    RelevanceDecision,
)
from schemas.tenancy import SessionKey

_DETAIL_TOKENS = 40

_HARD_INJECTION = re.compile(
    r"(previous|prior|earlier|above|preceding|system)\W+(\w+\W+)?(instructions?|prompts?)"
    r"|you\s+are\s+now|(以前|これまで|上記|従来|全て|すべて)の?(指示|命令|プロンプト)",
    re.IGNORECASE,
)
"""What not even a quoted turn may say; to name a rule or a ban is a user's right."""

_CEILING: dict[ArtifactKind, Authority] = {
    ArtifactKind.TURN: Authority.USER,
    ArtifactKind.NOTE: Authority.USER,
    ArtifactKind.TOOL_RESULT: Authority.TOOL,
    ArtifactKind.DOCUMENT: Authority.RETRIEVED,
}
"""The most authority that a kind of artifact can have. Being recalled raises none."""


@dataclass(frozen=True)
class Screening:
    """What the deterministic rules decided, and what is left for the model; best first."""

    verdicts: tuple[QualificationVerdict, ...]
    passed: tuple[Artifact, ...]
    to_judge: tuple[Artifact, ...]


@dataclass(frozen=True)
class _Rules:
    """What the deterministic rules need to know of the turn."""

    key: SessionKey
    pins: Sequence[ConstraintPin]
    now: datetime
    seen_tokens: int

    def reject(
        self, artifact: Artifact, better: Iterable[Artifact]
    ) -> tuple[QualificationReason, str] | None:
        """Why an artifact may not pass, with the detail, or None."""
        if artifact.tenant != self.key.tenant:
            return QualificationReason.OUT_OF_SCOPE, "of another tenant"
        if artifact.authority.rank > _CEILING[artifact.kind].rank:
            claim = f"a {artifact.kind.value} cannot have {artifact.authority.value} authority"
            return QualificationReason.AUTHORITY, claim
        return self._stale(artifact) or _duplicate(artifact, better) or self._content(artifact)

    def _stale(self, artifact: Artifact) -> tuple[QualificationReason, str] | None:
        if artifact.superseded_by:
            return QualificationReason.STALE, f"superseded by {artifact.superseded_by}"
        if artifact.expires_at is not None and _utc(artifact.expires_at) <= _utc(self.now):
            return QualificationReason.STALE, f"expired {artifact.expires_at:%Y-%m-%d}"
        return None

    def _content(self, artifact: Artifact) -> tuple[QualificationReason, str] | None:
        text = clip_tokens(artifact.content, self.seen_tokens)
        imitated = impersonates(text, artifact.kind)
        if imitated:
            return QualificationReason.IMPERSONATION, f"imitates a {imitated}"
        phrase = instruction_like(text)
        if phrase and (artifact.kind is not ArtifactKind.TURN or _HARD_INJECTION.search(phrase)):
            return QualificationReason.INSTRUCTION_LIKE, phrase
        # A turn quotes what the user said then; to ask for something is not to contradict.
        if artifact.kind is ArtifactKind.TURN:
            return None
        against = contradiction(text, self.pins)
        if against is None:
            return None
        detail = f"{against.constraint_id}: {against.sentence}"
        return QualificationReason.CONTRADICTS_CONSTRAINT, detail


def screen(
    recall: Recall, *, key: SessionKey, state: CommittedState, now: datetime, limits: Limits
) -> Screening:
    """Apply the deterministic rules, in order: scope, authority, staleness, duplicates,
    impersonation, instruction-like content, contradiction with active constraints.

    The newest turn of this session passes without the model's judgement if the rules let it.
    Content is examined as far as any stage can be shown it.
    """
    rules = _Rules(
        key=key,
        pins=state.pins,
        now=now,
        seen_tokens=max(limits.artifact_tokens, limits.recall_tokens),
    )
    candidates = [candidate.artifact for candidate in recall.candidates]
    previous = _previous_turn(candidates, key)
    if previous is not None:
        # First, so that it is never somebody else's duplicate.
        candidates.remove(previous)
        candidates.insert(0, previous)
    verdicts: list[QualificationVerdict] = []
    passed: list[Artifact] = []
    to_judge: list[Artifact] = []
    for artifact in candidates:
        rejected = rules.reject(artifact, [*passed, *to_judge])
        if rejected is not None:
            verdicts.append(_verdict(artifact, rejected[0], rejected[1]))
        elif artifact is previous:
            passed.append(artifact)
            verdicts.append(_verdict(artifact, QualificationReason.PREVIOUS_TURN))
        else:
            to_judge.append(artifact)
    return Screening(tuple(verdicts), tuple(passed), tuple(to_judge))


def conclude(
    screening: Screening, decisions: RelevanceBatch | None, *, limits: Limits
) -> Qualification:
    """Add the model's word on what was left; None when no model answered.

    Decisions on ids that were not asked about are ignored, and the first of several on one id
    counts. What has no decision is left out as unjudged. At most `limits.recall_k` artifacts and
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
            verdicts.append(_verdict(artifact, QualificationReason.OVER_BUDGET))
            continue
        left -= cost
        qualified.append(artifact)
        verdicts.append(_verdict(artifact, QualificationReason.RELEVANT, decision.reason))
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
    return max(own, key=lambda item: (item.turn or 0, _utc(item.created_at)), default=None)


def _duplicate(
    artifact: Artifact, better: Iterable[Artifact]
) -> tuple[QualificationReason, str] | None:
    for other in better:
        same_id = artifact.artifact_id == other.artifact_id
        if same_id or near_duplicate(artifact.content, other.content):
            return QualificationReason.DUPLICATE, f"same as {other.artifact_id}"
    return None


def _by_id(decisions: RelevanceBatch | None) -> dict[str, RelevanceDecision]:
    found: dict[str, RelevanceDecision] = {}
    for decision in decisions.decisions if decisions is not None else ():
        found.setdefault(decision.artifact_id.strip().strip("[]"), decision)
    return found


def _declined(artifact: Artifact, decision: RelevanceDecision | None) -> QualificationVerdict:
    if decision is None:
        return _verdict(artifact, QualificationReason.UNJUDGED, "the model gave no decision")
    return _verdict(artifact, QualificationReason.NOT_RELEVANT, decision.reason)


def _verdict(
    artifact: Artifact, reason: QualificationReason, detail: str = ""
) -> QualificationVerdict:
    return QualificationVerdict(
        artifact_id=artifact.artifact_id,
        ok=reason in {QualificationReason.RELEVANT, QualificationReason.PREVIOUS_TURN},
        reason=reason,
        detail=clip_tokens(one_line(detail), _DETAIL_TOKENS),
    )


def _cost(artifact: Artifact, limits: Limits) -> int:
    return min(estimate_tokens(artifact.content), limits.artifact_tokens)


def _utc(moment: datetime) -> datetime:
    """The moment with a zone; one without is read as UTC."""
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
