"""Tell which earlier statement a correction takes the place of.

Where that is not beyond doubt it takes the place of none: both stand, the newer one first.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from core.domain.language.words import content_words
from core.models.embedded.entities import Entity, find_entities
from core.models.embedded.places import is_city
from core.models.embedded.speech import is_correction, without_lead

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
"""Words of a subject that name no other thing: "the db-01 server" is db-01."""

_WORD = re.compile(r"[A-Za-z]+|[\u4e00-\u9fff々]+|[\u30a1-\u30faー]+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ONLY_WRONG = re.compile(
    r"(?:all |just )?(?:wrong|incorrect|mistaken|not (?:right|true|correct))|間違い|誤り"
)
_MAX_CHARS = 400


class _Statement(NamedTuple):
    """What something is said to be, or where; `shape` is the value but for names and numbers."""

    subject: str
    link: str
    value: str
    shape: str


def takes_place_of(newer: str, older: str) -> bool:
    """Whether a correction says of just the same thing, in the same words, another value.

    So "db-01 is in Tokyo" takes the place of "the db-01 server is in Frankfurt", and "db-01 is
    slow" or "db-01 is in maintenance" that of neither.
    """
    return bool(_replaced(newer, [older]))


def names_subject(sentence: str) -> bool:
    """Whether a sentence says something of what it names; "it is in Tokyo" does not."""
    return _statement(sentence) is not None


def of_one_matter(newer: str, older: str) -> bool:
    """Whether two sentences say the same kind of thing of the same subject, perhaps otherwise."""
    new, old = _statement(newer), _statement(older)
    return new is not None and old is not None and new[:2] == old[:2]


def corrected(newest: Iterable[str], held: Sequence[str]) -> list[str]:
    """What of `held` still stands when `newest` is said to correct it."""
    standing = list(held)
    for newer in newest:
        gone = set(_replaced(newer, standing))
        standing = [older for older in standing if older not in gone]
    return standing


def corrected_in(sentences: Sequence[str]) -> dict[int, int]:
    """Where a sentence stands that a newer one corrects, each with where that stands.

    The newest must come first.
    """
    gone: dict[int, int] = {}
    for at in range(len(sentences) - 1, -1, -1):
        if is_correction(sentences[at]):
            standing = [older for older in range(at + 1, len(sentences)) if older not in gone]
            wrong = set(_replaced(sentences[at], [sentences[older] for older in standing]))
            gone |= {older: at for older in standing if sentences[older] in wrong}
    return gone


def _replaced(newer: str, held: Sequence[str]) -> list[str]:
    """The sentences that a correction takes the place of; none where it may mean one of two."""
    new = _statement(newer)
    if new is None:
        return []
    alike = [(older, old) for older in held if (old := _statement(older)) and _alike(new, old)]
    values = {old.value for _, old in alike} - {new.value}
    return [older for older, _ in alike] if len(values) < 2 else []


def _alike(new: _Statement, old: _Statement) -> bool:
    return (new.subject, new.link, new.shape) == (old.subject, old.link, old.shape)


def _parsed(sentence: str) -> _Statement | None:
    text = without_lead(sentence)
    match = _JA.match(text) or _EN.match(text)
    if match is None:
        return None
    found = match.groupdict()
    verb = found.get("verb", "").casefold()
    link = f"{_VERBS.get(verb, verb)}{found['link'].casefold()}"
    value = found["value"].rstrip(" .!。！").casefold()
    if not content_words(found["subject"]) or _ONLY_WRONG.fullmatch(value):
        return None
    subject = " ".join(_SAYS_NO_MORE.sub("", found["subject"].casefold()).split())
    names = [item for item in find_entities(text) if _is_sure(item, link)]
    return _Statement(subject, link, value, _shape(value, names))


# The same sentences are looked at beside each other, turn after turn.
_remembered = lru_cache(maxsize=2_048)(_parsed)


def _statement(sentence: str) -> _Statement | None:
    return _remembered(sentence[:_MAX_CHARS])


def _is_sure(entity: Entity, link: str) -> bool:
    """Whether a thing is of the kind that it is found as.

    Any word with a capital is found as a person, and what is "in rack-4" as a server.
    """
    if entity.kind == "server":
        return not link.endswith((" in", " at"))
    return entity.kind != "person" or not entity.name.isascii() or link in {"is", "was"}


def _shape(value: str, names: Iterable[Entity]) -> str:
    """The value with the kind of each name, and a mark for each number, in its place."""
    for item in sorted(names, key=lambda item: -len(item.name)):
        value = value.replace(item.name.casefold(), f"<{item.kind}>")
    value = _WORD.sub(lambda word: "<city>" if is_city(word[0]) else word[0], value)
    return _NUMBER.sub("#", value)
