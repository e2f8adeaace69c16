"""Amounts in any notation: numbers with their units in text, and in the arguments of a call."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Final, NamedTuple

from acc_ace.core.text.lexicon_en import STOP_WORDS, root_of
from acc_ace.core.text.normalize import normalise
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.ext.guard.calls import Leaf
from acc_ace.ext.guard.vocabulary import lines_of, values_of

MONEY: Final = frozenset(("EUR", "USD", "GBP", "JPY", "CHF", "money"))

_SCALES: Final = {**values_of("scales"), "": 1.0}
_WORDS: Final = {word: int(value) for word, value in values_of("numbers").items()}
_WORD: Final = rf"(?:{'|'.join(_WORDS)}|hundred|thousand|a (?:hundred|thousand))"
_KANJI: Final = "〇一二三四五六七八九"
_NUMBER: Final = lazy_pattern(
    r"(?P<sign>us\$|[$€£¥])?\s*(?P<number>(?<![a-z\d.)-])-\d+(?:[.,']\d+)*"
    r"|(?<![a-z\d.:/-])\d+(?:[.,']\d+)*"
    rf"|\b{_WORD}(?:[ -](?:and )?{_WORD})*\b|[〇一二三四五六七八九十百千万億]+)"
    r"\s*(?P<scale>百万|[万千億]|(?:hundred|thousand|grand|million)\b|k(?![a-z])"
    r"|m\b(?= ?(?:eur|usd|$)))?"
    r"\s*(?P<unit>years? old|°[cf]\b|[a-z]+(?![a-z\d])|[%€£¥$°¢]"
    r"|(?:(?![〇一二三四五六七八九十百千万億])[\u3400-\u4dbf\u4e00-\u9fff\u30a1-\u30faー])+)?"
)
_STEP: Final = lazy_pattern(r"^(?:delta|change|increase|by|add|増減)$")
_EACH: Final = lazy_pattern(r"\b(?:unit|each|per|apiece)\b|単価")
_COUNT: Final = lazy_pattern(r"\b(?:quantity|qty|count|units|pieces)\b|数量|個数")


class Amount(NamedTuple):
    """A number in the base of its unit; `start` and `end` are where it stands in its text."""

    value: float
    unit: str = ""
    start: int = 0
    end: int = 0


class Bounded(NamedTuple):
    """An argument that a limit bounds, and its amount in the limit's unit."""

    argument: str
    value: float


def amounts_in(text: str) -> Iterator[Amount]:
    """The amounts of a normalised text, in order."""
    for match in _NUMBER.finditer(text):
        number, in_words = match["number"], not re.search(r"\d", match["number"])
        spelling = _spelling(match["unit"] or "")
        unit, factor = _unit(match["sign"] or "") or _unit(spelling) or ("", 1.0)
        # "one of them" and 「一切」 are no amounts.
        if in_words and not unit and (number in {"one", "a"} or not number.isascii()):
            continue
        value = _number(number, unit) * _SCALES[match["scale"] or ""]
        if not unit and (match["unit"] or "").isascii() and match["unit"] not in STOP_WORDS:
            unit, spelling = root_of(match["unit"] or ""), match["unit"] or ""
        end = match.start("unit") + len(spelling) if match["unit"] else match.end()
        yield Amount(_base(value, unit, factor), _common(unit), match.start(), end)


def bounded(
    unit: str, words: frozenset[str], leaves: tuple[Leaf, ...], *, each: bool
) -> list[Bounded] | None:
    """What a limit in a unit bounds in a call; None where its unit or number is not known.

    `words` are stems of the rule: an argument called like one of them is meant. `each` is whether
    the limit is one for each piece.
    """
    own = _own_amounts(leaves)
    if unit == "s" and (span := _span(leaves)) is not None:
        return [Bounded("end", span)]
    named = [leaf for leaf, amount in own if amount.unit and _same(amount.unit, unit)]
    called = [leaf for leaf, _ in own if leaf.stems & (words | {unit})]
    free = [leaf for leaf, amount in own if not amount.unit or not unit]
    meant = named or [leaf for leaf in called if leaf in free] or (free if len(free) == 1 else [])
    if not meant:
        strange = unit in MONEY and any(amount.unit in MONEY for _, amount in own)
        return None if strange or any(leaf.stems & words for leaf, _ in own) else []
    values = {id(leaf): amount.value for leaf, amount in own}
    times = next((a.value for leaf, a in own if _COUNT.search(leaf.name)), 1.0)
    bounds = []
    for leaf in meant:
        if _STEP.match(leaf.name):
            return None
        factor = times if _EACH.search(leaf.name) and not each else 1.0
        bounds.append(Bounded(leaf.key, values[id(leaf)] * factor))
    return bounds


