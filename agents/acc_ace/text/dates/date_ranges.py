"""Two dates that a text joins are one stretch: 'between May 3 and May 7', 「5月3日から7日まで」."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from acc_ace.text.dates.calendar_days import CalendarDate, Mention, Stretch, days
from acc_ace.text.patterns import lazy_pattern

_TO = lazy_pattern(
    r"(?: ?[-~〜] ?| (?:to|until|till|through) (?:the |on )?|から、?)", re.IGNORECASE
)
_AND = lazy_pattern(r" and (?:the |on )?", re.IGNORECASE)
_ALSO = lazy_pattern(r" (?:and|or) (?:in )?", re.IGNORECASE)
_BETWEEN = lazy_pattern(r"\bbetween (?:the |last |this )?$", re.IGNORECASE)
_FROM = lazy_pattern(r"\b(?:from|between) (?:the |last |this )?$", re.IGNORECASE)
_SINCE = lazy_pattern(r"\bsince (?:the |last |this )?$", re.IGNORECASE)
_ONWARDS = lazy_pattern("以[降来]")
_CONTEXT = 16


class _Link(NamedTuple):
    """What stands before, between and after two mentions."""

    before: str
    between: str
    after: str


def joined(mentions: Sequence[Mention], text: str, today: int) -> list[Mention]:
    """The mentions, those that are two ends as one and those with 'since' up to today.

    A weak mention stays weak unless its neighbour or the words around say that it is a time.
    """
    found: list[Mention] = []
    for mention in mentions:
        last = found[-1] if found else None
        one = _one(last, mention, text) if last else None
        if one:
            found[-1] = one
        elif last and _alike(last, mention, text):
            found.append(mention._replace(weak=False))
        else:
            found.append(mention)
    return [_since(mention, text, today) for mention in found]


def _one(first: Mention, last: Mention, text: str) -> Mention | None:
    """Both as one stretch, if the text says so."""
    if first.named is None or last.named is None or isinstance(first.named, Stretch):
        return None
    link = _Link(
        text[max(0, first.begin - _CONTEXT) : first.begin],
        text[first.end : last.begin],
        text[last.end : last.end + 2],
    )
    if not _spans(link) or (first.weak and not _FROM.search(link.before)):
        return None
    return Mention(first.begin, last.end, Stretch(first.named, last.named))


def _spans(link: _Link) -> bool:
    if _TO.fullmatch(link.between):
        return True
    if link.between == "と":
        return link.after == "の間"
    return bool(_AND.fullmatch(link.between) and _BETWEEN.search(link.before))


def _alike(first: Mention, second: Mention, text: str) -> bool:
    """Whether the second is said in one breath with a sure date ('in 2022 and 2023')."""
    a, b = first.named, second.named
    if first.weak or not (isinstance(a, CalendarDate) and isinstance(b, CalendarDate)):
        return False
    same = (a.month is None, a.day is None) == (b.month is None, b.day is None)
    return same and bool(_ALSO.fullmatch(text[first.end : second.begin]))


def _since(mention: Mention, text: str, today: int) -> Mention:
    """With 'since' before or 以降 after it, a mention reaches up to the end of today."""
    said = _SINCE.search(text[max(0, mention.begin - _CONTEXT) : mention.begin])
    now = days(today)
    if mention.named is None or now is None or isinstance(mention.named, Stretch):
        return mention
    if not (said or _ONWARDS.match(text, mention.end)):
        return mention
    return mention._replace(named=Stretch(mention.named, now))
