"""Whose words they are: leave out what a speaker quotes or pastes."""

import re
from collections.abc import Iterator

from core.domain.language.normal import MAX_ANALYSED, normalise
from core.domain.language.patterns import any_of
from core.domain.language.sentences import split_sentences

_FENCE = re.compile(r"^\s*(?:```|~~~)")
_QUOTED_LINE = re.compile(r"^\s*[>＞|│]")
_LOG_LINE = re.compile(
    r"^\s*(?:\[?\d{4}[-/]\d\d[-/]\d\d[T ,]\d|\[?\d\d:\d\d:\d\d|\[?(?:INFO|WARN|ERROR|DEBUG|TRACE)\b"
    r"|\$ |# \w+ -|(?:system|user|assistant|tool)\s*[:：])",
    re.IGNORECASE,
)
_HANDS_OVER = re.compile(r"[:：]\s*$")
_FOREIGN_SOURCE = any_of(
    r"\b(?:run-?book|playbook|wiki|e-?mail|log|output|document|doc|page|thread|transcript|article"
    r"|message|ticket|readme|banner|manual|notes?|result|page)s?\b[^:]{0,40}:",
    r"\b(?:says?|said|wrote|writes|reads?|replied|quote|pasted?|forwarded)\b[^:]{0,40}:",
    r"(?:手順書|議事録|メール|ログ|出力|文書|記事|メッセージ|引用|原文|掲示|マニュアル|投稿)",
    r"(?:以下|次)(?:は|の|が).*(?:です|抜粋|引用|内容)",
)
_OWN_LIST = any_of(
    r"\b(?:rules?|constraints?|polic(?:y|ies)|requirements?|guidelines?|please|must|follow"
    r"|always)\b",
    r"ルール|規則|制約|方針|守って|従って|お願い|ください",
)
_QUOTATION = re.compile(
    r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|「[^」\n]{1,400}」|『[^』\n]{1,400}』|`[^`\n]{1,400}`"
    r"|(?<![\w])'[^'\n]{3,400}'(?![\w])|‘[^’\n]{3,400}’(?!\w)"
)
_MASK = "▢"
"""Stands for a quotation where patterns look, so that its words are nobody's."""


def own_sentences(text: str) -> Iterator[str]:
    """The sentences that are the speaker's own, in order, each a verbatim substring.

    Left out: code blocks, lines quoted with '>', log lines, and what follows a line that hands
    over to somebody else's text ("the runbook says:") up to a blank line.
    """
    for line in _own_lines(text[:MAX_ANALYSED]):
        yield from split_sentences(line)


def mask_quotations(sentence: str) -> str:
    """The sentence with every quotation replaced by a mark."""
    return _QUOTATION.sub(_MASK, sentence)


def is_only_quotation(sentence: str) -> bool:
    """Whether nothing is left of the sentence outside quotation marks."""
    return not mask_quotations(sentence).strip(f"{_MASK} .。!！,、")


def _own_lines(text: str) -> Iterator[str]:
    fenced = foreign = False
    for line in re.split(r"[\r\n\u2028\u2029]", text):
        if _FENCE.match(line):
            # A fence opened and closed on one line leaves the state as it was.
            fenced = fenced != (line.count("```") % 2 == 1 or "~~~" in line)
            continue
        if not line.strip():
            foreign = False
            continue
        if fenced or foreign or _QUOTED_LINE.match(line) or _LOG_LINE.match(line):
            continue
        foreign = _hands_over(line)
        yield line


def _hands_over(line: str) -> bool:
    """Whether the lines below are announced as somebody else's text."""
    if not _HANDS_OVER.search(line):
        return False
    folded = normalise(line)
    return bool(_FOREIGN_SOURCE.search(folded)) and not _OWN_LIST.search(folded)
