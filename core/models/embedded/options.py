"""Read lists of options, and which of them a text refers to."""

import re

from core.domain.language.sentences import split_sentences

_MARK = re.compile(
    r"(?:^|(?<=[\s:：;；,、。.]))(?:\(?(?P<n>[1-9])[).）.、](?!\d)|(?P<c>[①②③④⑤⑥⑦⑧⑨])|[-•・]\s)\s*",
    re.MULTILINE,
)
_CITATION = re.compile(r"\s*\[[^\]\s]{1,200}\]\s*$")
_COPULA = re.compile(r"\s*(?:です|でした|になります|があります)$")
_CIRCLED = "①②③④⑤⑥⑦⑧⑨"
_EN_ORDINAL = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1}
_REFERENCE_EN = re.compile(
    r"\b(?:the )?(?P<word>first|second|third|fourth|fifth|last)"
    r"(?: (?:option|one|choice|item|plan|suggestion|approach|idea|alternative)"
    r"| you (?:listed|gave))"
    r"|\b(?:option|choice|plan|number) (?P<n>[1-9])\b",
    re.IGNORECASE,
)
_REFERENCE_JA = re.compile(
    r"(?P<n>[1-9１-９一二三四五])(?:つ目|番目|番|つめ)(?:の)?(?:案|選択肢|方法|もの|候補|やつ|を|で|に|は)"
    r"|(?:案|選択肢|候補)(?P<m>[1-9１-９①②③④⑤])|(?P<last>最後の(?:案|選択肢|方法))"
)
_JA_DIGITS = {"一": 1, "二": 2, "三": 3, "四": 4, "五": 5}
_MAX_OPTIONS = 9
_MAX_CHARS = 8_000


def listed_options(text: str) -> list[str]:
    """Options of the last numbered list in a text ('1. …', '(2) …', '③ …'); [] when under two."""
    text = text[:_MAX_CHARS]
    marks = [mark for mark in _MARK.finditer(text) if mark["n"] or mark["c"]]
    best: list[str] = []
    current: list[str] = []
    for index, mark in enumerate(marks):
        number = int(mark["n"]) if mark["n"] else _CIRCLED.index(mark["c"]) + 1
        end = marks[index + 1].start() if index + 1 < len(marks) else len(text)
        if number == 1:
            current = []
        if number != len(current) + 1:
            continue
        current.append(_tidy(text[mark.end() : end]))
        if len(current) >= 2:
            best = current
    return [item for item in best if item][:_MAX_OPTIONS]


def referred_option(text: str) -> int | None:
    """Number of the option that a text refers to; -1 for the last one, None for no reference."""
    if match := _REFERENCE_EN.search(text):
        word = match["word"]
        return _EN_ORDINAL[word.casefold()] if word else int(match["n"])
    if match := _REFERENCE_JA.search(text):
        if match["last"]:
            return -1
        digit = match["n"] or match["m"]
        if digit in _CIRCLED:
            return _CIRCLED.index(digit) + 1
        return _JA_DIGITS.get(digit) or int(digit)
    return None


def pick(options: list[str], number: int) -> str | None:
    """The option of that number (from 1; -1 is the last), or None when there is none."""
    if not options:
        return None
    if number == -1:
        return options[-1]
    return options[number - 1] if 1 <= number <= len(options) else None


def _tidy(text: str) -> str:
    """The first line of an option, up to its first full sentence, without end marks."""
    line = text.strip().splitlines()[0] if text.strip() else ""
    line = next(iter(split_sentences(line)), "")
    line = re.sub(r",?\s+(?:and|or)$", "", line.strip(" ,;、；。.．"))
    line = _CITATION.sub("", line).strip(" ,;、；。.")
    return _COPULA.sub("", line)
