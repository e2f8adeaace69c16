"""Answer a question with the best matching facts of the state."""

import re
from collections.abc import Iterable

from core.models.embedded.entities import find_entities
from core.models.embedded.matching import Fact, Match, rank
from core.models.embedded.situation import Said, Situation, facts_held
from core.models.embedded.wording import cited

_ASKED_KINDS: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = (
    (re.compile(r"\bwho\b|\bwhom\b|誰|だれ|どなた|担当者", re.I), frozenset({"person", "team"})),
    (re.compile(r"\bwhen\b|\bwhat time\b|いつ|何時|何日|何曜", re.I), frozenset({"time"})),
    (
        re.compile(r"\bhow much\b|\bcost|\bbudget|いくら|何円|予算|金額|費用", re.I),
        frozenset({"money", "percent"}),
    ),
    (
        re.compile(r"\bwhich (?:server|host|machine|replica|node)|どのサーバ|どの機", re.I),
        frozenset({"server"}),
    ),
    (re.compile(r"\bwhich (?:version|release)|バージョン", re.I), frozenset({"version"})),
    (re.compile(r"\b(?:ticket|incident) (?:number|id)|チケット番号", re.I), frozenset({"ticket"})),
)
_ASKS_WHY = re.compile(r"\bwhy\b|\bcause|\breason|なぜ|どうして|原因|理由", re.IGNORECASE)
_GIVES_WHY = re.compile(r"because|due to|caused|led to|原因|ため|ので|によ", re.IGNORECASE)

_LEAST_SCORE = 0.3
_LEAST_SHARED = 2
_MAX_LINES = 2


def answer_question(situation: Situation, question: str) -> Said | None:
    """The facts that answer best, or None when nothing held is near enough."""
    facts = weighed(facts_held(situation), question)
    matches = [match for match in rank(question, facts) if near_enough(match)]
    if not matches:
        return None
    best = [match for match in matches[:_MAX_LINES] if match.score >= 0.75 * matches[0].score]
    lines = [f"{match.fact.text}{cited(match.fact.cite)}" for match in best]
    used = tuple(match.fact.cite for match in best if match.fact.cite.startswith("b-"))
    return Said(tuple(dict.fromkeys(lines)), "quoted the best matching facts", used)


def near_enough(match: Match) -> bool:
    """Whether a match is good enough to be quoted as an answer."""
    return match.score >= _LEAST_SCORE and match.shared >= _LEAST_SHARED


def weighed(facts: Iterable[Fact], question: str) -> list[Fact]:
    """Facts weighted by whether they hold the kind of thing that is asked for."""
    return [_weighed(fact, question) for fact in facts]


def _weighed(fact: Fact, question: str) -> Fact:
    """A fact that holds the kind of thing asked for counts more, one without it less."""
    factor = 1.0
    for asked, kinds in _ASKED_KINDS:
        if asked.search(question):
            holds = any(entity.kind in kinds for entity in find_entities(fact.text))
            factor *= 1.5 if holds else 0.5
    if _ASKS_WHY.search(question):
        factor *= 1.5 if _GIVES_WHY.search(fact.text) else 0.7
    return Fact(fact.text, fact.cite, fact.weight * factor)
