"""Find the time zone that a question names: 'Asia/Tokyo', 'in Tokyo', 「東京」."""

import re
from collections.abc import Mapping
from functools import lru_cache
from zoneinfo import available_timezones

from core.domain.language.patterns import words_of

_MAX_CHARS = 400
_REGIONS = words_of(
    "Africa America Antarctica Arctic Asia Atlantic Australia Europe Indian Pacific"
)
_PATH = re.compile(r"\b[A-Za-z_]+(?:/[A-Za-z0-9_+-]+){1,2}")
_WORD = re.compile(r"[a-z]+(?:[-'][a-z]+)*")
_LONGEST = 4
"""Words of the longest name of a city that is looked for ("port of spain")."""

_BEFORE = (["in"], ["at"], ["for"])
"""What a city stands behind, unless "time" follows: some are words too (Wake, Center)."""

_ALIASES: Mapping[str, str] = {
    "beijing": "Asia/Shanghai",
    "delhi": "Asia/Kolkata",
    "mumbai": "Asia/Kolkata",
    "osaka": "Asia/Tokyo",
    "japan": "Asia/Tokyo",
    "san francisco": "America/Los_Angeles",
    "seattle": "America/Los_Angeles",
}
"""Well-known places that no zone is called after."""

_AS_WRITTEN: Mapping[str, str] = {
    "JST": "Asia/Tokyo",
    "東京": "Asia/Tokyo",
    "大阪": "Asia/Tokyo",
    "日本": "Asia/Tokyo",
    "ソウル": "Asia/Seoul",
    "上海": "Asia/Shanghai",
    "北京": "Asia/Shanghai",
    "香港": "Asia/Hong_Kong",
    "台北": "Asia/Taipei",
    "シンガポール": "Asia/Singapore",
    "バンコク": "Asia/Bangkok",
    "ムンバイ": "Asia/Kolkata",
    "ドバイ": "Asia/Dubai",
    "シドニー": "Australia/Sydney",
    "ロンドン": "Europe/London",
    "パリ": "Europe/Paris",
    "ベルリン": "Europe/Berlin",
    "ニューヨーク": "America/New_York",
    "ロサンゼルス": "America/Los_Angeles",
    "サンフランシスコ": "America/Los_Angeles",
    "ホノルル": "Pacific/Honolulu",
}
"""Names that may stand anywhere in a text, in this spelling."""


def zone_in(text: str) -> str | None:
    """The IANA name of the first time zone that a text names, by path or by city; else None.

    Cities are the last parts of the names that this machine's zone data has. Looks at the first
    400 characters.
    """
    seen = text[:_MAX_CHARS]
    for path in _PATH.findall(seen):
        if zone := _paths().get(path.casefold()):
            return zone
    return _city_en(seen.casefold()) or _written(seen)


def _city_en(text: str) -> str | None:
    words = _WORD.findall(text)
    for start in range(len(words)):
        # The longest first: "New York", not "York".
        for end in range(min(len(words), start + _LONGEST), start, -1):
            zone = _cities().get(" ".join(words[start:end]))
            if zone and (words[start - 1 : start] in _BEFORE or words[end : end + 1] == ["time"]):
                return zone
    return None


def _written(text: str) -> str | None:
    found = [(text.find(name), zone) for name, zone in _AS_WRITTEN.items() if name in text]
    return min(found)[1] if found else None


@lru_cache(maxsize=1)
def _paths() -> Mapping[str, str]:
    """Every zone by its name in lower case."""
    return {name.casefold(): name for name in available_timezones()}


@lru_cache(maxsize=1)
def _cities() -> Mapping[str, str]:
    """Zones by city; where two share one, the shorter name, which is the city's own."""
    cities: dict[str, str] = {}
    for name in sorted(available_timezones(), key=lambda name: (-name.count("/"), name)):
        region, _, rest = name.partition("/")
        if rest and region in _REGIONS:
            cities[rest.rpartition("/")[2].replace("_", " ").casefold()] = name
    return {**cities, **_ALIASES}
