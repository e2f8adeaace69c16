"""Numbers in a rule as limits, and the arguments of a call that they bound."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

from acc_ace.core.text.lexicon_en import root_of
from acc_ace.core.text.normalize import normalise
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.polarity import negated
from acc_ace.ext.guard.act_words import Term, same_class, terms_of

_NUMBER: Final = (
    r"(?P<sign>[$€£¥])?\s*(?P<number>\d+(?:[,.]\d+)*)\s*(?P<scale>万|千|億|割|k\b|m\b)?"
    r"\s*(?P<unit>[a-z%°]+|[\u3400-\u9fff\u30a1-\u30faー]+)?"
)
_JA_NUMBER: Final = _NUMBER.replace("P<", "P<j_")
_MORE: Final = "more|greater|larger|higher|longer|bigger"
_LESS: Final = "less|fewer|smaller|lower|younger"
_CAP: Final = lazy_pattern(
    rf"(?:\bup to|\bat most|\bno (?:{_MORE}) than|\bnot more than|\bmax(?:imum)?(?: of)?"
    r"|\blimit(?:ed)? (?:is|of|to)|\bbudget (?:is|of)|\bcap(?:ped)? (?:is|of|at)|上限は?)"
    rf"\s+(?:the )?{_NUMBER}|{_JA_NUMBER}(?:まで|以内|以下|が上限)"
)
_FLOOR: Final = lazy_pattern(
    rf"(?:\bat least|\bno (?:{_LESS}) than|\bnot less than|\bminimum(?: of)?)\s+{_NUMBER}"
    rf"|最低(?:でも)?{_JA_NUMBER}"
)
_OVER: Final = lazy_pattern(
    rf"(?:\b(?:{_MORE}) than|\babove|\bover|\bbeyond|\bexceed(?:s|ing)?|\bpast)\s+{_NUMBER}"
    rf"|{_JA_NUMBER}(?:を|より)?(?:超|越|上回|以上|大き|多)"
)
_BELOW: Final = lazy_pattern(
    rf"(?:\b(?:{_LESS}) than|\bbelow|\bunder)\s+{_NUMBER}"
    rf"|{_JA_NUMBER}(?:を|より)?(?:未満|下回|少な|小さ|以下)"
)
_SPAN: Final = lazy_pattern(
    r"(?P<noun>[a-z]+)?\s*\b(?P<a>\d+)\s*(?:to|and|[-–〜~～]|から)\s*(?P<b>\d+)"
    r"\s*(?P<after>[\u3400-\u9fff]+)?"
)
_MINOR: Final = lazy_pattern(r"\bminors?\b|\bunderage\b|未成年者?")
_ADULT: Final = 18
_CONSULTS: Final = lazy_pattern(
    r"\b(?:ask|approval|approve|confirm|check with|sign-?off)\b|確認|承認|相談"
)
_SCALES: Final = {"万": 1e4, "千": 1e3, "億": 1e8, "割": 10.0, "k": 1e3, "m": 1e6}
_UNITS: Final = """
money: euro euros eur usd gbp dollar dollars pound pounds yen $ € £ ¥ 円 ユーロ ドル ポンド \
    | amount total price cost budget fee sum payment salary value \
    refund
percent: % percent 割 パーセント | percent percentage pct rate share discount portion
days: day days 日 日間 | day days retention
hours: hour hours 時間 | hour hours
minutes: minute minutes min mins 分 分間 | minute minutes min duration
seconds: second seconds s sec 秒 | second seconds timeout
nodes: node nodes 台 instance instances replica replicas \
    | node nodes instance instances replica replicas count size
