"""Tell which earlier statement a correction takes the place of."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from core.domain.language.words import content_words
from core.models.embedded.entities import find_entities
from core.models.embedded.speech import is_correction, without_lead

_EN = re.compile(
    r"^(?P<subject>.{1,120}?)\s+(?P<verb>is|are|was|were|runs?|sits?|lives?|belongs?)"
    r"(?:\s+(?:now|actually|currently|really|still|located|hosted))*"
    r"(?P<link>(?:\s+(?:in|at|on|from|for|by|to|with))?)\s+(?P<value>.{1,200})$",
    re.IGNORECASE,
)
_JA = re.compile(
    r"^(?P<subject>.{1,60}?)は、?(?P<value>.{1,80}?)"
    r"(?P<link>(?:に|で)(?:あります|います|ある|いる|置かれています|置いて(?:あり|い)ます)"
    r"|です|でした|だ)[。！]?$"
)
_BE = frozenset({"is", "are", "was", "were"})
_MAX_CHARS = 400


class _Statement(NamedTuple):
    """What something is said to be, or where: its subject, how they are linked, the value."""

    subject: frozenset[str]
    link: str
    value: str
    kinds: frozenset[str]


def takes_place_of(newer: str, older: str) -> bool:
    """Whether a correction says something else of just what the older sentence says it of.

    So "db-01 is in Tokyo" takes the place of "the db-01 server is in Frankfurt", and "db-01 is
    slow" that of neither.
    """
    new, old = _statement(newer), _statement(older)
    if new is None or old is None or new.link != old.link:
        return False
    if not (new.subject <= old.subject or old.subject <= new.subject):
        return False
    return _alike(new, old)


def names_subject(sentence: str) -> bool:
    """Whether a sentence names what it says something of; "it is in Tokyo" does not."""
    return _statement(sentence) is not None


def corrected(newest: Iterable[str], held: Sequence[str]) -> list[str]:
    """What of `held` still stands when `newest` is said to correct it."""
    said = list(newest)
    return [older for older in held if not any(takes_place_of(newer, older) for newer in said)]


def corrected_in(sentences: Sequence[str]) -> dict[str, str]:
    """Sentences that a newer one of them corrects, each with it; the newest must come first."""
    gone: dict[str, str] = {}
    for at, newer in enumerate(sentences):
        if not is_correction(newer):
            continue
        for older in sentences[at + 1 :]:
            if takes_place_of(newer, older):
                gone.setdefault(older, newer)
    return gone


def _alike(new: _Statement, old: _Statement) -> bool:
    """Whether the values are of one kind: both names, or entities of the same kind."""
    if new.kinds & old.kinds:
        return True
    # "Is slow" and "is the primary" are two things of one subject; "is in" says one only.
    return new.link not in {"be", "です"} and new.value[:1].isupper() == old.value[:1].isupper()


def _statement(sentence: str) -> _Statement | None:
    text = without_lead(sentence[:_MAX_CHARS])
    match = _JA.match(text) or _EN.match(text)
    if match is None:
        return None
    found = match.groupdict()
    verb = found.get("verb", "").casefold()
    subject = content_words(found["subject"])
    link = f"{'be' if verb in _BE else verb}{found['link'].casefold()}"
    if found["link"] in {"でした", "だ"}:
        link = "です"
    if not subject:
        return None
    kinds = {item.kind for item in find_entities(text) if item.name in found["value"]}
    return _Statement(subject, link, found["value"], frozenset(kinds))