def _own_amounts(leaves: tuple[Leaf, ...]) -> list[tuple[Leaf, Amount]]:
    """The arguments that are a number, in the unit of value, key, sibling or description."""
    siblings = [leaf for leaf in leaves if leaf.name in {"unit", "units", "currency"}]
    units = (_unit(normalise(str(leaf.value))) for leaf in siblings)
    beside = next((unit for unit in units if unit), None)
    pairs = ((leaf, _whole(leaf.value)) for leaf in leaves)
    return [(leaf, _in_unit(leaf, amount, beside)) for leaf, amount in pairs if amount]


_VAGUE: Final = (("money", 1.0), ("C", 1.0), None)
"""What keys such as `total` and `temperature` tell of a unit."""


def _in_unit(leaf: Leaf, amount: Amount, beside: tuple[str, float] | None) -> Amount:
    if amount.unit:
        return amount
    unit = min((u for w in leaf.words if (u := _unit(w))), key=_VAGUE.__contains__, default=None)
    if unit in _VAGUE:
        words = (_unit(word) for word in re.findall(r"[a-z]+|[ァ-ヶー]+|円", leaf.about))
        unit = beside or next((u for u in words if u and u[0] != "money"), unit)
    if unit is None:
        return amount
    name, factor = unit
    currency = beside[0] if beside and name == "money" and beside[0] in MONEY else name
    return Amount(_base(amount.value, name, factor), _common(currency))


def _whole(value: object) -> Amount | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Amount(float(value) if abs(value) < _HUGE else _HUGE)
    if not isinstance(value, str) or len(value) > _LONGEST:
        return None
    text = normalise(value)
    amounts = list(amounts_in(text))
    if len(amounts) != 1:
        return None
    [amount] = amounts
    rest = f"{text[: amount.start]}{text[amount.end :]}".strip(" .")
    unit = _unit(rest)
    if unit is not None and amount.unit not in {name for name, _ in _units().values()}:
        return Amount(_base(amount.value, *unit), _common(unit[0]))
    return None if rest or amount.unit not in {"", *(n for n, _ in _units().values())} else amount


_HUGE: Final = 1e300
_LONGEST: Final = 40
"""Characters of an argument that is an amount."""


def _span(leaves: tuple[Leaf, ...]) -> float | None:
    """Seconds between a begin and an end among the arguments."""
    ends = {}
    for leaf in leaves:
        side = next((s for s in ("start", "end") if leaf.name.split(" ")[0].startswith(s)), "")
        if side and isinstance(leaf.value, str):
            try:
                ends[side] = datetime.fromisoformat(leaf.value)
            except ValueError:
                return None
    try:
        return (ends["end"] - ends["start"]).total_seconds() if len(ends) == 2 else None
    except TypeError:
        return None


def _same(one: str, other: str) -> bool:
    """Whether amounts of two units can be compared; money of no currency is the rule's."""
    return one == other or ("money" in (one, other) and {one, other} <= MONEY)


@cache
def _units() -> Mapping[str, tuple[str, float]]:
    lines = lines_of("units")
    return {word: (name, float(size)) for name, size, *words in lines for word in words}


def _unit(text: str) -> tuple[str, float] | None:
    return _units().get(text)


def _spelling(text: str) -> str:
    """The unit that a text is; of Japanese, which has no spaces, the one that it begins with."""
    if text.isascii():
        return text if text in _units() else ""
    heads = (text[:size] for size in range(len(text), 0, -1))
    return next((head for head in heads if head in _units()), "")


def _common(unit: str) -> str:
    return "C" if unit == "F" else unit


def _base(value: float, unit: str, factor: float) -> float:
    return (value - 32) / 1.8 if unit == "F" else value * factor


def _number(text: str, unit: str) -> float:
    if text[-1].isdigit():
        plain = text.replace("'", "")
        decimal = plain.rfind("," if plain.rfind(",") > plain.rfind(".") else ".")
        grouped = re.fullmatch(r"-?\d{1,3}([.,]\d{3})+", plain)
        if grouped and (plain.count(".") != 1 or unit in MONEY or "," in plain):
            return float(re.sub("[.,]", "", plain))
        if decimal < 0:
            return float(plain[:300])
        whole = re.sub(r"[.,]", "", plain[:decimal])
        return float(f"{whole}.{plain[decimal + 1 :]}")
    return _kanji(text) if not text.isascii() else _spelled(text)


def _spelled(text: str) -> float:
    total = part = 0.0
    for word in re.findall("[a-z]+", text):
        part += _WORDS.get(word, 0)
        if word == "hundred":
            part = max(part, 1) * 100
        elif word == "thousand":
            total, part = total + max(part, 1) * 1000, 0.0
    return total + part


def _kanji(text: str) -> float:
    total = part = digit = 0.0
    for char in text:
        if char in _KANJI:
            digit = digit * 10 + _KANJI.index(char)
        elif char in "十百千":
            part, digit = part + (digit or 1) * {"十": 10, "百": 100, "千": 1000}[char], 0.0
        else:
            total, part, digit = total + (part + digit or 1) * _SCALES[char], 0.0, 0.0
    return total + part + digit
