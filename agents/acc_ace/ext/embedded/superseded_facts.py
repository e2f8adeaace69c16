"""Find facts that are superseded by newer ones.

A newer fact repeats the older one, has a new status or value, or corrects it. If it is doubtful
that both are about the same thing, both are kept, the newer one first.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from acc_ace.core.text.rules.corrections import is_correction
from acc_ace.core.text.similarity import content_words
from acc_ace.ext.embedded.entities import Entity, find_entities, is_city
from acc_ace.ext.embedded.relations import find_relations, status_of
from acc_ace.ext.embedded.speech_acts import without_lead
from acc_ace.ext.embedded.text_match import terms_of, unique

_CHANGES = content_words(
    "changed moved shifted postponed rescheduled delayed pushed raised lowered updated revised"
    " instead 変更 延期"
)
"""Words that announce a changed value."""

_VALUES = frozenset({"money", "percent", "time", "duration", "version"})
"""Kinds of entities that are values of something, not things themselves."""

_MANY = frozenset({"hour", "number"})
"""Kinds of values that a thing may have several of: a gym is open on Mondays and Thursdays."""

_DATE = re.compile(r"\d{4}-|月\d|[A-Z][a-z]{2,8} \d|\d [A-Z][a-z]")

_EN = re.compile(
    r"^(?P<subject>.{1,120}?)\s+(?P<verb>is|are|was|were|runs?|sits?|lives?|belongs?)"
    r"(?:\s+(?:now|actually|currently|really|still|located|hosted))*"
    r"(?P<link>(?:\s+(?:in|at|on|from|for|by|to|with))?)\s+(?P<value>.{1,200})$",
    re.IGNORECASE,
)
_JA = re.compile(
    r"^(?P<subject>.{1,60}?)は、?(?P<value>.{1,80}?)"
    r"(?P<link>(?:に|で)(?:あります|います|ある|いる|置かれています|置いて(?:あり|い)ます|動いています|稼働しています)"
    r"|です|でした|だ)[。！]?$"
)
_VERBS = {"are": "is", "were": "was", "runs": "run", "sits": "sit", "lives": "live"}
_SAYS_NO_MORE = re.compile(r"\b(?:the|an?)\s+|(?<=\d)(?:\s+(?:server|host|machine)|サーバー?)$")
"""Words of a subject that do not change its meaning: "the db-01 server" is db-01."""

_WORD = re.compile(r"[A-Za-z]+|[\u4e00-\u9fff々]+|[\u30a1-\u30faー]+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ONLY_WRONG = re.compile(
    r"(?:all |just )?(?:wrong|incorrect|mistaken|not (?:right|true|correct))|間違い|誤り"
)
_ROLE = re.compile(r"(?:担当者?|責任者|リーダー|オーナー|名前|氏名)$")
"""A subject of which a name is said, also one without the title that marks it as a person's."""

_MAX_CHARS = 400


@dataclass(frozen=True)
class _Stated:
    """Features of a sentence for comparing it with another."""

    terms: frozenset[str]
    subjects: frozenset[str]
    named: frozenset[str]
    words: frozenset[str]
    values: frozenset[str]
    topic: frozenset[str]


def latest_facts(sentences: Iterable[str]) -> list[str]:
    """Sentences without superseded ones; the newest must come first."""
    reported = unique(sentences)
    stale = superseded(reported)
    return [sentence for sentence in reported if sentence not in stale]


def superseded(sentences: Iterable[str]) -> dict[str, str]:
    """Superseded sentences, each with the one that supersedes it; the newest must come first.

    A sentence without terms is superseded by ''.
    """
    stale: dict[str, str] = {}
    newest: list[tuple[str, _Stated]] = []
    revalued: dict[str, dict[str, frozenset[str]]] = {}
    for sentence in sentences:
        reported = _reported(sentence)
        if not reported.terms:
            stale[sentence] = ""
        elif (
            same := next((text for text, other in newest if _covers(other, reported)), None)
        ) is not None:
            stale[sentence] = same
        elif (
            new := next((text for text, other in newest if _revalues(other, reported)), None)
        ) is not None:
            revalued.setdefault(new, {})[sentence] = reported.topic
        else:
            newest.append((sentence, reported))
    for newer, olds in revalued.items():
        # "The limit is $250" may mean the limit of meals or of hotels: then all are kept.
        if len(set(olds.values())) == 1:
            stale |= dict.fromkeys(olds, newer)
    return stale


def _reported(sentence: str) -> _Stated:
    entities = find_entities(sentence)
    statuses = filter(None, map(status_of, find_relations(sentence)))
    words = content_words(sentence)
    names = content_words(" ".join(item.name for item in entities))
    numbers = frozenset(word for word in words - names if word.isdigit())
    return _Stated(
        terms=terms_of(sentence),
        subjects=frozenset(name for name, _ in statuses),
        named=content_words(" ".join(e.name for e in entities if e.kind not in _VALUES)),
        words=words,
        values=frozenset({*_values(entities), *(["number"] if numbers else [])}),
        topic=words - names - numbers,
    )


def _values(entities: Iterable[Entity]) -> Iterator[str]:
    """The kinds of values among entities; a weekday or a time of day is no date."""
    for item in entities:
        if item.kind == "time":
            yield "date" if _DATE.search(item.name) else "hour"
        elif item.kind in _VALUES:
            yield item.kind


