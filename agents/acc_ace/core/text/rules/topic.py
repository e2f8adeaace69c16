"""What a rule is about, without the condition under which it holds."""

from acc_ace.core.text.normalize import normalise
from acc_ace.core.text.patterns import lazy_pattern, remembered
from acc_ace.core.text.similarity import content_words

_ACTION = lazy_pattern(
    r"\b(?:never|don't|do not|dont|must not|may not|cannot|can't|not allowed to|no)"
    r" (?:ever |directly |again )*(?P<verb>[a-z-]+)"
)


@remembered
def action_of(rule: str) -> str | None:
    """The stem of what a prohibition forbids to do, or None where it names nothing."""
    match = _ACTION.search(normalise(rule))
    return next(iter(content_words(match["verb"])), None) if match else None


_CONDITION_EN = lazy_pattern(
    r"\b(?:during|while|in|on|at|between|outside|inside|within|after|when|whenever)\b"
    r"(?P<condition>.*)$"
)
_CONDITION_JA = lazy_pattern(
    r"(?P<condition>[^、。はがをも]{2,20}?(?:時間内|時間外|時間帯|期間|[中間時際日前後外内]))(?:は|の|に|、)"
)


@remembered
def words_of_act(rule: str) -> frozenset[str]:
    """The content words of what a rule is about, without its condition of time or place.

    "Never restart db-01 during business hours" is about {restart, db-01}. All words of the rule
    where nothing is left without the condition.
    """
    folded = normalise(rule)
    match = _CONDITION_EN.search(folded) or _CONDITION_JA.search(folded)
    if match is None:
        return content_words(folded)
    act = content_words(f"{folded[: match.start()]} {folded[match.end() :]}")
    return act or content_words(folded)
