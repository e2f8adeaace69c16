"""Calculate with a formula and its lessons, and draw lessons from answers that are known.

A lesson names words that stood beside the right number: 'In "Free Cash Flow", "Capital
Expenditures" goes with the words "spent, equipment".' It holds no number and no name.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from core.domain.answer_scoring import score_answer
from core.domain.language.words import content_words
from core.models.embedded.formulas import (
    Given,
    Problem,
    assignments,
    likeliest,
    read_problem,
    result,
)
from core.models.embedded.situation import Said, Situation
from core.models.embedded.views import BulletView

_LESSON = re.compile(
    r'In "(?P<formula>[^"]{1,120})", "(?P<variable>[^"]{1,60})" goes with the words '
    r'"(?P<words>[^"]{1,300})"\.'
)
_WORDS = 4


@dataclass(frozen=True)
class _Cue:
    bullet_id: str
    variable: str
    words: tuple[str, ...]


def calculate_formula(situation: Situation) -> Said | None:
    """The number, with two decimals and nothing else; None when the text sets no such problem."""
    problem = read_problem(situation.text)
    if problem is None:
        return None
    cues = _cues(problem, situation.bullets)
    way = likeliest(problem, _by_variable(cues))
    value = result(problem, way)
    if value is None:
        return None
    used = tuple(cue.bullet_id for cue in cues if _spoke(cue, problem, way))
    return Said((_told(value),), "put the numbers of the question into the formula", used)


def formula_lessons(text: str, truth: str, bullets: Sequence[BulletView]) -> tuple[str, ...]:
    """What a wrong answer teaches whose truth is known: words beside the numbers it mistook.

    Empty when no way to use the numbers gives the truth, or when the likeliest one does.
    """
    problem = read_problem(text)
    if problem is None:
        return ()
    taken = likeliest(problem, _by_variable(_cues(problem, bullets)))
    right = [way for way in assignments(problem) if _gives(problem, way, truth)]
    if not right or taken in right:
        return ()
    # Of several ways to the truth the one that changes least is the likeliest to be meant.
    way = max(right, key=lambda item: sum(a is b for a, b in zip(item, taken, strict=True)))
    lessons = [
        _lesson(problem.formula.name, variable, given)
        for variable, given, before in zip(problem.formula.variables, way, taken, strict=True)
        if given is not before
    ]
    return tuple(lesson for lesson in lessons if lesson)


def _gives(problem: Problem, way: Sequence[Given], truth: str) -> bool:
    value = result(problem, way)
    return value is not None and score_answer(_told(value), truth) == 1


def _told(value: float) -> str:
    return f"{value:.2f}"


def _lesson(formula: str, variable: str, given: Given) -> str:
    words = dict.fromkeys(word for word in given.words if word.islower() and content_words(word))
    told = ", ".join(list(words)[:_WORDS])
    return f'In "{formula}", "{variable}" goes with the words "{told}".' if told else ""


def _cues(problem: Problem, bullets: Sequence[BulletView]) -> list[_Cue]:
    found = ((bullet, _LESSON.fullmatch(bullet.content.strip())) for bullet in bullets)
    return [
        _Cue(bullet.id, match["variable"], tuple(match["words"].split(", ")))
        for bullet, match in found
        if match and match["formula"] == problem.formula.name and bullet.harmful <= bullet.helpful
    ]


def _by_variable(cues: Sequence[_Cue]) -> dict[str, list[str]]:
    words: dict[str, list[str]] = defaultdict(list)
    for cue in cues:
        words[cue.variable].extend(cue.words)
    return words


def _spoke(cue: _Cue, problem: Problem, way: Sequence[Given]) -> bool:
    """Whether a cue's words stand beside the number that its variable was given."""
    given = dict(zip(problem.formula.variables, way, strict=True)).get(cue.variable)
    beside = content_words(" ".join(given.words)) if given else frozenset[str]()
    return bool(content_words(" ".join(cue.words)) & beside)
