"""Play the Qualifier: which candidates bear on the current decision, by words they share."""

from collections.abc import Mapping

from acc_ace.rules_model.speech_acts import is_greeting
from acc_ace.rules_model.text_match import terms_of
from acc_ace.rules_model.views import Evidence, evidence_of, state_of, turn_input_of
from acc_ace.schemas.qualification import RelevanceBatch, RelevanceDecision
from acc_ace.text.language import language_of

_ENOUGH = 2
"""Shared terms with x_t that make a candidate relevant; a shared entity counts twice."""

_ENOUGH_OF_GOAL = 4
_REASON = {
    "en": ("shares {what} with the input", "shares nothing the decision needs"),
    "ja": ("入力と共通：{what}", "判断に必要な共通点がありません"),
}


def judge(inputs: Mapping[str, object]) -> RelevanceBatch:
    """Decide on every candidate; reads `current_input`, `previous_state` and `candidates`."""
    text = turn_input_of(inputs.get("current_input")).text
    state = state_of(inputs.get("previous_state"))
    chat = is_greeting(text)
    wanted = frozenset() if chat else terms_of(text)
    goal = frozenset() if chat else terms_of(state.ccs.goal_orientation)
    language = language_of(text)
    return RelevanceBatch(
        decisions=[
            _decision(item, wanted, goal - wanted, _REASON[language])
            for item in evidence_of(inputs.get("candidates"))
        ]
    )


def _decision(
    item: Evidence, wanted: frozenset[str], goal: frozenset[str], reasons: tuple[str, str]
) -> RelevanceDecision:
    terms = terms_of(item.content)
    shared = terms & wanted
    relevant = _weight(shared) >= _needed(wanted) or (
        bool(shared) and _weight(terms & goal) >= _ENOUGH_OF_GOAL
    )
    words = ", ".join(sorted(term.lstrip("@!") for term in shared)[:4])
    return RelevanceDecision(
        artifact_id=item.id,
        relevant=relevant,
        reason=reasons[0].format(what=words) if relevant else reasons[1],
    )


def _weight(terms: frozenset[str]) -> int:
    return sum(2 if term.startswith("@") else 1 for term in terms)


def _needed(wanted: frozenset[str]) -> int:
    """A short input has few terms to share: one of one or two is enough."""
    return _ENOUGH if len(wanted) > 2 else 1
