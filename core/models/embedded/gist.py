"""Pick the sentences of a text that are worth keeping."""

import json
import re
from collections.abc import Mapping

from core.domain.language.injection import instruction_like
from core.domain.language.rule_detection import detect_rules
from core.domain.language.sentences import split_sentences
from core.domain.tokens import clip_tokens, estimate_tokens
from core.models.embedded.asking import asked_kinds, holds_kind
from core.models.embedded.corrections import names_subject
from core.models.embedded.entities import find_entities
from core.models.embedded.matching import terms_of
from core.models.embedded.options import listed_options
from core.models.embedded.relations import find_claim
from core.models.embedded.speech import (
    is_aside,
    is_correction,
    is_greeting,
    is_order,
    is_question,
    statements,
    without_lead,
)

_TURN = re.compile(r"^(?:system|user|tool|retrieved|agent): ", re.MULTILINE)
_QUOTING = re.compile(r"[\"「]|\[[^\]\s]+\]")
"""Marks of a line in which the agent only quotes what it was told."""

_KIND_BONUS = 2.0
_ORDER_WEIGHT = 0.3
_ANSWER_WEIGHT = 0.3
"""The agent's own words mostly repeat the state, so they count little as evidence."""

_MAX_CHARS = 12_000
_MAX_SENTENCES = 80


def said_and_answered(content: str) -> tuple[str, str]:
    """The two halves of a turn's artifact: what came in, and what the agent answered."""
    said, _, answer = content.partition("\nagent: ")
    return _TURN.sub("", said, count=1), answer


def without_list(text: str) -> str:
    """A text without the items of the numbered list in it: they are offers, not statements."""
    options = listed_options(text)
    if not options:
        return text
    lines = text.splitlines()
    items = [number for number, line in enumerate(lines) if any(item in line for item in options)]
    # The line before the list only announces it.
    gone = {*items, *([items[0] - 1] if items else [])}
    return "\n".join(line for number, line in enumerate(lines) if number not in gone)


def facts_of(text: str) -> list[str]:
    """Statements of fact in a text that name something; short ones only where they correct.

    Rules, claims of others, list items, asides, small talk and text that reads like an
    instruction are none. Those that name an entity come first.
    """
    spoken = without_list(text[:_MAX_CHARS])
    corrects = is_correction(text)
    rules = {rule.sentence for rule in detect_rules(spoken)}
    told = (item for item in statements(spoken)[:_MAX_SENTENCES] if item not in rules)
    found = [fact for item in told if _is_fact(fact := without_lead(item), corrects=corrects)]
    return sorted(found, key=lambda item: not find_entities(item))


def _is_fact(sentence: str, *, corrects: bool) -> bool:
    return (
        (_has_substance(sentence) or (corrects and names_subject(sentence)))
        and not is_aside(sentence)
        and find_claim(sentence) is None
        and instruction_like(sentence) is None
    )


def gist_of(content: str, query: str, *, tokens: int) -> str:
    """The sentence of a text that bears most on the query, on one line, within `tokens`.

    Of a turn, what came in counts before the agent's own answer. Questions and text that reads
    like an instruction are never quoted.
    """
    said, answer = map(without_list, said_and_answered(_plain(content[:_MAX_CHARS])))
    answer = "\n".join(line for line in answer.splitlines() if _QUOTING.search(line) is None)
    wanted, kinds = terms_of(query), asked_kinds(query)
    best, best_score = "", 0.0
    for weight, part in ((1.0, said), (_ANSWER_WEIGHT, answer)):
        for sentence in split_sentences(part)[:_MAX_SENTENCES]:
            if part is answer and not terms_of(sentence) & wanted:
                continue
            score = weight * _score(sentence, wanted)
            if score and kinds and holds_kind(sentence, kinds):
                score += weight * _KIND_BONUS
            if score > best_score:
                best, best_score = sentence, score
    return clip_tokens(" ".join(best.split()), tokens)


def _plain(content: str) -> str:
    """A JSON object, as tools return it, as 'name: value' pairs; other text as it is."""
    if not content.startswith("{"):
        return content
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(value, Mapping):
        return ""
    return ", ".join(f"{key}: {item}" for key, item in value.items())


def _score(sentence: str, wanted: frozenset[str]) -> float:
    """How much a sentence bears on the wanted terms; a little for any substance."""
    heads_a_list = sentence.rstrip().endswith((":", "："))
    if heads_a_list or is_greeting(sentence) or is_question(sentence) or instruction_like(sentence):
        return 0.0
    terms = terms_of(sentence)
    if not terms:
        return 0.0
    shared = len(terms & wanted)
    score = shared + shared / len(terms) + (0.1 if _has_substance(sentence) else 0.05)
    return score * (_ORDER_WEIGHT if is_order(sentence) else 1.0)


def _has_substance(sentence: str) -> bool:
    return bool(find_entities(sentence)) or (
        estimate_tokens(sentence) >= 5 and len(terms_of(sentence)) >= 3
    )
