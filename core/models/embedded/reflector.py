"""Play the Reflector: what went right or wrong, from errors, corrections and praise."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from core.domain.language.detect import language_of
from core.models.embedded import lessons
from core.models.embedded.actions import actions_in
from core.models.embedded.choice_learning import (
    LESSONS_APART,
    ChoiceFinding,
    reflect_on_choices,
)
from core.models.embedded.conflicts import find_conflict
from core.models.embedded.entities import find_entities
from core.models.embedded.feedback import Verdict, truth_in, verdict_on
from core.models.embedded.formula_lessons import formula_lessons
from core.models.embedded.intents import intents
from core.models.embedded.matching import terms_of
from core.models.embedded.speech import is_correction, is_praise
from core.models.embedded.views import (
    BulletView,
    StateView,
    bullets_of,
    items_of,
    mapping_of,
    state_of,
    text_of,
    turn_input_of,
)
from core.models.embedded.wording import Language
from schemas.reflection import BulletTag, Reflection, Tag


@dataclass(frozen=True)
class _Turn:
    text: str
    language: Language
    state: StateView
    failed: tuple[str, ...]
    worked: bool
    bullets: tuple[BulletView, ...]
    previous: tuple[BulletView, ...]
    verdict: Verdict
    may_correct: bool


@dataclass(frozen=True)
class _Finding:
    error: str = ""
    cause: str = ""
    approach: str = ""
    insight: str = ""
    tag: Tag = "neutral"
    corrects: bool = False


def reflect(inputs: Mapping[str, object]) -> Reflection:
    """The reflection on a turn.

    Reads `current_input`, `state`, `generation`, `tool_results`, `used_bullets`,
    `previous_turn` and `feedback`. Feedback on the answer counts before everything else. A
    correction concerns the previous answer; it teaches a general lesson and never repeats the
    case.
    """
    turn = _read(inputs)
    answer = text_of(mapping_of(inputs.get("generation")).get("final_answer"))
    truth = truth_in(inputs.get("feedback"))
    choices = reflect_on_choices(turn.text, answer, truth, turn.bullets) if truth else None
    if choices is not None:
        return _on_choices(choices)
    finding = _finding(turn)
    if truth and turn.verdict is Verdict.BAD:
        lessons_told = formula_lessons(turn.text, truth, turn.bullets)
        finding = replace(finding, insight=LESSONS_APART.join(lessons_told))
    return Reflection(
        reasoning=_reasoning(turn, finding),
        error_identification=finding.error,
        root_cause_analysis=finding.cause,
        correct_approach=finding.approach,
        key_insight=finding.insight,
        bullet_tags=[BulletTag(id=bullet.id, tag=finding.tag) for bullet in turn.bullets],
        corrects_previous=finding.corrects,
        previous_bullet_tags=_previous_tags(turn) if finding.corrects else [],
    )


def _on_choices(found: ChoiceFinding) -> Reflection:
    return Reflection(
        reasoning="compared the options that were chosen with the right ones",
        error_identification="; ".join(found.wrong),
        key_insight=LESSONS_APART.join(found.lessons),
        bullet_tags=list(found.tags),
    )


def _read(inputs: Mapping[str, object]) -> _Turn:
    current = turn_input_of(inputs.get("current_input"))
    text = current.text
    results = [mapping_of(item) for item in items_of(inputs.get("tool_results"))]
    failed = tuple(text_of(item.get("name")) for item in results if item.get("is_error"))
    return _Turn(
        text=text,
        language=language_of(text),
        state=state_of(inputs.get("state")),
        failed=failed,
        worked=len(results) > len(failed),
        bullets=tuple(bullets_of(inputs.get("used_bullets"))),
        previous=tuple(bullets_of(mapping_of(inputs.get("previous_turn")).get("used_bullets"))),
        verdict=verdict_on(inputs.get("generation"), inputs.get("feedback")),
        may_correct=current.authority.may_rule,
    )


def _finding(turn: _Turn) -> _Finding:
    """The most telling thing of the turn: feedback, a failure, a correction, or a success."""
    japanese = turn.language == "ja"
    if turn.verdict is not Verdict.NONE:
        return _by_feedback(turn)
    if turn.failed:
        tool = turn.failed[0] or "tool"
        return _Finding(
            error=f"{tool} が失敗した" if japanese else f"{tool} failed",
            cause="引数が合わなかった可能性" if japanese else "its arguments may not have fitted",
            approach="失敗を伝え、引数を直す"
            if japanese
            else "report the failure, mend the arguments",
            insight=lessons.on_tool_failure(tool, turn.language),
        )
    if turn.may_correct and is_correction(turn.text):
        kind = next((entity.kind for entity in find_entities(turn.text)), "")
        return _Finding(
            error="前回の回答が訂正された"
            if japanese
            else "the user corrected the previous answer",
            cause="古い、または誤った事実" if japanese else "it rested on a wrong or outdated fact",
            approach="訂正を最新の事実とする"
            if japanese
            else "hold the correction as the latest fact",
            insight=lessons.on_correction(kind, turn.language),
            corrects=True,
        )
    if _pressed(turn):
        return _Finding(insight=lessons.on_pressure(turn.language), tag="helpful")
    if is_praise(turn.text):
        action = lessons.success_action(actions_in(turn.text))
        insight = lessons.on_success(action, turn.language) if action else ""
        return _Finding(insight=insight, tag="helpful")
    return _Finding(tag="helpful" if turn.worked else "neutral")


def _pressed(turn: _Turn) -> bool:
    """Whether x_t asked for something that an active constraint forbids."""
    rules = turn.state.ccs.constraints
    return any(find_conflict(wanted, rules) is not None for wanted in intents(turn.text))


def _by_feedback(turn: _Turn) -> _Finding:
    """A verdict counts on the bullets that were used; it teaches no lesson by itself."""
    if turn.verdict is Verdict.GOOD:
        return _Finding(tag="helpful")
    japanese = turn.language == "ja"
    return _Finding(
        error="回答は誤りと評価された" if japanese else "the answer was judged wrong",
        tag="harmful",
    )


def _previous_tags(turn: _Turn) -> list[BulletTag]:
    """Of the corrected answer's bullets, those harmed that the correction speaks of."""
    words = terms_of(turn.text)
    return [
        BulletTag(id=bullet.id, tag="harmful" if terms_of(bullet.content) & words else "neutral")
        for bullet in turn.previous
    ]


def _reasoning(turn: _Turn, finding: _Finding) -> str:
    if turn.language == "ja":
        return finding.error or ("学びがあった" if finding.insight else "特に学ぶことはない")
    return finding.error or ("something was learned" if finding.insight else "nothing to learn")
