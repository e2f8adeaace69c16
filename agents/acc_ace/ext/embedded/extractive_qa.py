"""Answer with the best matching facts and lessons, quoted verbatim."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from acc_ace.core.text.exchange import AGENT, QUOTED, parts_of
from acc_ace.core.text.injection import instruction_like
from acc_ace.core.text.prompt import Quotation
from acc_ace.core.text.rules.corrections import is_correction
from acc_ace.core.text.sentences import split_sentences
from acc_ace.ext.embedded.gist import QUOTING
from acc_ace.ext.embedded.phrases import Language, cited, say
from acc_ace.ext.embedded.prompt_context import PromptContext, RuleAnswer
from acc_ace.ext.embedded.relations import find_claim, find_relations, status_of
from acc_ace.ext.embedded.speech_acts import is_question, without_lead
from acc_ace.ext.embedded.superseded_facts import corrected_in, superseded
from acc_ace.ext.embedded.text_match import (
    Fact,
    asked_kinds,
    asks_only_why,
    best_facts,
    distinct,
    holds_kind,
    terms_of,
)

_CLAIM_MARK = re.compile(r"\(a claim\)$|の発言：「")
_GENERAL = re.compile(r"\b(?:if|when|whenever|in case)\b|(?:と|たら|れば|場合は?)、", re.IGNORECASE)
_TURN_ID = re.compile(r"turn:.{1,200}:(?P<turn>\d{1,9})$", re.DOTALL)
_INTRODUCTION = re.compile(r"\b(?:I'm|I am|call me) [A-Z]|と(?:申|もう|言い|いい)ます")
_WHEN_ANSWERED = 0.25
"""The agent's own words count little beside those that it was given."""

_WHEN_CLAIMED = 0.6
_WHEN_GENERAL = 0.8
"""Weight of conditional statements, which answer less well than observations."""

_ARROWS = {
    "cause": {"en": "{b}, because: {a}", "ja": "{a} → {b}"},
    "after": {"en": "{b}, after: {a}", "ja": "{a} の後に {b}"},
    "before": {"en": "{a}, before: {b}", "ja": "{b} の前に {a}"},
    "claim": {"en": '{a} says: "{b}" (a claim)', "ja": "{a}の発言：「{b}」"},
}

_FOCUS_KINDS = frozenset({"ticket", "version"})
_OF_OUR_WORK = re.compile(
    r"\b(?:we|us|our|this|currently|current)\b|今|現在|対応中|この|作業", re.IGNORECASE
)
_MAX_LINES = 2


def facts_in(situation: PromptContext) -> list[Fact]:
    """Facts of the state and the playbook with their citations, newest first.

    Superseded facts and statuses are left out, and so are repetitions of the goal.
    """
    ccs, language = situation.state.ccs, situation.language
    current = dict(filter(None, map(status_of, ccs.relational_map)))
    reported = newest(_reported(situation))
    facts = [
        replace(fact, weight=fact.weight * _certainty(fact.text))
        for fact in reported
        if not _outdated(fact.text, current) and not _repeats(fact.text, ccs.goal_orientation)
    ]
    facts += [Fact(stated_relation(item, language), weight=0.95) for item in ccs.relational_map]
    facts += [
        Fact(text, situation.state.constraint_id(text), weight=0.8) for text in ccs.constraints
    ]
    facts += _attached(situation)
    return facts + [Fact(item.content, item.id, weight=0.6) for item in situation.bullets]


def _attached(situation: PromptContext) -> Iterator[Fact]:
    """Sentences of x_t's attachments, except instruction-like ones."""
    for given in situation.attachments:
        for sentence in split_sentences(given.text):
            if instruction_like(sentence) is None:
                yield Fact(sentence, given.source)


def _certainty(text: str) -> float:
    """The weight of a text as an observed fact."""
    if is_claim(text):
        return _WHEN_CLAIMED
    return _WHEN_GENERAL if is_general(text) else 1.0


