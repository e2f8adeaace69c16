"""What a lesson says, taken apart for comparison: terms, numbers, names, denials, order.

Reads English, Japanese and both mixed, with word lists and no model, so that the same text always
reads the same. What it misses makes two lessons look different, which costs a merge, never a
lesson.
"""

import re
import unicodedata
from collections import Counter
from functools import cache, lru_cache
from typing import NamedTuple

from acc_ace.text.lessons.features_en import read_word, rewritten
from acc_ace.text.lessons.features_ja import read_run
from acc_ace.text.lessons.lesson_words import Reading, Word
from acc_ace.text.lessons.lexicon_en import word_class
from acc_ace.text.lessons.lexicon_ja import COUNTER, HIRAGANA, KANJI, KATAKANA
from acc_ace.text.lessons.order import ranks
from acc_ace.text.patterns import lazy_pattern

COMPARED_CHARACTERS = 4_000
"""The part of a text that is compared; two longer texts are never taken for one."""

_PUNCTUATION = r"!?;:'\"()\[\]{}*_`、。「」『』・…–—‘’“”【】〈〉《》〜"
_LETTER = rf"[^\W_{KANJI}{KATAKANA}{HIRAGANA}]"
_TOKEN = lazy_pattern(
    rf"(?P<ja>[{KANJI}{KATAKANA}{HIRAGANA}]+)"
    rf"|(?P<number>(?<![A-Za-z_])[+-]?\d(?:[\d,]*\d)?(?:\.\d+)?(?P<counter>{COUNTER})?(?![A-Za-z0-9_]))"
    rf"|(?P<word>{_LETTER}(?:(?:{_LETTER}|[_.'/@:#-])*{_LETTER})?[+#]*)"
    rf"|(?P<sign>[$%<>=]+|[^\x00-\x7f\w\s{_PUNCTUATION}])|(?P<stop>[.;:!?。！？\n])|(?P<pause>[,、])"
)

_MARKS = lazy_pattern(rf"(?<!\d)[.,](?=\d)|[.,](?!\d)|[{_PUNCTUATION}]")
_JAPANESE = lazy_pattern(rf"[{KANJI}{KATAKANA}{HIRAGANA}]")
_SPACE_JA = lazy_pattern(rf"(?<=[{KANJI}{KATAKANA}{HIRAGANA}]) | (?=[{KANJI}{KATAKANA}{HIRAGANA}])")


class Lesson(NamedTuple):
    """A text for comparison. Two that are equal say the same, as far as we can read."""

    sequence: tuple[str, ...]
    """Terms that carry meaning, in the order of the text."""
    terms: frozenset[str]
    numbers: tuple[str, ...]
    names: frozenset[str]
    poles: frozenset[str]
    """Words that have an opposite, light ones included."""
    denied: frozenset[str]
    denials: int
    ranks: tuple[tuple[str, int], ...]
    """Terms with the step that they belong to, where the text says what comes first."""
    sources: frozenset[str]
    targets: frozenset[str]
    plain: str
    """The text without case, width, marks and space; '' where it is too long to compare."""


@lru_cache(maxsize=32_768)
def read(text: str) -> Lesson:
    """What a text says; remembers the texts it has read."""
    plain = unicodedata.normalize("NFKC", text).replace("’", "'")
    reading = Reading()
    source = rewritten(plain[:COMPARED_CHARACTERS])
    for match in _TOKEN.finditer(source):
        _take(match, reading)
    words = reading.words
    sequence = tuple(word.term for word in words)
    step = ranks(source, reading)
    return Lesson(
        sequence=sequence,
        terms=frozenset(sequence),
        numbers=tuple(sorted(Counter(reading.numbers).elements())),
        names=frozenset(reading.names),
        poles=frozenset(reading.poles - _order_words() if step else reading.poles),
        denied=frozenset(denial.term for denial in reading.denials if denial.term),
        denials=len(reading.denials),
        ranks=step,
        sources=frozenset(reading.sources),
        targets=frozenset(reading.targets),
        plain=_plain(plain),
    )


@cache
def _order_words() -> frozenset[str]:
    """Words that count as steps where the steps were told apart."""
    return frozenset(map(word_class, ("before", "after", "until"))) | {"前", "後"}


def _take(match: re.Match[str], reading: Reading) -> None:
    token, at = match.group(), match.start()
    match match.lastgroup if match.lastgroup != "counter" else "number":
        case "ja":
            read_run(token, at, reading)
        case "number":
            unit = match["counter"] or ""
            reading.number(token.removesuffix(unit).replace(",", "").lstrip("+"), unit)
        case "word":
            # Japanese has no capitals, so one before it tells as much at the start of a sentence.
            if _JAPANESE.match(match.string, match.end()):
                reading.begins = False
            read_word(token, at, reading)
        case "sign":
            reading.add(Word(token, at))
        case "stop":
            reading.end_sentence(at)
        case _:
            reading.pauses.append(at)


def _plain(text: str) -> str:
    if len(text) > COMPARED_CHARACTERS:
        return ""
    return _SPACE_JA.sub("", " ".join(_MARKS.sub(" ", text.casefold()).split()))
