"""Parse a lesson into terms, by which duplicates are recognised."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

from acc_ace.core.text.lessons.lesson_en import (
    COMMA,
    MARK,
    Piece,
    english_terms,
    with_plain_negations,
)
from acc_ace.core.text.lessons.lesson_ja import japanese_terms, plain_japanese
from acc_ace.core.text.lexicon_en import NUMBERS
from acc_ace.core.text.lexicon_ja import COUNTER, HIRAGANA, KANJI, KATAKANA
from acc_ace.core.text.patterns import lazy_pattern, one_of

COMPARED_CHARACTERS: Final = 4_000
"""Longer texts are duplicates only when they are equal."""

_JAPANESE = rf"{KANJI}{KATAKANA}{HIRAGANA}"
_LETTER = rf"[^\W_{_JAPANESE}]"
_HAS_JAPANESE = lazy_pattern(rf"[{_JAPANESE}]")
_NUMBER_WORD = lazy_pattern(rf"\b{one_of(NUMBERS)}\b(?=\s+[a-z])", re.IGNORECASE)
_CODE = lazy_pattern(r"`([^`\n]{1,400})`")
_PIECE = lazy_pattern(
    rf"(?P<ja>[{_JAPANESE}]+)"
    # Flags, paths and globs; a leading mark distinguishes 'env' from '.env' and '$env'.
    rf"|(?P<literal>(?<![\w-])--?[A-Za-z][\w-]*|(?<!\w)[$~.]{{0,2}}/[\w./*~-]*\w|(?<!\w)(?:\*?\.|\$)\w[\w.]*)"
    rf"|(?P<number>(?:(?<!\w)-)?\d[\d.,:/-]*(?:(?<=\d){MARK}[a-z]*|(?<=\d)(?:{COUNTER}))|{MARK}\w+)"
    rf"|(?P<figure>(?:(?<!\w)-)?\d+(?:[.,:/-]\d+)*(?!{_LETTER}))"
    rf"|(?P<word>{_LETTER}(?:(?:{_LETTER}|[_.'/@:#*-])*{_LETTER})?[+#]*)"
    r"|(?P<stop>[.;!?。！？](?=\s|$)|[。！？\n])|(?P<comma>[,、])"
    r"|(?P<sign>(?<=\d)-(?=\d)|[<>=!]=|[^\w\s!?;:'\"()\[\]{}*_`,.、。「」『』・…–—“”‘’【】〈〉《》〜-])"
)
_THOUSANDS = lazy_pattern(r"(?<=\d),(?=\d{3})")


def terms_of_lesson(text: str) -> tuple[str, ...]:
    """The terms of a text, in order. Texts with equal terms are duplicates."""
    plain = unicodedata.normalize("NFKC", text).replace("’", "'").replace(MARK, " ")
    if len(plain) > COMPARED_CHARACTERS:
        return (plain,)
    code = frozenset(word for span in _CODE.findall(plain) for word in span.split())
    readable = _NUMBER_WORD.sub(lambda word: NUMBERS[word.group().lower()], plain)
    readable = with_plain_negations(_with_measures(plain_japanese(readable)))
    terms = [term for sentence in _sentences(readable, code) for term in _terms(sentence)]
    # A text of only punctuation or harmless words is compared verbatim.
    return tuple(terms) or tuple(plain.casefold().split())


def _terms(sentence: list[Piece]) -> list[str]:
    if any(_HAS_JAPANESE.match(piece.text) for piece in sentence):
        return japanese_terms([piece for piece in sentence if piece.text != COMMA])
    return english_terms(sentence)


def _sentences(text: str, code: frozenset[str]) -> Iterator[list[Piece]]:
    sentence: list[Piece] = []
    for match in _PIECE.finditer(_THOUSANDS.sub("", text)):
        line = match.group()
        match match.lastgroup:
            case "stop":
                yield sentence
                sentence = []
            case "comma":
                sentence.append(Piece(COMMA))
            case "literal" | "number" | "figure" | "sign":
                sentence.append(Piece(line, literal=True))
            case _:
                sentence.append(Piece(line, literal=line in code))
    yield sentence


class Measure(NamedTuple):
    """A number in its base unit; '' is the unit of a setting."""

    unit: str
    value: float


_UNITS: Final[dict[str, tuple[str, float]]] = {
    name: (unit, factor)
    for names, unit, factor in (
        ("ms msec millisecond milliseconds ミリ秒", "s", 0.001),
        ("s sec secs second seconds 秒 秒間", "s", 1.0),
        ("min mins minute minutes 分 分間", "s", 60.0),
        ("h hr hrs hour hours 時間", "s", 3_600.0),
        ("d day days 日 日間", "s", 86_400.0),
        ("week weeks 週間", "s", 604_800.0),
        ("b byte bytes バイト", "byte", 1.0),
        ("kb kib", "byte", 1_024.0),
        ("mb mib", "byte", 1_024.0**2),
        ("gb gib", "byte", 1_024.0**3),
        ("tb tib", "byte", 1_024.0**4),
        ("% percent パーセント", "percent", 1.0),
        ("yen 円", "yen", 1.0),
        ("dollars usd ドル", "dollar", 1.0),
        ("euros eur ユーロ", "euro", 1.0),
        ("degrees celsius °c 度 ℃", "degree", 1.0),
        ("times 回", "time", 1.0),
        ("retries retry", "retry", 1.0),
        ("attempts attempt tries", "attempt", 1.0),
        ("items 個", "item", 1.0),
        ("results", "result", 1.0),
        ("rows 行", "row", 1.0),
        ("records 件", "record", 1.0),
        ("lines", "line", 1.0),
        ("requests", "request", 1.0),
        ("messages", "message", 1.0),
        ("tokens", "token", 1.0),
        ("characters 文字", "character", 1.0),
        ("words", "word", 1.0),
    )
    for name in names.split()
}
_NUMBER = r"(?<![a-z0-9_.,第年月-])(?P<value>\d{1,3}(?:,\d{3}){1,4}|\d{1,15}(?:\.\d{1,6})?)"
_MEASURED = lazy_pattern(
    _NUMBER
    + r"[\s-]?(?P<unit>"
    + "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
    + r")(?:(?<=[a-z])(?![a-z0-9_])|(?<![a-z])(?!の|目))",
    re.IGNORECASE,
)
_SETTING = lazy_pattern(
    r"(?:\b(?:use|set|apply|configure)\s+(?:(?:an?|the|your)\s+)?)?"
    r"(?P<name>\b(?:timeout|limit|max(?:imum)?|min(?:imum)?|threshold|port|temperature|size|delay"
    r"|interval|ttl|depth|budget|ratio|retention|window|concurrency|quota)\b"
    r"|タイムアウト|上限|下限|閾値|しきい値|最大値?|最小値?|ポート|間隔|温度|サイズ)"
    r"(?:\s*(?:=|:|is|of|to|at|be|は|を|が|値))*\s*"
    + _NUMBER
    + rf"(?P<unit>{MARK}[a-z]+|(?![\w,%.-]*[\w%-]))",
    re.IGNORECASE,
)


def _with_measures(text: str) -> str:
    """The text with each measure written as one word: its value, MARK, its unit."""

    def unit(match: re.Match[str]) -> str:
        name, factor = _UNITS[match["unit"].lower()]
        return f" {float(_plain(match)) * factor:.12g}{MARK}{name} "

    def setting(match: re.Match[str]) -> str:
        return f"{match['name']} {_plain(match)}{match['unit'] or MARK} "

    # Numbers with a unit first, so that "timeout of 30 s" does not match as a bare number.
    return _SETTING.sub(setting, _MEASURED.sub(unit, text))


def measure_of(term: str) -> Measure | None:
    """The measure encoded in a term, or None."""
    value, mark, unit = term.partition(MARK)
    return Measure(unit, float(value)) if mark and value else None


def _plain(match: re.Match[str]) -> str:
    """The number without thousands separators."""
    return match["value"].replace(",", "")
