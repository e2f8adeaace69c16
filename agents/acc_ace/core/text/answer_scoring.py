"""How much of a known answer another one has right."""

import math
import re
import unicodedata

from acc_ace.core.text.patterns import lazy_pattern

_NUMBER = lazy_pattern(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d{1,3})?|[-+]?\.\d+")
_HALF_A_CENT = 0.005
_MAX_CHARS = 8_000


def score_answer(answer: str, target: str) -> float:
    """The share of `target` that `answer` has right, 0 to 1.

    A single number is compared by value at two decimals; a comma-separated list item by item, in
    order; other text ignoring case, width and surrounding punctuation. In an answer with words
    around numbers the last number counts.
    """
    wanted = _number(target)
    if wanted is not None:
        number = _last_number(answer)
        return float(number is not None and same_number(number, wanted))
    items = _items(target)
    given = _items(answer)
    if len(items) > 1:
        return sum(a == b for a, b in zip(given, items, strict=False)) / len(items)
    return float(bool(items) and bool(given) and items[0] == given[0])


def same_number(one: float, other: float) -> bool:
    """Whether two numbers are the same at two decimals."""
    if math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9):
        return True
    return abs(one - other) <= _HALF_A_CENT * (1 + 1e-9)


def _number(text: str) -> float | None:
    """The value of a text that is one number, or None."""
    plain = unicodedata.normalize("NFKC", text[:_MAX_CHARS]).strip()
    return _value(plain) if _NUMBER.fullmatch(plain) else None


def _last_number(text: str) -> float | None:
    plain = unicodedata.normalize("NFKC", text[:_MAX_CHARS])
    numbers = _NUMBER.findall(plain)
    return _value(numbers[-1]) if numbers else None


def _value(text: str) -> float | None:
    value = float(text.replace(",", ""))
    return value if math.isfinite(value) else None


def _items(text: str) -> list[str]:
    """The comma-separated items of a text, folded."""
    plain = unicodedata.normalize("NFKC", text[:_MAX_CHARS]).casefold()
    items = re.split(r"[,、，\n]", plain)
    return [item.strip(" \t\"'`.。「」*") for item in items if item.strip(" \t\"'`.。「」*")]