def newest(facts: Iterable[Fact]) -> list[Fact]:
    """Facts by turn, newest first, without superseded and corrected ones."""
    reported = sorted(facts, key=lambda fact: -fact.turn)
    wrong = _corrected(reported)
    ordered = distinct(fact for fact in reported if fact not in wrong)
    stale = superseded(fact.text for fact in ordered)
    hints: dict[str, str] = {}
    for older, newer in (*stale.items(), *((fact.text, text) for fact, text in wrong.items())):
        hints[newer] = f"{hints.get(newer, '')} {older}"
    return [
        replace(fact, hint=f"{_introduces(fact.text)} {hints.get(fact.text, '')}".strip())
        for fact in ordered
        if fact.text not in stale
    ]


def _corrected(facts: Iterable[Fact]) -> dict[Fact, str]:
    """Facts that a later turn of the same session corrects, with the correction.

    Order is known only within a session; the gist was corrected when it was written.
    """
    by_text: dict[str, list[Fact]] = {}
    for fact in facts:
        if turn_of(fact.cite):
            by_text.setdefault(fact.cite.rpartition(":")[0], []).append(fact)
    wrong: dict[Fact, str] = {}
    for session in by_text.values():
        by_turn = sorted(session, key=lambda fact: -turn_of(fact.cite))
        corrections = {at for at, fact in enumerate(by_turn) if fact.corrects}
        corrected = corrected_in([fact.text for fact in by_turn], corrections)
        wrong |= {by_turn[older]: by_turn[newer].text for older, newer in corrected.items()}
    return wrong


def turn_of(artifact_id: str) -> int:
    """The turn number in the id of a TURN artifact; 0 for other artifacts."""
    match = _TURN_ID.match(artifact_id)
    return int(match["turn"]) if match else 0


def _reported(situation: PromptContext) -> Iterator[Fact]:
    """Facts of the gist, newest first, and of the references."""
    ccs, turn = situation.state.ccs, situation.state.turn
    for age, sentence in enumerate(split_sentences(ccs.semantic_gist)):
        yield Fact(sentence, weight=1.1, turn=max(1, turn - age))
    for item in ccs.retrieved_artifacts:
        cite = _id_in(item)
        yield from _quoted(_without_id(item), cite)


def _quoted(text: str, cite: str) -> Iterator[Fact]:
    """The sentences of a quotation that answer something, or a gist as it is.

    The agent's own words count little and overtake nothing; those that only quote, not at all.
    """
    turn = turn_of(cite)
    quotation = Quotation.read(text)
    if quotation is None:
        yield Fact(text, cite, turn=turn)
        return
    corrects = is_correction(quotation.text)
    for who, said in parts_of(quotation.text, in_line=True):
        if who == AGENT:
            for sentence in _telling(said) if QUOTING.search(said) is None else ():
                yield Fact(sentence, cite, weight=_WHEN_ANSWERED)
        elif who != QUOTED:
            for sentence in _telling(said):
                yield Fact(without_lead(sentence), cite, turn=turn, corrects=corrects)


def _telling(text: str) -> Iterator[str]:
    for sentence in split_sentences(text):
        if not is_question(sentence) and instruction_like(sentence) is None:
            yield sentence


def _introduces(sentence: str) -> str:
    """What a sentence also says by which somebody gives a name: "I'm Aiko" holds no "name"."""
    named = _INTRODUCTION.search(sentence) and holds_kind(sentence, frozenset({"person"}))
    return "my name 名前" if named else ""


def _repeats(text: str, goal: str) -> bool:
    """Whether a text only repeats the goal."""
    return bool(goal) and terms_of(text) <= terms_of(goal)


def _outdated(text: str, current: Mapping[str, str]) -> bool:
    """Whether a text states a status for which the relational map has a newer one."""
    reported = dict(filter(None, map(status_of, find_relations(text))))
    return any(current.get(name, value) != value for name, value in reported.items())


