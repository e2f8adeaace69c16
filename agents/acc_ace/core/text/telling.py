"""What a text tells, whether another sentence tells it too, and texts without such sentences."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.sentences import split_sentences
from acc_ace.core.text.similarity import content_words

_LEAST_SHARED: Final = 2
_JOINT: Final = lazy_pattern(r"(?<=[^\W\d])[:/](?=\w)")
_NAME: Final = lazy_pattern(r"(?<=[^\s.!?:。\"'「])\s+([A-Z][a-z]{2,})\b")
_LONG_NUMBER: Final = lazy_pattern(r"\d[\d.,:/-]*\d")
_LEAST_DIGITS: Final = 3
_ASKS: Final = ("?", "？", "か。", "か")
_CALENDAR: Final = (
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April June "
    "July August September October November December English Japanese"
)
"""Names that many statements share."""


class Told(NamedTuple):
    """What one sentence tells."""

    words: frozenset[str]
    telltale: frozenset[str]
    """Numbers and names, one of which is enough."""


def told_by(text: str, before: Iterable[str] = ()) -> tuple[Told, ...]:
    """What the sentences of a text tell, in words that no text `before` it has."""
    known = frozenset[str]().union(*map(_words, before))
    told = (Told(_words(each) - known, _telltale(each) - known) for each in statements(text))
    return tuple(dict.fromkeys(each for each in told if each.words))


def tells(sentence: str, told: Iterable[Told]) -> bool:
    """Whether a sentence tells it too: a number or name of it, or half of its words and two."""
    words, telltale = _words(sentence), _telltale(sentence)
    for each in told:
        least = min(max(_LEAST_SHARED, (len(each.words) + 1) // 2), len(each.words))
        if each.telltale & (words | telltale) or len(each.words & words) >= least:
            return True
    return False


def is_asked(sentence: str) -> bool:
    """Whether a sentence asks, and so states nothing."""
    return sentence.rstrip().endswith(_ASKS)


def statements(text: str) -> list[str]:
    """The sentences of a text that do not ask."""
    return [each for each in _sentences(text) if not is_asked(each)]


def telling(text: str, told: Sequence[Told]) -> list[str]:
    """The sentences of a text that tell it."""
    return [each for each in _sentences(text) if tells(each, told)]


def without(text: str, told: Sequence[Told], *, but: Iterable[str] = ()) -> str:
    """A text without the sentences that tell it, `but` these."""
    kept = {*but}
    gone = [each for each in telling(text, told) if each not in kept]
    for sentence in gone:
        text = text.replace(sentence, "")
    if not gone:
        return text
    return "\n".join(line.strip() for line in text.splitlines() if line.strip(" -•*・「」\"'"))


def _sentences(text: str) -> list[str]:
    return [each for line in text.splitlines() for each in split_sentences(line)]


def _words(text: str) -> frozenset[str]:
    return content_words(_JOINT.sub(" ", text))


def _telltale(text: str) -> frozenset[str]:
    numbers = (each.group() for each in _LONG_NUMBER.finditer(text))
    long = {each for each in numbers if sum(map(str.isdigit, each)) >= _LEAST_DIGITS}
    names = content_words(" ".join(_NAME.findall(text))) - content_words(_CALENDAR)
    return frozenset({each.replace(",", "") for each in long} | names)