degrees: degree degrees c f ° 度 | temperature target degree degrees temp
mass: g mg kg グラム | dose total gram grams mg g daily amount weight
people: people person persons guest guests 人 名 | people person guest guests headcount party
age: years old 歳 才 | age
"""


@dataclass(frozen=True)
class Limit:
    """The most and the least that a number may be."""

    least: float | None = None
    most: float | None = None
    strict: bool = False
    unit: str = ""
    words: str = ""
    """The words of the rule around it."""

    def breaks(self, value: float) -> bool:
        """Whether a number is beyond."""
        if self.most is not None and (value >= self.most if self.strict else value > self.most):
            return True
        return self.least is not None and (
            value <= self.least if self.strict else value < self.least
        )


def limit_of(text: str) -> tuple[Limit | None, str]:
    """The limit in a normalised rule and the rule without it."""
    if _MINOR.search(text) and negated(text):
        return Limit(least=_ADULT, unit="age"), _MINOR.sub(" ", text)
    for pattern, is_most in ((_CAP, True), (_FLOOR, False)):
        if match := pattern.search(text):
            return _limit(match, most=is_most, strict=False), _cut(text, match)
    forbids = negated(text) or bool(_CONSULTS.search(text))
    for pattern, over in ((_OVER, True), (_BELOW, False)):
        if match := pattern.search(text):
            # "Never more than 20" allows 20; "keep it below 200" does not allow 200.
            limit = _limit(match, most=over == forbids, strict=not forbids)
            if forbids and "以上" in match.group():
                limit = Limit(most=limit.most, strict=True, unit=limit.unit)
            return limit, _cut(text, match)
    return None, text


def span_of(text: str) -> tuple[Limit | None, str]:
    """A span of numbers such as 'rooms 1 to 8' and the normalised rule without it."""
    match = _SPAN.search(text)
    if match is None:
        return None, text
    words = " ".join(filter(None, (match["noun"], match["after"])))
    limit = Limit(least=float(match["a"]), most=float(match["b"]), words=words)
    return limit, _cut(text, match)


def bounded(limit: Limit, args: Mapping[str, Any], terms: list[Term]) -> tuple[str, float] | None:
    """The argument that a limit bounds and its number; None when none is meant for sure."""
    numbers = {key: n for key, value in args.items() if (n := _number(value)) is not None}
    if not numbers:
        return None
    keys = {key: _key_stems(key) for key in numbers}
    own = _units()[limit.unit].keys if limit.unit else frozenset()
    for words in (own, frozenset(root_of(t.word) for t in [*terms, *terms_of(limit.words)])):
        fitting = [key for key in numbers if keys[key] & words]
        if fitting:
            worst = next((key for key in fitting if limit.breaks(numbers[key])), fitting[0])
            return worst, numbers[worst]
    if len(numbers) == 1:
        key, number = next(iter(numbers.items()))
        others = (words.keys for unit, words in _units().items() if unit != limit.unit)
        if not limit.unit or keys[key].isdisjoint(frozenset().union(*others)):
            return key, number
    return None


def _limit(match: re.Match[str], *, most: bool, strict: bool) -> Limit:
    parts = match.groupdict()
    number = parts["number"] or parts["j_number"]
    scale = parts["scale"] or parts["j_scale"] or ""
    sign = parts["sign"] or parts["j_sign"] or ""
    unit = parts["unit"] or parts["j_unit"] or ""
    value = float(number.replace(",", "")) * _SCALES.get(scale, 1.0)
    name = "percent" if scale == "割" else _unit(sign) or _unit(unit)
    if not name and not most:
        name = "age" if not unit and "under" in match.group() else ""
    return Limit(
        least=None if most else value, most=value if most else None, strict=strict, unit=name
    )


def _cut(text: str, match: re.Match[str]) -> str:
    return f"{text[: match.start()]} {text[match.end() :]}"


class _Words(NamedTuple):
    """The words of a unit in rules, and the stems of the arguments that are measured in it."""

    said: frozenset[str]
    keys: frozenset[str]


@cache
def _units() -> dict[str, _Words]:
    table: dict[str, _Words] = {}
    for line in _UNITS.strip().splitlines():
        name, _, rest = line.partition(":")
        words, keys = rest.split("|")
        table[name] = _Words(frozenset(words.split()), frozenset(map(root_of, keys.split())))
    return table


def _unit(text: str) -> str:
    for name, words in _units().items():
        japanese = tuple(word for word in words.said if not word.isascii())
        if text in words.said or (not text.isascii() and text.startswith(japanese)):
            return name
    return ""


def _key_stems(key: str) -> frozenset[str]:
    words = re.findall(r"[a-z]+|[^\x00-\x7f]+", normalise(key))
    return frozenset(stem for word in words for stem in {root_of(word), *same_class(word)})


_AMOUNT: Final = lazy_pattern(
    r"^\s*[$€£¥]?\s*(-?\d+(?:,\d{3})*(?:\.\d+)?)\s*(?:[a-z€£%¥円]{0,5})\s*$", re.IGNORECASE
)


def _number(value: object) -> float | int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    match = _AMOUNT.match(value) if isinstance(value, str) else None
    return float(match[1].replace(",", "")) if match else None
