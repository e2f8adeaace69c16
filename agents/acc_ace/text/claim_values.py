"""The numbers of a lesson that set something: with a unit, or beside a word such as 'timeout'.

A number of any other kind ("lesson 5", "Python 3", "db-01") is a name and stays a word.
"""

import re
from typing import Final, NamedTuple

from acc_ace.text.patterns import lazy_pattern


class Measure(NamedTuple):
    """A number in the base unit of its kind."""

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
        ("times retries retry attempts attempt tries 回", "count", 1.0),
        ("items results rows records lines requests messages 件 行 個", "item", 1.0),
        ("tokens characters words 文字", "text", 1.0),
        ("yen 円", "yen", 1.0),
        ("dollars usd ドル", "dollar", 1.0),
        ("degrees celsius 度", "degree", 1.0),
    )
    for name in names.split()
}
_NUMBER = r"(?<![a-z0-9_.,第年月-])(?P<value>\d{1,3}(?:,\d{3}){1,4}|\d{1,15}(?:\.\d{1,6})?)"
_MEASURED = lazy_pattern(
    _NUMBER
    + r"[\s-]?(?P<unit>"
    + "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
    + r")(?:(?<=[a-z])(?![a-z0-9_])|(?<![a-z])(?!の|目))"
)
_SETTING = lazy_pattern(
    r"(?P<name>\b(?:timeout|limit|max(?:imum)?|min(?:imum)?|threshold|port|temperature|size|delay"
    r"|interval|ttl|depth|budget|ratio|retention|window|concurrency|quota)\b"
    r"|タイムアウト|上限|下限|閾値|しきい値|最大値?|最小値?|ポート|間隔|温度|サイズ)"
    r"(?:\s*(?:=|:|is|of|to|at|be|は|を|が|値))*\s*" + _NUMBER + r"(?![\w,%.-]*[\w%-])"
)
_MARKS = frozenset({"0"} | {f"0{unit}" for unit, _ in _UNITS.values()})
"""What stands for a measure; no text has a word like it but one that begins a number with 0."""


def take_measures(text: str) -> tuple[str, tuple[Measure, ...]]:
    """A casefolded text with a word in place of each measure, and the measures in order."""
    found: list[tuple[int, Measure]] = []

    def unit(match: re.Match[str]) -> str:
        name, factor = _UNITS[match["unit"]]
        found.append((match.start(), Measure(name, _number(match["value"]) * factor)))
        return f" 0{name} "

    def setting(match: re.Match[str]) -> str:
        found.append((match.start(), Measure("", _number(match["value"]))))
        return match["name"] + " 0 "

    # Numbers with a unit first: what is left of "timeout of 30 s" is no bare number.
    without_units = _MEASURED.sub(unit, text)
    bare = _SETTING.sub(setting, without_units)
    return bare, tuple(measure for _, measure in found)


def is_measure(word: str) -> bool:
    """Whether a word of the text stands for a measure."""
    return word in _MARKS


def _number(text: str) -> float:
    """'1,000' and '1000' are one number."""
    return float(text.replace(",", ""))