def is_claim(text: str) -> bool:
    """Whether a text reports another person's words."""
    return find_claim(text) is not None or _CLAIM_MARK.search(text) is not None


def is_general(text: str) -> bool:
    """Whether a text states a condition, not an observation."""
    return _GENERAL.search(text) is not None


def stated_relation(item: str, language: Language) -> str:
    """An item of the relational map as a sentence."""
    if pair := status_of(item):
        return f"{pair[0]}：{pair[1]}" if language == "ja" else f"{pair[0]} is {pair[1]}"
    kind, _, rest = item.partition(": ")
    a, separator, b = rest.partition(" -> ")
    if separator and kind in _ARROWS:
        return _ARROWS[kind][language].format(a=a, b=b)
    return item


def _id_in(item: str) -> str:
    head, separator, _ = item.partition("] ")
    return head[1:] if separator and head.startswith("[") else ""


def _without_id(item: str) -> str:
    return item.partition("] ")[2] if _id_in(item) else item


def answer_question(situation: PromptContext, question: str) -> RuleAnswer | None:
    """Answer with the best matching facts, or None if none is close enough."""
    if (cause := _why(situation, question)) is not None:
        return cause
    best = best_facts(facts_in(situation), question, limit=_MAX_LINES)
    if not best:
        return None
    lines = [f"{fact.text}{cited(fact.cite)}" for fact in distinct(best)]
    return RuleAnswer(tuple(lines), "quoted the best matching facts", bullets_in(best))


def bullets_in(facts: Iterable[Fact]) -> tuple[str, ...]:
    """The ids of playbook bullets among facts."""
    return tuple(fact.cite for fact in facts if fact.cite.startswith("b-"))


def answer_by_goal(situation: PromptContext, question: str) -> RuleAnswer | None:
    """Answer with the goal if a question about the current work asks for something it names."""
    goal = situation.state.ccs.goal_orientation
    wanted = asked_kinds(question) & _FOCUS_KINDS
    if not wanted or not _OF_OUR_WORK.search(question) or not holds_kind(goal, wanted):
        return None
    return RuleAnswer((say("goal", situation.language, goal=goal),), "the goal names it")


def is_sure(situation: PromptContext, question: str) -> bool:
    """Whether the best fact is an observation of the kind asked for."""
    if _why(situation, question) is not None:
        return True
    best = best_facts(facts_in(situation), question, limit=1)
    kinds = asked_kinds(question)
    return any(
        (not kinds or holds_kind(fact.text, kinds)) and not is_general(fact.text) for fact in best
    )


def _why(situation: PromptContext, question: str) -> RuleAnswer | None:
    """The state's newest cause, for a question that asks only for 'the cause'."""
    if not asks_only_why(question):
        return None
    causes = [item for item in situation.state.ccs.relational_map if item.startswith("cause: ")]
    if not causes:
        return None
    line = stated_relation(causes[0], situation.language)
    return RuleAnswer((line,), "quoted the newest cause in the state")


def related_facts(situation: PromptContext, text: str, *, limit: int) -> list[Fact]:
    """Facts relevant to a text, best first."""
    words = terms_of(text)
    near = best_facts(facts_in(situation), text, limit=limit)
    # A fact without any word beyond the text's own adds nothing.
    return distinct(f for f in near if terms_of(f.text) - words and not is_claim(f.text))


def lessons_for(situation: PromptContext, text: str) -> list[Fact]:
    """Bullets that apply to a text, except those with more harmful than helpful tags."""
    facts = [
        Fact(bullet.content, bullet.id)
        for bullet in situation.bullets
        if bullet.harmful <= bullet.helpful
    ]
    return best_facts(facts, text, limit=_MAX_LINES)


def quoted_lines(facts: Iterable[Fact]) -> list[str]:
    """Facts as list items with their citations."""
    return [f"- {fact.text}{cited(fact.cite)}" for fact in facts]
