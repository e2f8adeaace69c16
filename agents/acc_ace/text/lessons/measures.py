"""Numbers with a unit, or beside a word that is set, such as 'timeout'."""

import re
from typing import Final, NamedTuple

from acc_ace.text.patterns import lazy_pattern

MARK: Final = "\x1f"
"""Begins what stands for a word that no text has: 'not', or the unit of a measure."""


class Measure(NamedTuple):
    """A number in the base unit of its kind; '' is the unit of a setting."""

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


def with_measures(text: str) -> str:
    """The text with each measure written as one word: its value, MARK, its unit."""

    def unit(match: re.Match[str]) -> str:
        name, factor = _UNITS[match["unit"].lower()]
        return f" {float(_plain(match)) * factor:.12g}{MARK}{name} "

    def setting(match: re.Match[str]) -> str:
        return f"{match['name']} {_plain(match)}{match['unit'] or MARK} "

    # Numbers with a unit first: what is left of "timeout of 30 s" is no bare number.
    return _SETTING.sub(setting, _MEASURED.sub(unit, text))


def measure_of(term: str) -> Measure | None:
    """The measure that a term stands for, if it does."""
    value, mark, unit = term.partition(MARK)
    return Measure(unit, float(value)) if mark and value else None


def _plain(match: re.Match[str]) -> str:
    """'1,000' and '1000' are one number."""
    return match["value"].replace(",", "")
