"""Find what a speaker quotes or pastes, and leave it out: the rest are their own words.

Code blocks, tagged documents, long quotations and forwarded mail.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from acc_ace.core.text.normalize import normalise
from acc_ace.core.text.patterns import any_of, lazy_pattern, words_of

CUT = "\ufdd0"
"""A noncharacter; stands where a long quotation was taken out."""

_LONG = 400
"""Characters from which a quotation is text of its own; a shorter one stays in its sentence."""

_LINE_END = lazy_pattern(r"[\r\n\u2028\u2029]")
_FENCE = lazy_pattern(r"^\s*(?P<fence>`{3,}|~{3,})(?P<rest>.*)$")
QUOTED_LINE = lazy_pattern(r"^\s*[>＞|│]")
_FORWARDED = lazy_pattern(
    r"^\s*-{2,8} ?(?:begin )?(?:original|forwarded|転送|元のメッセージ)|\bwrote[:：]\s*$",
    re.IGNORECASE,
)
_HANDS_OVER = lazy_pattern(r"[:：]\s*$")
_FOREIGN_SOURCE = any_of(
    r"\b(?:run-?book|playbook|wiki|e-?mail|log|output|document|doc|page|thread|transcript|article"
    r"|message|ticket|readme|banner|manual|notes?|result|page)s?\b[^:]{0,40}:",
    r"\b(?:says?|said|wrote|writes|reads|replied|quote|pasted?|forwarded)\b[^:]{0,40}:",
    r"(?:手順書|議事録|メール|ログ|出力|文書|記事|メッセージ|引用|原文|掲示|マニュアル|投稿)",
    r"(?:以下|次)(?:は|の|が).*(?:です|抜粋|引用|内容)",
)
_OWN_LIST = any_of(
    r"\b(?:rules?|constraints?|polic(?:y|ies)|requirements?|guidelines?|please|must|follow"
    r"|always)\b",
    r"ルール|規則|制約|方針|守って|従って|お願い|ください",
)
_TAG = lazy_pattern(r"<(?P<close>/?)(?P<name>[A-Za-z][\w-]{0,40})(?:\s[^<>]{0,200})?>")
_OWN_TAGS = words_of(
    """a b br constraint constraints div em h1 h2 h3 h4 i important instruction instructions li mark
    ol p policy rule rules s span strong u ul"""
)
"""Tags with which speakers mark up their own words."""

_PAIRS = {"「": "」", "『": "』", "“": "”"}
_PAIR_MARK = lazy_pattern("[「」『』“”]")
_OPENER = r"(?:(?<=[\s:：,(])|^)\"(?=\S)"
_STRAIGHT = lazy_pattern(_OPENER + r"[^\"]{1,50000}(?<=\S)\"(?!\w)")


class _Span(NamedTuple):
    start: int
    end: int


def lines_of_speaker(text: str) -> Iterator[str]:
    """The lines of a text that are the speaker's own, as verbatim pieces.

    Left out are fences, tagged documents, long quotations, quoted and log lines, lines of labelled
    speakers, and what stands below a hand-over ("X wrote:", a forwarded mail), up to the end or to
    a line that points back up.
    """
    for _, line, is_own in _unmarked_lines(text):
        if is_own:
            yield from (part for part in line.split(CUT) if part.strip())


def lines_of_others_by_guess(text: str) -> Iterator[str]:
    """The lines that count as others' without a mark of quotations of their own.

    They stand below a hand-over, or behind the name of a speaker.
    """
    return (line for _, line, is_own in _unmarked_lines(text) if not is_own and line.strip())


def with_quote_marks(text: str) -> str:
    """The text with '> ' before whatever is others', so that any part of it shows whose it is."""
    own = {at: line.split(CUT) for at, line, is_own in _unmarked_lines(text) if is_own}
    lines = enumerate(_LINE_END.split(text.replace(CUT, " ")))
    return "\n".join(part for at, line in lines for part in _marked(line, own.get(at, ())))


