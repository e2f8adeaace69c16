"""Split text into sentences, and a sentence into independent rules."""

import re
from collections.abc import Iterator

from acc_ace.core.text.normalize import MAX_ANALYSED
from acc_ace.core.text.patterns import lazy_pattern, remembered

MAX_SENTENCE = 1_000
"""Maximum characters of one sentence; a longer one is cut, if possible at a space."""

_LINE = lazy_pattern(r"[^\r\n\u2028\u2029]+")
_BULLET = lazy_pattern(r"\s*(?:[-*•・●○▪‣–]\s+|[・●○▪‣•]|(?:\(?\d{1,3}[.)]|[①-⑳])\s+|#{1,6}\s+)")
_ENDER = lazy_pattern(r"[.!?]+[\"'”’)\]]*(?=\s|$)|[。！？｡]+[」』”)）]*|[!?]+(?=[\u3040-\u9fff])")
_OPENERS = {"「": "」", "『": "』", "“": "”", '"': '"'}
_QUOTE_REACH = 400
"""Maximum length of a quotation; beyond it, the mark counts as unclosed."""

_ABBREVIATION = lazy_pattern(
    r"(?:^|[\s(])(?:(?:mr|mrs|ms|dr|prof|st|vs|etc|e\.g|i\.e|cf|no|fig|eq|sec|ch|vol|approx|inc|ltd"
    r"|co|corp|jr|sr|dept|est|al|max|min|ver|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
    r"|[a-z](?:\.[a-z])*)$",
    re.IGNORECASE,
)
_ALWAYS_INSIDE = lazy_pattern(
    r"(?:mr|mrs|ms|dr|prof|st|vs|e\.g|i\.e|cf|fig|eq|no|approx)$", re.IGNORECASE
)


def split_sentences(text: str) -> list[str]:
    """The sentences of a text in order, each a verbatim, stripped, non-empty substring.

    Splits at English and Japanese end marks, line breaks and list items, without the markers.
    Does not split abbreviations, initials, URLs, host names, decimals or closed quotations.
    Analyses the first MAX_ANALYSED characters, in linear time.
    """
    return [*_sentences(text[:MAX_ANALYSED])]


@remembered
def _sentences(text: str) -> tuple[str, ...]:
    lines = (line.group() for line in _LINE.finditer(text))
    return tuple(sentence for line in lines for sentence in _sentences_of_line(line))


def _sentences_of_line(line: str) -> Iterator[str]:
    bullet = _BULLET.match(line)
    start = bullet.end() if bullet else 0
    for ender in _ENDER.finditer(line, start):
        if ender.start() < start or _is_inside(ender, line, start):
            continue
        yield from _bounded(line[start : ender.end()])
        start = ender.end()
    yield from _bounded(line[start:])


def _is_inside(ender: re.Match[str], line: str, start: int) -> bool:
    """Whether this end mark is inside the sentence."""
    if ender.group().startswith("."):
        before = line[max(start, ender.start() - 12) : ender.start()]
        if _ALWAYS_INSIDE.search(before) and _ABBREVIATION.search(before):
            return True
        following = line[ender.end() : ender.end() + 2].strip()
        if _ABBREVIATION.search(before) and (following[:1].islower() or len(before) == 1):
            return True
    return _within(ender.start(), line)


def _within(at: int, line: str) -> bool:
    """Whether a position is inside a closed quotation that continues after it."""
    left = line[max(0, at - _QUOTE_REACH) : at]
    right = line[at + 1 : at + _QUOTE_REACH]
    for opener, closer in _OPENERS.items():
        if opener == closer:
            opened = left.count(opener) % 2 == 1
        else:
            opened = left.rfind(opener) > left.rfind(closer)
        if opened and closer in right and not _closes_here(right, closer):
            return True
    return False


def _closes_here(right: str, closer: str) -> bool:
    """Whether the quotation ends here with nothing after it: 'He said "no."'."""
    return (
        right.lstrip(".!?。！？").startswith(closer)
        and not right.lstrip(".!?。！？").removeprefix(closer).strip()
    )


