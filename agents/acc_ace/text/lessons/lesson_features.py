"""What a lesson says, taken apart for comparison: terms, numbers, names, denials, order."""

import re
import unicodedata
from collections import Counter
from functools import cache, lru_cache
from typing import NamedTuple

from acc_ace.text.lessons.lesson_en import read_word, rewritten, word_class
from acc_ace.text.lessons.lesson_ja import COUNTER, HIRAGANA, KANJI, KATAKANA, read_run
from acc_ace.text.lessons.lesson_words import Reading, Word
from acc_ace.text.patterns import lazy_pattern

_EN = lazy_pattern(r"\b(?P<marker>before|after|until|then)\b", re.IGNORECASE)
_JA_LATER = lazy_pattern(r"(?P<marked>[^は、。]*?)(?:る前に|の前に|前に|までに|る前には)")
_JA_EARLIER = lazy_pattern(
    r"(?P<marked>[^は、。]*?)(?:の後に|後に|の後で|てから|でから|(?:した|だ)?(?:うえ|上)で|たら)"
)


def ranks(text: str, reading: Reading) -> tuple[tuple[str, int], ...]:
    """Terms with the step they belong to, 0 first; empty where the text gives no order.

    A 'not … until' or 'not … before' is an order and no denial, so it leaves the denials.
    """
    match = _EN.search(text)
    if match is not None:
        return _english(text, match, reading)
    for pattern, marked_rank in ((_JA_LATER, 1), (_JA_EARLIER, 0)):
        found = pattern.search(text)
        if found is not None and found["marked"]:
            return _split(reading, found.start("marked"), found.end("marked"), marked_rank)
    return ()


def _english(text: str, match: re.Match[str], reading: Reading) -> tuple[tuple[str, int], ...]:
    marker, at = match["marker"].lower(), match.start()
    if marker == "then":
        return _listed(text, reading)
    start, end = _clause(at, reading)
    opens = not any(start <= word.at < at for word in reading.words)
    close = next((pause for pause in reading.pauses if pause > at), end) if opens else end
    denied = [denial for denial in reading.denials if start <= denial.at < at]
    later = marker == "before" or (marker == "until" and not denied)
    if marker in ("before", "until") and denied and not opens:
        reading.denials.remove(denied[-1])
        later = False
    return _split(reading, at, close, int(later))


def _clause(at: int, reading: Reading) -> tuple[int, int]:
    """Where the sentence around a position begins and ends."""
    start = max((stop for stop in reading.stops if stop < at), default=0)
    end = min((stop for stop in reading.stops if stop > at), default=1 << 30)
    return start, end


def _split(reading: Reading, start: int, end: int, marked_rank: int) -> tuple[tuple[str, int], ...]:
    return tuple(
        (word.term, marked_rank if start <= word.at < end else 1 - marked_rank)
        for word in reading.words
    )


def _listed(text: str, reading: Reading) -> tuple[tuple[str, int], ...]:
    """Every 'then' begins another step."""
    cuts = [found.start() for found in _EN.finditer(text) if found["marker"].lower() == "then"]
    return tuple((word.term, sum(cut <= word.at for cut in cuts)) for word in reading.words)


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
