"""Polarity of a statement: negations, and negative words with their positives."""

from collections.abc import Mapping
from typing import Final

from acc_ace.core.text.normalize import normalise
from acc_ace.core.text.patterns import lazy_pattern, remembered

_EN_NEGATION = lazy_pattern(
    r"\b(?:not|never|no|none|nobody|nothing|neither|nor|without|cannot|\w+n't|dont|forbid\w*|banned"
    r"|ban|prohibit\w*|refrain|avoid|stop|off[- ]limits|frozen|refuse\w*|disallow\w*)\b"
)
_JA_NEGATION = lazy_pattern(
    r"ない|なく|なかっ|ません|ませぬ|ず(?:に|、|$)|禁止|厳禁|禁じ|不可|(?<![a-z])ng\b|だめ|ダメ"
    r"|駄目|無用|やめて"
    r"|控え|避け|凍結|(?<=[るすむくぐうつぶ])な(?:[。!！]|$)"
)

NEGATIVES_EN: Final[Mapping[str, str]] = {
    "disable": "enable",
    "disallow": "allow",
    "forbid": "allow",
    "prohibit": "allow",
    "without": "with",
    "exclude": "include",
    "reject": "accept",
    "decrease": "increase",
    "lower": "raise",
    "optional": "require",
}
"""Each word that means 'not' plus another word, mapped to that word."""

NEGATIVES_JA: Final[Mapping[str, str]] = {
    "不要": "必要",
    "無効": "有効",
    "不可": "可",
    "オフ": "オン",
    "拒否": "許可",
}
"""Each negative word, mapped to its positive."""


@remembered
def negated(text: str) -> bool:
    """Whether the statement is negative; two negations cancel out."""
    folded = normalise(text)
    count = len(_EN_NEGATION.findall(folded)) + len(_JA_NEGATION.findall(folded))
    return count % 2 == 1
