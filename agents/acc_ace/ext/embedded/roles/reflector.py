"""The Reflector role: what went right or wrong, from feedback, errors, corrections and praise.

A lesson is general, without names and facts of a single case.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from acc_ace.core.schemas.reflection import BulletTag, Reflection, Tag
from acc_ace.core.text.answer_scoring import score_answer
from acc_ace.core.text.normalize import language_of
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.rules.corrections import is_correction
from acc_ace.core.text.similarity import content_words
from acc_ace.ext.embedded.conflicts import breaks, intents, things_in
from acc_ace.ext.embedded.phrases import Language, say
from acc_ace.ext.embedded.speech_acts import is_praise
from acc_ace.ext.embedded.views import (
    BulletView,
    StateView,
    bullets_of,
    items_of,
    mapping_of,
    state_of,
    text_of,
    turn_input_of,
)

_INSTRUCTION = lazy_pattern(
    r"(?:Avoid|Drink|Eat|Heal with|Keep (?:off|away from)|Look for) [\w ,'-]{2,80}\."
)
"""One short sentence that says what to do."""


class FeedbackVerdict(Enum):
    """The verdict of feedback on an answer."""

    NONE = "none"
    GOOD = "good"
    BAD = "bad"


@dataclass(frozen=True)
class _ReflectorTurn:
    text: str
    language: Language
    state: StateView
    failed: tuple[str, ...]
    worked: bool
    bullets: tuple[BulletView, ...]
    previous: tuple[BulletView, ...]
    verdict: FeedbackVerdict
    right: str
    """The right answer or the comment in the feedback."""
    may_correct: bool


@dataclass(frozen=True)
class _Finding:
    error: str = ""
    insight: str = ""
    tag: Tag = "neutral"
    corrects: bool = False


def reflect(inputs: Mapping[str, object]) -> Reflection:
    """The reflection on a turn.

    Reads `current_input`, `state`, `generation`, `tool_results`, `used_bullets`,
    `previous_turn` and `feedback`. Feedback on the answer takes precedence. A correction concerns
    the previous answer; its lesson is general and never repeats the case.
    """
    turn = _read(inputs)
    finding = _finding(turn)
    return Reflection(
        reasoning=finding.error,
        error_identification=finding.error,
        key_insight=finding.insight,
        bullet_tags=[BulletTag(id=bullet.id, tag=finding.tag) for bullet in turn.bullets],
        corrects_previous=finding.corrects,
        previous_bullet_tags=_previous_tags(turn) if finding.corrects else [],
    )


def _read(inputs: Mapping[str, object]) -> _ReflectorTurn:
    current = turn_input_of(inputs.get("current_input"))
    results = [mapping_of(item) for item in items_of(inputs.get("tool_results"))]
    failed = tuple(text_of(item.get("name")) for item in results if item.get("is_error"))
    return _ReflectorTurn(
        text=current.text,
        language=language_of(current.text),
        state=state_of(inputs.get("state")),
        failed=failed,
        worked=len(results) > len(failed),
        bullets=tuple(bullets_of(inputs.get("used_bullets"))),
        previous=tuple(bullets_of(mapping_of(inputs.get("previous_turn")).get("used_bullets"))),
        verdict=_verdict_of(inputs.get("generation"), inputs.get("feedback")),
        right=_right(inputs.get("feedback")),
        may_correct=current.authority.may_rule,
    )


def _finding(turn: _ReflectorTurn) -> _Finding:
    """The most important signal of the turn: feedback, a failure, a correction, or a success."""
    if turn.verdict is not FeedbackVerdict.NONE:
        return _on_verdict(turn)
    if turn.failed:
        return _on_failure(turn.failed[0] or "tool", turn.language)
    if turn.may_correct and is_correction(turn.text):
        return _on_correction(turn)
    if _pressed(turn):
        return _Finding(insight=say("lesson_of_pressure", turn.language), tag="helpful")
    return _Finding(tag="helpful" if turn.worked or is_praise(turn.text) else "neutral")


def _on_verdict(turn: _ReflectorTurn) -> _Finding:
    """Tag the used bullets by the verdict; the right answer also gives a lesson."""
    if turn.verdict is FeedbackVerdict.GOOD:
        return _Finding(tag="helpful")
    error = say("judged_wrong", turn.language)
    if not turn.right:
        return _Finding(error=error, tag="harmful")
    return replace(_correction(turn.right, turn.language), error=error, tag="harmful")


def _on_failure(tool: str, language: Language) -> _Finding:
    return _Finding(
        error=say("error_of_tool", language, tool=tool),
        insight=say("lesson_of_tool_error", language, tool=tool),
    )


def _on_correction(turn: _ReflectorTurn) -> _Finding:
    return replace(_correction(turn.text, turn.language), corrects=True)


def _correction(right: str, language: Language) -> _Finding:
    """The general lesson of a right answer, which never names its value.

    A right answer that is an instruction and names nobody is the lesson itself.
    """
    is_instruction = not things_in(right) and _INSTRUCTION.fullmatch(right)
    return _Finding(
        error=say("error_of_answer", language),
        insight=right if is_instruction else say("lesson_of_correction", language),
    )


def _pressed(turn: _ReflectorTurn) -> bool:
    """Whether x_t requests something that an active constraint forbids."""
    rules = turn.state.ccs.constraints
    return any(breaks(wanted, rule) for wanted in intents(turn.text) for rule in rules)


def _previous_tags(turn: _ReflectorTurn) -> list[BulletTag]:
    """Tags of the corrected answer's bullets: harmful if the correction shares terms with them."""
    words = content_words(turn.text)
    return [
        BulletTag(
            id=bullet.id, tag="harmful" if content_words(bullet.content) & words else "neutral"
        )
        for bullet in turn.previous
    ]


def _right(feedback: object) -> str:
    """The newest ground truth in the feedback, or the newest comment."""
    pieces = [mapping_of(item) for item in items_of(feedback)]
    texts = [text_of(item.get(name)) for name in ("comment", "ground_truth") for item in pieces]
    return next(filter(None, reversed(texts)), "")


def _verdict_of(generation: object, feedback: object) -> FeedbackVerdict:
    """The verdict of the newest feedback with one."""
    answer = text_of(mapping_of(generation).get("final_answer"))
    verdicts = [_verdict(answer, mapping_of(item)) for item in items_of(feedback)]
    votes = [verdict for verdict in verdicts if verdict is not FeedbackVerdict.NONE]
    return votes[-1] if votes else FeedbackVerdict.NONE


def _verdict(answer: str, item: Mapping[str, object]) -> FeedbackVerdict:
    """Precedence: ground truth, reward, thumbs, comment."""
    score = item.get("score")
    if isinstance(score, int | float):
        return FeedbackVerdict.GOOD if score == 1 else FeedbackVerdict.BAD
    if truth := text_of(item.get("ground_truth")):
        # A partly right list does not prove that the lessons behind it were right.
        return FeedbackVerdict.GOOD if score_answer(answer, truth) == 1 else FeedbackVerdict.BAD
    reward = item.get("reward")
    if isinstance(reward, int | float) and reward:
        return FeedbackVerdict.GOOD if reward > 0 else FeedbackVerdict.BAD
    thumbs = text_of(item.get("thumbs"))
    if thumbs in {"up", "down"}:
        return FeedbackVerdict.GOOD if thumbs == "up" else FeedbackVerdict.BAD
    comment = text_of(item.get("comment"))
    if is_praise(comment):
        return FeedbackVerdict.GOOD
    return FeedbackVerdict.BAD if is_correction(comment) else FeedbackVerdict.NONE
