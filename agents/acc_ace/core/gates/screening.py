"""The deterministic rules of the qualification gate, in order, each with a reason code.

One of them detects recalled text that imitates our prompts, roles or schemas.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from acc_ace.core.schemas.artifact import Artifact, ArtifactKind
from acc_ace.core.schemas.base import Authority, SessionKey
from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.core.schemas.qualification import QualificationReason, QualificationVerdict
from acc_ace.core.text.exchange import parts_of, written
from acc_ace.core.text.injection import instruction_like
from acc_ace.core.text.normalize import one_line, skeleton
from acc_ace.core.text.patterns import lazy_pattern, remembered
from acc_ace.core.text.rules.contradiction import contradiction, flag_contradiction
from acc_ace.core.text.similarity import Fingerprint, fingerprint, near_duplicate
from acc_ace.core.text.tokens import clip_tokens

_DELIMITER = lazy_pattern(
    r"[<＜]\s*[/／]?\s*(system|assistant|tool_call|tool_result|function_calls?|instructions?)\b"
    r"[^<>\n]{0,200}[>＞]"
    r"|[<＜]\s*artifact\s+id\s*=|[<＜]\s*[/／]\s*(artifact|input)\s*[>＞]"
    r"|[<＜]\s*input\s+name\s*=\s*\W?(current_input|previous_state|state|artifacts|candidates"
    r"|playbook|warnings|reflection|generation)\b"
    r"|[<＜][|｜]\s*(im_start|im_end|system|user|assistant|endoftext|eot_id)\b"
    r"|\[/?INST\]|<<SYS>>",
    re.IGNORECASE,
)
"""Tags of our prompts and of models' chat templates."""

_SECTION = lazy_pattern(
    r"^\s{0,3}[#＃]{1,4}\s*(constraints|system prompt|new instructions?)\s*[:：]?\s*$"
    r"|^[^\S\n]{0,8}-?[^\S\n]{0,8}\[c[-‐‑–]\d{4,}\]\s",
    re.IGNORECASE | re.MULTILINE,
)
"""A heading or line of a rendered state."""

_ROLE = lazy_pattern(
    r"^[\s>*_\"'\-]{0,8}(system|developer|assistant|システム)( (prompt|message|プロンプト))?"
    r"[\s*_]{0,4}[:：]\s*\S",
    re.IGNORECASE | re.MULTILINE,
)
_SCHEMA_KEY = lazy_pattern(
    r"[\"'](episodic_trace|semantic_gist|focal_entities|relational_map|goal_orientation|constraints"
    r"|predictive_cue|uncertainty_signal|retrieved_artifacts|final_answer|bullet_ids|bullet_tags"
    r"|operations|decisions|qualified|verdicts|superseded_by|artifact_id)[\"']\s*[:：]"
)
_SCHEMA_KEYS = 2
"""Number of distinct schema keys from which a text imitates a schema."""


@remembered
def impersonates(text: str, kind: ArtifactKind) -> str | None:
    """What a text imitates, in a few words, or None.

    A turn is this user's own exchange, which may name speakers and cite constraints, so only a
    forged delimiter counts there.
    """
    text = skeleton(text)
    if _DELIMITER.search(text):
        return "prompt delimiter"
    if kind is ArtifactKind.TURN:
        return None
    if _SECTION.search(text):
        return "section of the state"
    if _ROLE.search(text):
        return "role header"
    if len({match[1] for match in _SCHEMA_KEY.finditer(text)}) >= _SCHEMA_KEYS:
        return "schema of ours"
    return None


_CEILING: dict[ArtifactKind, Authority] = {
    ArtifactKind.TURN: Authority.USER,
    ArtifactKind.NOTE: Authority.USER,
    ArtifactKind.TOOL_RESULT: Authority.TOOL,
    ArtifactKind.DOCUMENT: Authority.RETRIEVED,
}
"""Maximum authority by kind of artifact. Recall never raises it."""

_HARD_INJECTION = lazy_pattern(
    r"(previous|prior|earlier|above|preceding|system)\W+(\w+\W+)?(instructions?|prompts?)"
    r"|you\s+are\s+now|(以前|これまで|上記|従来|全て|すべて)の?(指示|命令|プロンプト)",
    re.IGNORECASE,
)
"""Phrases rejected even in a quoted turn, where the user may refer to rules and bans."""


_DETAIL_TOKENS = 40


def verdict(
    artifact: Artifact, reason: QualificationReason, detail: str = ""
) -> QualificationVerdict:
    """The gate's word on a candidate; `detail` is cut."""
    return QualificationVerdict(
        artifact_id=artifact.artifact_id,
        ok=reason in {QualificationReason.RELEVANT, QualificationReason.PREVIOUS_TURN},
        reason=reason,
        detail=clip_tokens(one_line(detail), _DETAIL_TOKENS),
    )


