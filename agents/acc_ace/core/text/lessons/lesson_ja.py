"""Parse a Japanese sentence into terms: last verb stemmed, phrases of a verb in one order.

Particles are terms, to distinguish from and to, actor and object. Unknown endings are
unchanged.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from acc_ace.core.text.lessons.lesson_en import MARK, NOT, OPTIONAL, Piece, english_term
from acc_ace.core.text.lexicon_ja import (
    CASE,
    COUNTER,
    COUNTERS,
    DIGITS,
    HARMLESS,
    HIRAGANA,
    KANJI,
    KATAKANA,
    SYNONYMS,
)
from acc_ace.core.text.patterns import lazy_pattern

MAY: Final = MARK + "may"

_DENIES = lazy_pattern(r"ない|ません|なく|ずに|せず|禁止|不要|不可|な$")
_WHEN = lazy_pattern(
    rf"(?:(?<=[たるいのうくぐすつぬぶむ])(?:場合|とき|時|際)|(?<=[{KANJI}])の?場合)(?:に?は|に)?、?"
)
_ONCE = lazy_pattern(r"(?<=[\u3041-\u3096\u4e00-\u9fff])([ただ])ら(?=[^\u3041-\u3096])")
_AFTER = lazy_pattern(r"(?<=[\u3041-\u3096])([ただ])(?:後|あと)[にで]?")
_ALTERNATIVES = (("最初に", "まず"), ("はじめに", "まず"), ("お客様", "客"), ("顧客", "客"))
_DO_BEFORE = lazy_pattern(r"する(?=前)")
_NUMBER = lazy_pattern(rf"(?<!第)(?P<number>[〇一二三四五六七八九]|\d+)(?P<counter>{COUNTER})")

_RUN = lazy_pattern(rf"(?P<kanji>[{KANJI}]+)|(?P<katakana>[{KATAKANA}]+)|(?P<kana>[{HIRAGANA}]+)")
_BAN = lazy_pattern(r"(?P<what>.*?)(?:禁止|厳禁|不可)")

_I, _E = "いきぎしちじにびみり", "えけげせてねべめれ"
_TE = rf"(?:い[てで]|って|んで|して|(?P<te>[{_E}]?)て)"
_DICT = rf"(?:する|[うくぐすつぬぶむ]|(?P<dict>[いきぎちじびみり{_E}]?)る)"
_MASU = rf"(?:[{_I}]|(?P<masu>[{_E}]?))"
_NAI = rf"(?:[わかがさたなばまらし]|(?P<nai>[きみ{_E}]?))"
_PLEASE = r"(?:ください|下さい|おく(?:こと)?|おきましょう|おいてください|もらう)"
_BE = r"(?:だ|である|です)?"
_SO = rf"(?:こと|べき{_BE}|ようにする|ようにしてください)?"

_ASKED = lazy_pattern(
    rf"{_TE}{_PLEASE}?|{_DICT}{_SO}|{_MASU}(?:ます|ましょう|なさい)|せよ|しろ|です|である|だ"
)
_DENIED = lazy_pattern(
    rf"{_NAI}(?:ない(?:こと|ようにする|ように|で(?:ください|下さい)?)?|ません)"
    rf"|{_TE}は(?:いけない|いけません|ならない|なりません|だめ{_BE})"
    rf"|{_DICT}(?:な|べきで(?:は)?ない)"
)
_ALLOWED = lazy_pattern(rf"{_TE}も?(?:よい|良い|いい|かまわない|構わない){_BE}")
_LEFT_OPEN = lazy_pattern(rf"{_NAI}なくて?も?(?:よい|いい|かまわない){_BE}")
_JOINING = frozenset("のと")
"""Particles that join two nouns into one phrase."""

_CLAUSE = lazy_pattern(r".*(?:場合|[前後時中際])")
"""Nouns that turn the words before them into a clause."""

_DOING = frozenset(("行", "実施", "行な"))
_SHUNNED = frozenset(("避け", "控え"))


class _Term(NamedTuple):
    """A term; nominal ones can be part of a movable phrase."""

    text: str
    nominal: bool


def plain_japanese(text: str) -> str:
    """The text with counters, conditions and emphasis in a canonical form."""
    if not _DENIES.search(text):
        text = HARMLESS.sub("", text)
    for word, plain in _ALTERNATIVES:
        text = text.replace(word, plain)
    text = _AFTER.sub(lambda match: "てから" if match[1] == "た" else "でから", text)
    text = _ONCE.sub(r"\1場合", text)
    text = _DO_BEFORE.sub("", _WHEN.sub("場合に、", text))
    return _NUMBER.sub(_counted, text)


def _counted(match: re.Match[str]) -> str:
    counter = match["counter"]
    # '37度' is a temperature, '一度' is once.
    if not (counter == "度" and match["number"].isdigit() and match["number"].isascii()):
        counter = COUNTERS.get(counter, counter)
    return f"{match['number'].translate(DIGITS)}{counter}"


def japanese_terms(sentence: Sequence[Piece]) -> list[str]:
    """The terms of a sentence that contains Japanese."""
    terms = [term for piece in sentence for term in _cut(piece)]
    return list(_in_one_order(_with_synonyms(_with_plain_end(terms))))


def _cut(piece: Piece) -> Iterator[_Term]:
    if piece.literal or not _RUN.match(piece.text):
        yield _Term(english_term(piece), nominal=True)
        return
    for match in _RUN.finditer(piece.text):
        yield _Term(match.group(), match.lastgroup != "kana" or match.group() in _JOINING)


def _with_plain_end(terms: list[_Term]) -> list[_Term]:
    """Stem the last verb and append NOT, MAY or OPTIONAL for its ending."""
    if not terms:
        return terms
    *before, last = terms
    endings: list[str] = []
    if not last.nominal and before and before[-1].nominal:
        for pattern, mark in (
            (_LEFT_OPEN, OPTIONAL), (_ALLOWED, MAY), (_DENIED, NOT), (_ASKED, ""),
        ):  # fmt: skip
            match = pattern.fullmatch(last.text)
            if match is not None:
                stem = before[-1].text + next(filter(None, match.groups()), "")
                before[-1:] = [_Term(stem, nominal=True)]
                endings = [mark] if mark else []
                break
        else:
            return terms
    else:
        before = terms
    return [*_without_support(before, endings), *(_Term(mark, nominal=False) for mark in endings)]


def _without_support(terms: list[_Term], endings: list[str]) -> list[_Term]:
    """Remove support verbs: '確認を行う' to '確認', '再起動は禁止' to '再起動' and NOT."""
    last = terms[-1].text
    ban = _BAN.fullmatch(last)
    supported = len(terms) > 2 and terms[-2].text in CASE
    if supported and last in _DOING and terms[-2].text == "を":
        return terms[:-2]
    if endings:
        # A negated ban is not a duty, so it stays unchanged.
        return terms
    if supported and (last in _SHUNNED or (ban is not None and not ban["what"])):
        endings.append(NOT)
        return terms[:-2]
    if ban is not None and ban["what"]:
        endings.append(NOT)
        return [*terms[:-1], _Term(ban["what"], nominal=True)]
    return terms


def _with_synonyms(terms: list[_Term]) -> list[_Term]:
    return [term._replace(text=SYNONYMS.get(term.text, term.text)) for term in terms]


def _in_one_order(terms: Sequence[_Term]) -> Iterator[str]:
    """Sort the phrases (nouns and a particle) of each verb; other terms keep their place."""
    phrases: list[tuple[str, ...]] = []
    phrase: list[str] = []
    for term in terms:
        phrase.append(term.text)
        if term.nominal:
            continue
        if term.text in CASE and len(phrase) > 1 and not _CLAUSE.fullmatch(phrase[-2]):
            phrases.append(tuple(phrase))
        else:
            yield from _sorted(phrases)
            yield from phrase
            phrases = []
        phrase = []
    yield from _sorted(phrases)
    yield from phrase


def _sorted(phrases: list[tuple[str, ...]]) -> Iterator[str]:
    particles = [phrase[-1] for phrase in phrases]
    # A repeated particle belongs to two verbs, whose phrases must not mix.
    alike = len(set(particles)) < len(particles)
    for phrase in phrases if alike else sorted(phrases):
        yield from phrase