def _bounded(sentence: str) -> Iterator[str]:
    """The stripped sentence, in pieces within MAX_SENTENCE; nothing when blank."""
    rest = sentence.strip()
    while len(rest) > MAX_SENTENCE:
        cut = rest.rfind(" ", MAX_SENTENCE // 2, MAX_SENTENCE)
        cut = cut if cut > 0 else MAX_SENTENCE
        yield rest[:cut].strip()
        rest = rest[cut:].strip()
    if rest:
        yield rest


_EN_JOINT = lazy_pattern(
    r"\s*;\s+|(?P<comma>,)?\s+(?:and|but|also|plus)\s+(?=(?:please\s+|also\s+|then\s+)*"
    r"(?:never|don['’]t|do\s+not|always|no\s+\w|you\s+(?:must|may|can|should|need|have|are)"
    r"|make\s+sure|keep|avoid|stay|use|cite|ask|include|treat|nobody|no\s+one|all\s|every\s|each\s"
    r"|release|lift|drop|remove|restart|show|tell|give|send|check|run|list)\b)",
    re.IGNORECASE,
)
_EN_LEADING_CONDITION = lazy_pattern(
    r"\s*(?:if|when|whenever|while|during|unless|until|before|after|once|between|on|in|for|at|from"
    r"|as\s+long\s+as|outside|without)\b",
    re.IGNORECASE,
)
_EN_TRAILING_CONDITION = lazy_pattern(
    r"\b(?:if|when|while|during|unless|until|till|before|after|once|between|without)\b",
    re.IGNORECASE,
)
_JA_JOINT = lazy_pattern(
    r"(?:(?<=ください)|(?<=お願いします)|(?<=ないで)|(?<=禁止)|(?<=禁止です)|(?<=厳禁)|(?<=必須)"
    r"|(?<=不可)|(?<=こと)|(?<=禁止だし)|(?<=いけません)|(?<=いけないし))[、,，;；]\s*"
    r"(?:また|そして|それと|あと|かつ|それから)?[、,，]?"
)
_JA_LEADING_CONDITION = lazy_pattern(
    r"^[^、,，]{1,40}(?:場合|とき|時|際|間|限り|中|以降|以前|前|後|なら|たら|れば)(?:は|に"
    r"|には)?[、,，]"
)


def split_clauses(sentence: str) -> list[str]:
    """The parts of a sentence that are independent rules, each a verbatim substring.

    "Don't restart in business hours, and never delete backups" gives two parts. A part never
    loses its condition: if a condition may apply to several parts, the sentence stays whole.
    """
    pieces: list[str] = []
    start = 0
    for joint in _joints(sentence):
        piece = sentence[start : joint.start()].strip()
        if piece:
            pieces.append(piece)
            start = joint.end()
    last = sentence[start:].strip()
    return [*pieces, last] if last else pieces


def _joints(sentence: str) -> list[re.Match[str]]:
    bounded = sentence[:MAX_SENTENCE]
    english = [] if _EN_LEADING_CONDITION.match(bounded) else list(_EN_JOINT.finditer(bounded))
    if english and _shares_condition(bounded, english):
        english = [joint for joint in english if joint.group().lstrip().startswith(";")]
    japanese = [] if _JA_LEADING_CONDITION.match(bounded) else list(_JA_JOINT.finditer(bounded))
    return sorted([*english, *japanese], key=lambda joint: joint.start())


def _shares_condition(sentence: str, joints: list[re.Match[str]]) -> bool:
    """'don't A and don't B during C': C may apply to A too."""
    last = joints[-1]
    alone = last.group("comma") is None and not last.group().lstrip().startswith(";")
    tail = sentence[last.end() :]
    head = sentence[: last.start()]
    return (
        alone
        and bool(_EN_TRAILING_CONDITION.search(tail))
        and not _EN_TRAILING_CONDITION.search(head)
    )