def _covers(newer: _Stated, older: _Stated) -> bool:
    """Whether a newer sentence has all terms of the older, or a new status of the same subject."""
    if older.subjects and older.subjects <= newer.subjects:
        return True
    return older.terms <= newer.terms


def _revalues(newer: _Stated, older: _Stated) -> bool:
    """Whether a newer sentence has a new value for the same entities and topic."""
    if older.named - newer.words or newer.named - older.words:
        return False
    changes = newer.words & _CHANGES
    kinds = newer.values & older.values
    return bool(kinds if changes else kinds - _MANY) and _same_topic(newer, older, changes)


def _same_topic(newer: _Stated, older: _Stated, changes: frozenset[str]) -> bool:
    """Whether both have the same topic; the newer may omit words if enough are left."""
    topic = newer.topic - older.named - changes
    if topic == older.topic:
        return bool(topic)
    return topic < older.topic and len(topic) >= (1 if older.named else 2)


class _Statement(NamedTuple):
    """Subject, link and value; `shape` is the value with names and numbers masked."""

    subject: str
    link: str
    value: str
    shape: str


def names_subject(sentence: str) -> bool:
    """Whether a sentence names its subject; "it is in Tokyo" does not."""
    return _statement(sentence) is not None


def same_matter(newer: str, older: str) -> bool:
    """Whether two sentences have the same subject and link, maybe with other values."""
    new, old = _statement(newer), _statement(older)
    return new is not None and old is not None and new[:2] == old[:2]


def corrected(newest: Iterable[str], facts: Sequence[str]) -> list[str]:
    """The sentences of `facts` that the corrections `newest` do not replace."""
    left = list(facts)
    for newer in newest:
        stale = set(_replaced(newer, left))
        left = [older for older in left if older not in stale]
    return left


def corrected_in(
    sentences: Sequence[str], corrections: Collection[int] = frozenset()
) -> dict[int, int]:
    """Indexes of corrected sentences, each with the index of the correction.

    The newest must come first; `corrections` are places of sentences that correct, beside those
    whose own words say so.
    """
    stale: dict[int, int] = {}
    for at in range(len(sentences) - 1, -1, -1):
        if at in corrections or is_correction(sentences[at]):
            left = [older for older in range(at + 1, len(sentences)) if older not in stale]
            wrong = set(_replaced(sentences[at], [sentences[older] for older in left]))
            stale |= {older: at for older in left if sentences[older] in wrong}
    return stale


def _replaced(newer: str, facts: Sequence[str]) -> list[str]:
    """The sentences that a correction replaces; none if it is ambiguous.

    "db-01 is in Tokyo" replaces "the db-01 server is in Frankfurt"; "db-01 is slow" and "db-01 is
    in maintenance" replace neither.
    """
    new = _statement(newer)
    if new is None:
        return _with_other_value(newer, facts)
    alike = [(older, old) for older in facts if (old := _statement(older)) and _alike(new, old)]
    values = {old.value for _, old in alike} - {new.value}
    return [older for older, _ in alike] if len(values) < 2 else []


def _with_other_value(newer: str, facts: Sequence[str]) -> list[str]:
    """Of sentences of other shapes, the one that differs from a correction in a value alone."""
    stated = _reported(newer)
    alike = [
        older
        for older in facts
        if (other := _reported(older)).values & stated.values
        and (other.topic, other.named) == (stated.topic, stated.named)
    ]
    return alike if stated.topic and len(alike) == 1 else []


def _alike(new: _Statement, old: _Statement) -> bool:
    """Whether a correction has the shape of an older statement; in Japanese it may be "でした"."""
    link = old.link if (new.link, old.link) == ("でした", "です") else new.link
    return (new.subject, link, new.shape) == (old.subject, old.link, old.shape)


def _parsed(sentence: str) -> _Statement | None:
    text = without_lead(sentence)
    match = _JA.match(text) or _EN.match(text)
    if match is None:
        return None
    parts = match.groupdict()
    verb = parts.get("verb", "").casefold()
    link = f"{_VERBS.get(verb, verb)}{parts['link'].casefold()}"
    value = parts["value"].rstrip(" .!。！").casefold()
    if not content_words(parts["subject"]) or _ONLY_WRONG.fullmatch(value):
        return None
    subject = " ".join(_SAYS_NO_MORE.sub("", parts["subject"].casefold()).split())
    names = [item for item in find_entities(text) if _is_sure(item, link)]
    shape = "<person>" if _ROLE.search(subject) else _shape(value, names)
    return _Statement(subject, link, value, shape)


# The same sentences are compared in every turn.
_cached = lru_cache(maxsize=2_048)(_parsed)


def _statement(sentence: str) -> _Statement | None:
    return _cached(sentence[:_MAX_CHARS])


def _is_sure(entity: Entity, link: str) -> bool:
    """Whether an entity's detected kind is reliable.

    Any capitalised word may be detected as a person, and "rack-4" in "in rack-4" as a server.
    """
    if entity.kind == "server":
        return not link.endswith((" in", " at"))
    return entity.kind != "person" or not entity.name.isascii() or link in {"is", "was"}


def _shape(value: str, names: Iterable[Entity]) -> str:
    """The value with names replaced by their kinds, and numbers by '#'."""
    for item in sorted(names, key=lambda item: -len(item.name)):
        value = value.replace(item.name.casefold(), f"<{item.kind}>")
    value = _WORD.sub(lambda word: "<city>" if is_city(word[0]) else word[0], value)
    return _NUMBER.sub("#", value)
