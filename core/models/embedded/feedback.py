"""Read what was said of an answer: was it good, bad, or not said?"""

from collections.abc import Mapping
from enum import Enum

from core.domain.answer_scoring import score_answer
from core.models.embedded.speech import is_correction, is_praise
from core.models.embedded.views import items_of, mapping_of, text_of


class Verdict(Enum):
    """What feedback says of an answer."""

    NONE = "none"
    GOOD = "good"
    BAD = "bad"


def verdict_on(generation: object, feedback: object) -> Verdict:
    """The verdict of the newest feedback that has one."""
    answer = text_of(mapping_of(generation).get("final_answer"))
    verdicts = [_verdict(answer, mapping_of(item)) for item in items_of(feedback)]
    said = [verdict for verdict in verdicts if verdict is not Verdict.NONE]
    return said[-1] if said else Verdict.NONE


def truth_in(feedback: object) -> str:
    """The newest ground truth, or ''."""
    truths = [text_of(mapping_of(item).get("ground_truth")) for item in items_of(feedback)]
    return next((truth for truth in reversed(truths) if truth), "")


def _verdict(answer: str, item: Mapping[str, object]) -> Verdict:
    """Truth decides before reward, reward before thumbs, thumbs before words."""
    if truth := text_of(item.get("ground_truth")):
        # A list that is right in part is no proof that the lessons behind it were right.
        return Verdict.GOOD if score_answer(answer, truth) == 1 else Verdict.BAD
    reward = item.get("reward")
    if isinstance(reward, int | float) and reward:
        return Verdict.GOOD if reward > 0 else Verdict.BAD
    thumbs = text_of(item.get("thumbs"))
    if thumbs in {"up", "down"}:
        return Verdict.GOOD if thumbs == "up" else Verdict.BAD
    comment = text_of(item.get("comment"))
    if is_praise(comment):
        return Verdict.GOOD
    return Verdict.BAD if is_correction(comment) else Verdict.NONE
