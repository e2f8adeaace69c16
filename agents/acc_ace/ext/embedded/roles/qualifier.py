"""The Qualifier role: relevant is what shares words with x_t, or much with the goal."""

from collections.abc import Mapping

from acc_ace.core.schemas.qualification import RelevanceBatch, RelevanceDecision
from acc_ace.core.text.normalize import language_of
from acc_ace.core.text.similarity import content_words
from acc_ace.ext.embedded.speech_acts import is_greeting
from acc_ace.ext.embedded.views import ArtifactView, evidence_of, state_of, turn_input_of

_ENOUGH = 2
"""Words shared with x_t that make a candidate relevant; one with a digit counts twice."""

_ENOUGH_OF_GOAL = 4
_REASONS = {
    "en": ("shares {what} with the input", "shares nothing the decision needs"),
    "ja": ("入力との共通語：{what}", "判断に必要な内容がありません"),
}


def judge(inputs: Mapping[str, object]) -> RelevanceBatch:
    """Judge every candidate; reads `current_input`, `previous_state` and `candidates`."""
    text = turn_input_of(inputs.get("current_input")).text
    state = state_of(inputs.get("previous_state"))
    is_chat = is_greeting(text)
    wanted = frozenset() if is_chat else content_words(text)
    goal = frozenset() if is_chat else content_words(state.ccs.goal_orientation)
    reasons = _REASONS[language_of(text)]
    return RelevanceBatch(
        decisions=[
            _decision(item, wanted, goal - wanted, reasons)
            for item in evidence_of(inputs.get("candidates"))
        ]
    )


def _decision(
    item: ArtifactView, wanted: frozenset[str], goal: frozenset[str], reasons: tuple[str, str]
) -> RelevanceDecision:
    words = content_words(item.content)
    shared = words & wanted
    is_relevant = _weight(shared) >= (_ENOUGH if len(wanted) > _ENOUGH else 1) or (
        bool(shared) and _weight(words & goal) >= _ENOUGH_OF_GOAL
    )
    return RelevanceDecision(
        artifact_id=item.id,
        relevant=is_relevant,
        reason=reasons[0].format(what=", ".join(sorted(shared)[:4])) if is_relevant else reasons[1],
    )


def _weight(words: frozenset[str]) -> int:
    return sum(2 if any(map(str.isdigit, word)) else 1 for word in words)