def _marked(line: str, own: Sequence[str]) -> Iterator[str]:
    """A line, parted where others' words stand in it."""
    at = 0
    for part in filter(str.strip, own):
        start = line.index(part, at)
        yield from _as_quoted(line[at:start])
        yield part
        at = start + len(part)
    yield from _as_quoted(line[at:]) if line.strip() else ("",)


def _as_quoted(words: str) -> Iterator[str]:
    if words.strip():
        yield words if QUOTED_LINE.match(words) else f"> {words}"


def _unmarked_lines(text: str) -> Iterator[tuple[int, str, bool]]:
    """The lines that no mark shows to be others', by their places, and whether they are own."""
    lines = _without_fences(_LINE_END.split(_without_spans(text)))
    speakers = _speakers([line for _, line in lines])
    is_foreign = False
    for at, line in lines:
        if _POINTS_UP.match(line):
            is_foreign = False
        if QUOTED_LINE.match(line) or _MACHINE_LINE.match(line):
            continue
        if is_foreign:
            yield at, line, False
        elif not (is_foreign := _is_handover(line)):
            label = _LABEL.match(line)
            speaks = _SPEAKER.match(line) or (label and label["name"] in speakers)
            yield at, line, not speaks


def _is_handover(line: str) -> bool:
    return _hands_over(line) or any(
        each.search(line) for each in (_SENDER, _FORWARDED, _HANDS_OVER_JA)
    )


def _speakers(lines: Sequence[str]) -> frozenset[str]:
    """Who speaks in a transcript: labels that come back, or that stand beside 'Me:'."""
    names = [match["name"] for match in map(_LABEL.match, lines) if match]
    names = [name for name in names if not _OWN_LABEL.match(name)]
    is_talk = len(names) > 1 and bool(_MYSELF.intersection(name.lower() for name in names))
    return frozenset(name for name in names if is_talk or names.count(name) > 1)


_MACHINE_LINE = lazy_pattern(
    r"^\s*(?:\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d|\[\d{4}[-/]\d\d[-/]\d\d|\[?\d\d:\d\d:\d\d"
    r"|\[?(?:INFO|WARN|ERROR|DEBUG|TRACE)\b|\$ |# \w+ -|(?:system|user|assistant|tool)\s*[:：])"
)
"""What a program or a transcript writes; a date and a time alone may be the user's."""
_SENDER = lazy_pattern(r"^\s*\W{0,4}(?:from|差出人|送信者)\W{0,3}[:：]\s*\S", re.IGNORECASE)
_HANDS_OVER_JA = lazy_pattern(
    r"(?:より|から)(?:です)?\s*[:：]\s*$|^(?:以下|次)[^。]*(?:メッセージ|メール|引用|転送|原文|文面|投稿)"
    r"[^。]*(?:です|ます)[。]?\s*$"
)
_POINTS_UP = lazy_pattern(r"^\s*(?:\^\^|↑|（?以上[、が]|ここまで)")
_LABEL = lazy_pattern(
    r"^\s*(?:[-*•]\s*)?(?P<name>[^\s:：][^:：\n]{0,24}?)\s*[:：](?:\s|(?=[^\x00-\x7f]))"
)
_OWN_LABEL = lazy_pattern(
    r"(?:(?:new|my|our|the) )?(?:rule|constraint|goal)s?\b"
    r"|(?:新しい)?(?:ルール|制約|規則|決まり|目標)",
    re.IGNORECASE,
)
_MYSELF = frozenset({"me", "i", "you", "agent", "bot", "私", "自分", "俺", "わたし", "僕"})
_SPEAKER = lazy_pattern(
    r"\s*(?:[-*•]\s*)?(?:\[?\(?\d{1,2}:\d\d(?::\d\d)?(?: ?[ap]m)?[\])]?\s+\S+(?: \S+){0,2}?"
    r"|@\S+|(?i:(?:the )?(?:user|agent|assistant|system|customer|client|caller|vendor|boss|manager"
    r"|guest|patient|landlord|tenant|doctor|nurse|mom|dad))|[^\s:：]{1,12}(?:さん|様|氏|先生|君|ちゃん"
    r"|部長|課長|社長|係長|主任|店長)|(?:顧客|お客様|客|患者|上司|担当者?|業者|オペレーター|店員)[A-Z]?"
    r"|[A-Z][a-zà-ÿ]+ [A-Z](?:[a-zà-ÿ]+|\.)|[A-Z][a-zà-ÿ]+(?: [A-Z]\S+)? \([^)]{1,40}\))"
    r"\s*(?:[:：]\s|[:：]?(?=「)|：)"
)
"""A line that begins with the name of somebody who speaks in it."""


