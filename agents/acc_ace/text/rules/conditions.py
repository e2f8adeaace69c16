"""Tell a permission for a moment outside a rule's condition from the end of the rule.

"Never restart db-01 during business hours" is not lifted by "you can restart db-01 now", said at
seven in the evening. It is by words that name the hours, or that speak of all time to come.
"""

from acc_ace.text.normalize import normalise
from acc_ace.text.patterns import lazy_pattern
from acc_ace.text.words import content_words

_CONDITION_EN = lazy_pattern(
    r"\b(?:during|while|in|on|at|between|outside|inside|within|after|when|whenever)\b"
    r"(?P<condition>.*)$"
)
_CONDITION_JA = lazy_pattern(
    r"(?P<condition>[^、。はがをも]{2,20}?(?:時間内|時間外|時間帯|期間|[中間時際日前後外内]))(?:は|の|に|、)"
)
_FOR_GOOD = lazy_pattern(
    r"\b(?:again|from now on|going forward|any ?more|any ?time|always|whenever)\b"
    r"|今後|これから|以降|いつでも|常に|再び|もう"
)


def words_of_act(rule: str) -> frozenset[str]:
    """The content words of what a rule is about, without its condition of time or place.

    "Never restart db-01 during business hours" is about {restart, db-01}. All words of the rule
    where nothing is left without the condition.
    """
    folded = normalise(rule)
    found = _CONDITION_EN.search(folded) or _CONDITION_JA.search(folded)
    if found is None:
        return content_words(folded)
    act = content_words(f"{folded[: found.start()]} {folded[found.end() :]}")
    return act or content_words(folded)


def permits_without_condition(permission: str, rule: str) -> bool:
    """Whether a rule has a condition of time or place that a permission leaves open."""
    folded = normalise(rule)
    found = _CONDITION_EN.search(folded) or _CONDITION_JA.search(folded)
    if found is None or _FOR_GOOD.search(permission):
        return False
    condition = content_words(found.group("condition"))
    return bool(condition) and not condition & content_words(permission)