class RuleScreen:
    """Checks the candidates of one recall one by one, best first.

    A candidate is compared with the better ones that passed, so `reject` must be called once for
    each, in order. `seen_tokens` is the maximum of a content that is examined.
    """

    def __init__(
        self,
        *,
        key: SessionKey,
        pins: Sequence[ConstraintPin],
        now: datetime,
        seen_tokens: int,
    ) -> None:
        self._key = key
        self._pins = pins
        self._now = utc(now)
        self._seen_tokens = seen_tokens
        self._better: dict[str, Fingerprint] = {}

    def reject(self, artifact: Artifact) -> QualificationVerdict | None:
        """Why the artifact is rejected, or None if it passes."""
        text = clip_tokens(artifact.content, self._seen_tokens)
        own = fingerprint(artifact.content)
        rejection = (
            self._out_of_scope(artifact)
            or _too_much_authority(artifact)
            or self._stale(artifact)
            or self._duplicate(artifact, own)
            or _imitation(artifact, text)
            or _commanding(artifact, text)
            or self._contradicting(artifact, text)
        )
        if rejection is None:
            self._better[artifact.artifact_id] = own
        return rejection

    def _out_of_scope(self, artifact: Artifact) -> QualificationVerdict | None:
        if artifact.tenant == self._key.tenant:
            return None
        return verdict(artifact, QualificationReason.OUT_OF_SCOPE, "of another tenant")

    def _stale(self, artifact: Artifact) -> QualificationVerdict | None:
        if artifact.superseded_by:
            why = f"superseded by {artifact.superseded_by}"
        elif artifact.expires_at is not None and utc(artifact.expires_at) <= self._now:
            why = f"expired {artifact.expires_at:%Y-%m-%d}"
        else:
            return None
        return verdict(artifact, QualificationReason.STALE, why)

    def _duplicate(self, artifact: Artifact, own: Fingerprint) -> QualificationVerdict | None:
        for artifact_id, other in self._better.items():
            if artifact_id == artifact.artifact_id or near_duplicate(own, other):
                return verdict(artifact, QualificationReason.DUPLICATE, f"same as {artifact_id}")
        return None

    def _contradicting(self, artifact: Artifact, text: str) -> QualificationVerdict | None:
        # A turn of this session quotes requests made under these rules, which do not contradict.
        # One of another session may refer to other rules, which must not be confused with these.
        if artifact.kind is ArtifactKind.TURN and artifact.session == self._key.session:
            return None
        against = contradiction(text, self._pins)
        if against is None:
            return None
        detail = f"{against.constraint_id}: {against.sentence}"
        return verdict(artifact, QualificationReason.CONTRADICTS_CONSTRAINT, detail)


def quotation(artifact: Artifact, pins: Sequence[ConstraintPin], *, max_tokens: int) -> Artifact:
    """The artifact for a model, clipped; if it contradicts a rule, the rule is added.

    In a turn the user's own words are not checked: a request is not a contradiction. What others
    say in it is not shown if it imitates our prompts or addresses instructions.
    """
    text = clip_tokens(artifact.content, max_tokens)
    parts = parts_of(text) if artifact.kind is ArtifactKind.TURN else []
    if not any(part.who for part in parts):
        shown = flag_contradiction(text, pins)
    else:
        shown = written(
            part if part.who in _OWN else part._replace(text=_screened(part.text, pins))
            for part in parts
        )
    return artifact.model_copy(update={"content": shown})


_OWN = ("user", "system")


def _screened(text: str, pins: Sequence[ConstraintPin]) -> str:
    why = impersonates(text, ArtifactKind.TURN)
    if why is None and (phrase := instruction_like(text)) and _HARD_INJECTION.search(phrase):
        why = "instruction"
    return flag_contradiction(text, pins) if why is None else f"[not shown: imitates a {why}]"


RULE_TOKENS = 256
"""Beside an artifact's own budget, for a rule that is quoted with it."""


class Screened(NamedTuple):
    """Recalled text that a model may be shown, and what the rules of the gate rejected."""

    shown: list[Artifact]
    """Cut, best first; what contradicts a rule in force has that rule beside it."""
    rejected: list[QualificationVerdict]


def screened(
    artifacts: Iterable[Artifact],
    *,
    key: SessionKey,
    pins: Sequence[ConstraintPin],
    now: datetime,
    max_tokens: int,
) -> Screened:
    """Pass recalled text, best first, through the rules of the gate on its way to a model.

    What contradicts a rule is rejected, and shown all the same as a quotation with the rule beside
    it; what is rejected for another reason is not shown. `max_tokens` bounds one artifact.
    """
    rules = RuleScreen(key=key, pins=pins, now=now, seen_tokens=max_tokens)
    shown: list[Artifact] = []
    rejected: list[QualificationVerdict] = []
    for artifact in artifacts:
        rejection = rules.reject(artifact)
        if rejection is not None:
            rejected.append(rejection)
            if rejection.reason is not QualificationReason.CONTRADICTS_CONSTRAINT:
                continue
        shown.append(quotation(artifact, pins, max_tokens=max_tokens))
    return Screened(shown, rejected)


def utc(moment: datetime) -> datetime:
    """The moment with a time zone; UTC if it has none."""
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _too_much_authority(artifact: Artifact) -> QualificationVerdict | None:
    if artifact.authority.rank <= _CEILING[artifact.kind].rank:
        return None
    claim = f"a {artifact.kind.value} cannot have {artifact.authority.value} authority"
    return verdict(artifact, QualificationReason.AUTHORITY, claim)


def _imitation(artifact: Artifact, text: str) -> QualificationVerdict | None:
    if imitated := impersonates(text, artifact.kind):
        return verdict(artifact, QualificationReason.IMPERSONATION, f"imitates a {imitated}")
    return None


def _commanding(artifact: Artifact, text: str) -> QualificationVerdict | None:
    phrase = instruction_like(text)
    if phrase is None:
        return None
    if artifact.kind is ArtifactKind.TURN and not _HARD_INJECTION.search(phrase):
        return None
    return verdict(artifact, QualificationReason.INSTRUCTION_LIKE, phrase)
