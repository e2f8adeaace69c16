"""Answer a question with the best matching facts of the state."""

import re
from collections.abc import Iterable
from dataclasses import replace

from core.models.embedded.asking import asked_kinds, asks_only_why, asks_why, holds_kind
from core.models.embedded.matching import Fact, Match, once, rank
from core.models.embedded.situation import Said, Situation, facts_held, is_general, told_relation
from core.models.embedded.wording import cited, say

_GIVES_WHY = re.compile(r"because|due to|caused|led to|原因|ため|ので|によ", re.IGNORECASE)

_LEAST_SCORE = 0.3
_LEAST_SHARED = 2
_ALL = 0.95
_RIGHT_KIND = 1.2
"""Weight of a fact that holds the kind of thing asked for: one shared word is then enough."""

_FOCUS_KINDS = frozenset({"ticket", "version"})
_OF_OUR_WORK = re.compile(
    r"\b(?:we|us|our|this|currently|current)\b|今|現在|対応中|この|作業", re.IGNORECASE
)
_MAX_LINES = 2


def answer_question(situation: Situation, question: str) -> Said | None:
    """The facts that answer best, or None when nothing held is near enough."""
    if (cause := _why(situation, question)) is not None:
        return cause
    facts = weighed(facts_held(situation), question)
    matches = [match for match in rank(question, facts) if near_enough(match)]
    if not matches:
        return _named(situation, question)
    best = [match for match in matches[:_MAX_LINES] if match.score >= 0.75 * matches[0].score]
    lines = [f"{fact.text}{cited(fact.cite)}" for fact in once([match.fact for match in best])]
    used = tuple(match.fact.cite for match in best if match.fact.cite.startswith("b-"))
    return Said(tuple(lines), "quoted the best matching facts", used)


def answer_by_goal(situation: Situation, question: str) -> Said | None:
    """The goal, where a question about the work at hand asks for what the goal names."""
    goal = situation.state.ccs.goal_orientation
    wanted = asked_kinds(question) & _FOCUS_KINDS
    if not wanted or not _OF_OUR_WORK.search(question) or not holds_kind(goal, wanted):
        return None
    return Said((say("goal", situation.language, goal=goal),), "the goal names it")


def is_sure(situation: Situation, question: str) -> bool:
    """Whether the state holds an observed fact of just the kind that is asked for."""
    if _why(situation, question) is not None:
        return True
    matches = rank(question, weighed(facts_held(situation), question))
    if not matches or not near_enough(matches[0]):
        return False
    kinds = asked_kinds(question)
    fits = not kinds or holds_kind(matches[0].fact.text, kinds)
    return fits and not is_general(matches[0].fact.text)


def near_enough(match: Match) -> bool:
    """Whether a match is good enough to be quoted as an answer."""
    covers_all = match.score >= _ALL * match.fact.weight
    fits = match.shared >= _LEAST_SHARED or match.fact.weight > _RIGHT_KIND or covers_all
    return match.score >= _LEAST_SCORE and fits


def _why(situation: Situation, question: str) -> Said | None:
    """The newest cause in the state, for a question that asks for 'the cause' and no more."""
    if not asks_only_why(question):
        return None
    causes = [item for item in situation.state.ccs.relational_map if item.startswith("cause: ")]
    if not causes:
        return None
    line = told_relation(causes[0], situation.language)
    return Said((line,), "quoted the newest cause in the state")


def _named(situation: Situation, question: str) -> Said | None:
    """The entities in focus of the kind that is asked for, if there is just that to tell."""
    wanted = asked_kinds(question) & _FOCUS_KINDS
    typed = (item.partition(":") for item in situation.state.ccs.focal_entities)
    names = [name for kind, _, name in typed if kind in wanted]
    return Said((", ".join(names[:3]),), "named the entity in focus") if names else None


def weighed(facts: Iterable[Fact], question: str) -> list[Fact]:
    """Facts weighted by whether they hold the kind of thing that is asked for."""
    return [_weighed(fact, question) for fact in facts]


def _weighed(fact: Fact, question: str) -> Fact:
    """A fact that holds the kind of thing asked for counts more, one without it less."""
    factor = 1.0
    if kinds := asked_kinds(question):
        factor *= 1.5 if holds_kind(fact.text, kinds) else 0.5
    if asks_why(question):
        factor *= 1.5 if _GIVES_WHY.search(fact.text) else 0.7
    return replace(fact, weight=fact.weight * factor)
