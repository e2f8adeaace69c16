"""Tell which facts a newer one overtakes: it says the same, a new status, or a new value.

Where it is not beyond doubt that both speak of one thing, both stand.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from core.domain.language.words import content_words
from core.models.embedded.entities import Entity, find_entities
from core.models.embedded.matching import terms_of, unique
from core.models.embedded.relations import find_relations, status_of

_CHANGES = content_words(
    "changed moved shifted postponed rescheduled delayed pushed raised lowered updated revised"
    " instead 変更 延期"
)
"""Words that say that a value took the place of another."""

_VALUES = frozenset({"money", "percent", "time", "duration", "version"})
"""Kinds of entities that are a value of something, not the thing itself."""

_MANY = frozenset({"hour", "number"})
"""Values of which a thing may have several: a gym is open on Mondays and on Thursdays."""

_DATE = re.compile(r"\d{4}-|月\d|[A-Z][a-z]{2,8} \d|\d [A-Z][a-z]")


@dataclass(frozen=True)
class _Told:
    """What a sentence tells, for comparing it with another."""

    terms: frozenset[str]
    subjects: frozenset[str]
    named: frozenset[str]
    words: frozenset[str]
    values: frozenset[str]
    topic: frozenset[str]


def latest_facts(sentences: Iterable[str]) -> list[str]:
    """Sentences without those that an earlier one overtakes; the newest must come first."""
    told = unique(sentences)
    gone = overtaken(told)
    return [sentence for sentence in told if sentence not in gone]


def overtaken(sentences: Iterable[str]) -> dict[str, str]:
    """Outdated sentences with the one that overtakes each; the newest must come first.

    A sentence that tells nothing is overtaken by ''.
    """
    gone: dict[str, str] = {}
    kept: list[tuple[str, _Told]] = []
    revalued: dict[str, dict[str, frozenset[str]]] = {}
    for sentence in sentences:
        told = _told(sentence)
        if not told.terms:
            gone[sentence] = ""
        elif (
            same := next((text for text, other in kept if _covers(other, told)), None)
        ) is not None:
            gone[sentence] = same
        elif (
            new := next((text for text, other in kept if _revalues(other, told)), None)
        ) is not None:
            revalued.setdefault(new, {})[sentence] = told.topic
        else:
            kept.append((sentence, told))
    for newer, olds in revalued.items():
        # "The limit is $250" may mean the limit of meals or that of hotels: then both stand.
        if len(set(olds.values())) == 1:
            gone |= dict.fromkeys(olds, newer)
    return gone


def _told(sentence: str) -> _Told:
    entities = find_entities(sentence)
    statuses = filter(None, map(status_of, find_relations(sentence)))
    words = content_words(sentence)
    names = content_words(" ".join(item.name for item in entities))
    numbers = frozenset(word for word in words - names if word.isdigit())
    return _Told(
        terms=terms_of(sentence),
        subjects=frozenset(name for name, _ in statuses),
        named=content_words(" ".join(e.name for e in entities if e.kind not in _VALUES)),
        words=words,
        values=frozenset({*_values(entities), *(["number"] if numbers else [])}),
        topic=words - names - numbers,
    )


def _values(entities: Iterable[Entity]) -> Iterator[str]:
    """The kinds of the values among entities; a day of the week or an hour is no date."""
    for item in entities:
        if item.kind == "time":
            yield "date" if _DATE.search(item.name) else "hour"
        elif item.kind in _VALUES:
            yield item.kind


def _covers(newer: _Told, older: _Told) -> bool:
    """Whether a newer sentence says all that the older does, or a new status of the same thing."""
    if older.subjects and older.subjects <= newer.subjects:
        return True
    return older.terms <= newer.terms


def _revalues(newer: _Told, older: _Told) -> bool:
    """Whether a newer sentence gives a new value of what both name and speak of."""
    if older.named - newer.words or newer.named - older.words:
        return False
    changes = newer.words & _CHANGES
    kinds = newer.values & older.values
    return bool(kinds if changes else kinds - _MANY) and _same_topic(newer, older, changes)


def _same_topic(newer: _Told, older: _Told, changes: frozenset[str]) -> bool:
    """Whether both speak of the same; the newer may leave out a word where enough is left."""
    topic = newer.topic - older.named - changes
    if topic == older.topic:
        return bool(topic)
    return topic < older.topic and len(topic) >= (1 if older.named else 2)