def _hands_over(line: str) -> bool:
    if not _HANDS_OVER.search(line):
        return False
    folded = normalise(line)
    return bool(_FOREIGN_SOURCE.search(folded)) and not _OWN_LIST.search(folded)


def _without_fences(lines: list[str]) -> list[tuple[int, str]]:
    """The lines outside code blocks, with their places."""
    result: list[tuple[int, str]] = []
    opened = ""
    for at, line in enumerate(lines):
        mark = _FENCE.match(line)
        fence = mark["fence"] if mark else ""
        rest = mark["rest"] if mark else ""
        if opened:
            # As in Markdown, only the same mark, as long and alone on its line, closes.
            opened = "" if fence.startswith(opened) and not rest.strip() else opened
        elif not fence:
            result.append((at, line))
        elif fence[:3] not in rest:
            opened = fence
    return result


def _without_spans(text: str) -> str:
    """The text with tagged documents and long quotations cut out; no line changes its place."""
    text = text.replace(CUT, " ")
    for find in (_tagged, _paired, _straight):
        pieces, at = [], 0
        for start, end in find(text):
            if start >= at:
                breaks = len(_LINE_END.findall(text, start, end))
                pieces += [text[at:start], CUT, "\n" * breaks]
                at = end
        text = "".join([*pieces, text[at:]])
    return text


def _tagged(text: str) -> Iterator[_Span]:
    """Blocks '<document> … </document>'."""
    tags = [tag for tag in _TAG.finditer(text) if tag["name"].lower() not in _OWN_TAGS]
    closings: dict[str, list[int]] = {}
    for tag in reversed(tags):
        if tag["close"]:
            closings.setdefault(tag["name"].lower(), []).append(tag.end())
    at = 0
    for tag in tags:
        ends = closings.get(tag["name"].lower(), [])
        while ends and ends[-1] <= max(tag.start(), at):
            ends.pop()
        if tag["close"] or tag.start() < at or not ends:
            continue
        at = ends[-1]
        yield _Span(tag.start(), at)


def _paired(text: str) -> Iterator[_Span]:
    """Long quotations between marks that open and close, nested ones included."""
    closers: list[str] = []
    start = 0
    for mark in _PAIR_MARK.finditer(text):
        char = mark.group()
        if char in _PAIRS:
            if not closers:
                start = mark.start()
            closers.append(_PAIRS[char])
        elif closers and char == closers[-1]:
            closers.pop()
            if not closers and _is_long(text, start, mark.end()):
                yield _Span(start, mark.end())


def _straight(text: str) -> Iterator[_Span]:
    for match in _STRAIGHT.finditer(text):
        if _is_long(text, match.start(), match.end()):
            yield _Span(match.start(), match.end())


def _is_long(text: str, start: int, end: int) -> bool:
    return end - start > _LONG or _LINE_END.search(text, start, end) is not None


_QUOTATION = lazy_pattern(
    r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|「[^」\n]{1,400}」|『[^』\n]{1,400}』|`[^`\n]{1,400}`"
    r"|(?<![\w])'[^'\n]{3,400}'(?![\w])|‘[^’\n]{3,400}’(?!\w)"
)
_MASK = "▢"
"""Stands for a quotation where patterns look, so that its words are nobody's."""


def mask_quotations(sentence: str) -> str:
    """The sentence with every quotation replaced by a mark."""
    return _QUOTATION.sub(_MASK, sentence)
