"""Which words of a message are its speaker's own, told by structure alone, in any script.

Code fences, quoted lines, tagged documents and passages in quotation marks are somebody else's
words. Lines that a speaker's name or a time begins, what follows a line that ends in a colon, and
a message with the greeting and signature of a mail are doubtful: they may be the user's own, and
only the user can say so.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from acc_ace.text.normalize import MAX_ANALYSED
from acc_ace.text.patterns import lazy_pattern
from acc_ace.text.sentences import MAX_SENTENCE, remembered, split_clauses, split_sentences

_FENCE = lazy_pattern(r"^\s*(`{3,}|~{3,})")
_QUOTED = lazy_pattern(r"^\s*[>＞»|│]")
_RULE_LABEL = lazy_pattern(
    r"^\s*(?:[-*•・]\s*|\d{1,3}[.)]\s*)?(?:(?:new |my |our )?(?:rule|constraint)s?"
    r"(?: \d{1,3})?|(?:新しい)?(?:ルール|制約|規則|決まり)\s*\d{0,3}"
    r"|regeln?|reglas?|règles?|regola|правил[оа]|قاعدة|नियम|规则|規則|규칙)\s*[:：]\s*",
    re.IGNORECASE,
)
_GOAL_LABEL = lazy_pattern(
    r"^\s*(?:(?:the |my |our )?(?:new )?goal(?: is now)?|(?:新しい|新)?(?:目標|ゴール))\s*[:：]\s*",
    re.IGNORECASE,
)
_OWN_LABEL = lazy_pattern(
    r"^\s*\W{0,3}(?:important|note|please note|reminder|attention|nb|p\.?s\.?"
    r"|重要|注意|補足|追伸|お願い)\s*[:：]",
    re.IGNORECASE,
)
_OWN_HEADER = lazy_pattern(
    r"\b(?:rules?|constraints?|goals?|please|always|never)\b[^.!?。！？]{0,80}[:：]\s*$"
    r"|(?:ルール|制約|規則|決まり|目標|守って|ください|お願い)[^。！？]{0,40}[:：]\s*$",
    re.IGNORECASE,
)
_TIME_FIRST = lazy_pattern(
    r"^\s*[\[(（【]?\s*(?:\d{4}[-/年]\d{1,2}[-/月]\d{1,2}\S{0,12}\s*)?"
    r"(?:午前|午後)?\d{1,2}[:：時]\d{2}(?:[:：分]\d{2})?"
)
_LABELLED = lazy_pattern(
    r"^\s*[-*•・]?\s*(?P<label>[^\s:：][^:：\n]{0,39}?(?:\d{1,2}:\d\d[)\]】]?)?)[:：]"
    r"(?=\s|[^\s/\d\\])"
)
_LABEL_WORDS = 4
_HEADER = lazy_pattern(r"[:：]\s*$")
_GREETING = lazy_pattern(
    r"^\s*(?:(?:hi|hello|hey|dear|good (?:morning|afternoon|evening)|greetings)\b"
    r"[^.!?:]{0,40}[,!，]?"
    r"|\S{1,20}(?:様|さま|さん|殿|先生|各位)[、,，]?|各位|お疲れ(?:様|さま)です[。、!]?"
    r"|(?:いつも)?お世話になって(?:おり|い)ます[。、!]?)\s*$",
    re.IGNORECASE,
)
_CLOSING = lazy_pattern(
    r"^\s*(?:-- ?|(?:(?:best|kind|warm) )?regards|best|cheers|sincerely|yours(?: \w+)?|thanks"
    r"|thank you|many thanks|(?:以上[、,])?(?:どうぞ)?(?:よろしく|宜しく)"
    r"(?:お願い(?:いた|致)?します|お願い(?:いた|致)し(?:ます|たく)?)?|敬具|草々|以上)\s*[,，、.。!]*\s*$",
    re.IGNORECASE,
)
_SIGNATURE = lazy_pattern(r"^\s*(?:[-–—―~〜]\s*)\S+(?: \S+){0,2}\s*$")
_MAIL_HEADER = lazy_pattern(
    r"^\s*\W{0,4}(?:from|to|cc|sent|date|subject|差出人|宛先|件名|送信日時|日時)\W{0,3}[:：]\s*\S"
    r"|^\s*-{2,8} ?(?:begin )?(?:original|forwarded|転送|元のメッセージ)|\bwrote[:：]\s*$",
    re.IGNORECASE,
)
_TAGGED = lazy_pattern(
    r"<(?P<name>[A-Za-z][\w-]{0,40})(?:\s[^<>]{0,200})?>.*?</(?P=name)\s*>", re.DOTALL
)
_QUOTATION = lazy_pattern(
    r"\"[^\"]{1,4000}\"|“[^”]{1,4000}”|「[^」]{1,4000}」|『[^』]{1,4000}』|«[^»]{1,4000}»"
    r"|„[^“”]{1,4000}[“”]|`[^`\n]{1,400}`|(?<!\w)'[^'\n]{3,400}'(?!\w)|(?<!\w)‘[^’\n]{3,400}’(?!\w)"
)
_BREAK = "\n"
_MUCH_QUOTED = 0.3
_INDENTED = lazy_pattern(r"^(?: {2,}|\t|\u3000)\s*(?![-*•・\d])\S")
_MARKS = " .,;:!?\"'()[]{}。、，．！？；：・…「」『』（）-–—*•"
_UNSPACED = 0x2E80
"""From here on Unicode has the scripts of East Asia, most of which put no spaces between words."""


class OwnQuote(NamedTuple):
    """Words of x_t that are the speaker's own, verbatim; `doubtful` if only the user can say so."""

    text: str
    sentence: str
    doubtful: bool


class _Line(NamedTuple):
    text: str
    doubtful: bool


class _Sentence(NamedTuple):
    text: str
    folded: str
    places: tuple[int, ...]
    """Of each folded character, the index in `text`."""
    doubtful: bool


class OwnWords(NamedTuple):
    """The own words of a message, sentence by sentence."""

    sentences: tuple[_Sentence, ...]
    mixed: bool
    """Whether the message carries somebody else's words, or might."""

    def find(self, quote: str) -> OwnQuote | None:
        """The clause of the speaker's own that a quote points at, whole, or None.

        What is taken is the clause with its condition, never a fragment of it; doubtful if the
        quote is less than half of the clause, or much of the clause is a quotation. Of several
        sentences the first counts. Case, width, white space and end marks do not.
        """
        for said in (quote, *split_sentences(quote)):
            wanted = _fold(said[: 2 * MAX_SENTENCE])[0].strip(_MARKS)
            if any(char.isalnum() for char in wanted):
                found = (_clause_of(sentence, wanted) for sentence in self.sentences)
                if (own := next(filter(None, found), None)) is not None:
                    return own._replace(doubtful=own.doubtful or self.mixed)
        return None

    def labelled_rules(self) -> tuple[OwnQuote, ...]:
        """What lines such as 'Rule: …' and 「制約：…」 say: the user's own, whoever reads them."""
        return tuple(self._labelled(_RULE_LABEL))

    def labelled_goal(self) -> OwnQuote | None:
        """What a line 'Goal: …' or 「目標：…」 says, or None."""
        return next(self._labelled(_GOAL_LABEL), None)

    def _labelled(self, label: re.Pattern[str]) -> Iterator[OwnQuote]:
        for sentence in self.sentences:
            match = label.match(sentence.text)
            said = sentence.text[match.end() :].strip() if match else ""
            if said:
                yield OwnQuote(said, sentence.text, sentence.doubtful or self.mixed)


@remembered
def own_words(text: str) -> OwnWords:
    """The own words of a message. Looks at the first MAX_ANALYSED characters."""
    analysed = text[:MAX_ANALYSED]
    without_tags = _TAGGED.sub(_BREAK, analysed)
    lines = without_tags.splitlines()
    kept = list(_own_lines(lines))
    mail = _is_mail(lines)
    sentences = tuple(
        _sentence(sentence, doubtful=line.doubtful or mail)
        for line in kept
        for sentence in split_sentences(line.text)
    )
    dropped = len(kept) < sum(1 for line in lines if line.strip()) or without_tags != analysed
    mixed = dropped or mail or any(line.doubtful for line in kept)
    return OwnWords(sentences, mixed)


def _own_lines(lines: list[str]) -> Iterator[_Line]:
    """The lines outside fences and quoted blocks; doubtful where somebody may be introduced."""
    fenced = handed_over = False
    for line in lines:
        if _FENCE.match(line):
            fenced = not fenced
            continue
        if not line.strip():
            handed_over = False
            continue
        if fenced or _QUOTED.match(line):
            continue
        yield _Line(line, handed_over or _is_labelled(line) or bool(_INDENTED.match(line)))
        if _HEADER.search(line):
            handed_over = not _OWN_HEADER.search(line)


def _is_labelled(line: str) -> bool:
    """Whether a name or a time begins the line: 'bob: …', '[10:42] 田中: …'."""
    if any(own.match(line) for own in (_RULE_LABEL, _GOAL_LABEL, _OWN_LABEL)):
        return False
    if _TIME_FIRST.match(line) or _MAIL_HEADER.search(line):
        return True
    label = _LABELLED.match(line)
    return label is not None and len(label["label"].split()) <= _LABEL_WORDS


def _is_mail(lines: list[str]) -> bool:
    """Whether a greeting and a signature stand around several lines, or a mail's headers do."""
    said = [line for line in lines if line.strip()]
    if any(_MAIL_HEADER.search(line) for line in said):
        return True
    if len(said) < 3:
        return False
    signed = any(_CLOSING.match(line) for line in said[-3:]) or _is_signed(said)
    greeted = any(_GREETING.match(line) for line in said[:-1])
    return signed or (greeted and len(said) > 3)


def _is_signed(said: list[str]) -> bool:
    """Whether the last line is a name behind a dash, and no item of a list."""
    return bool(_SIGNATURE.match(said[-1])) and not _SIGNATURE.match(said[-2])


def _sentence(text: str, *, doubtful: bool) -> _Sentence:
    folded, places = _fold(text)
    return _Sentence(text, folded, places, doubtful)


def _fold(text: str) -> tuple[str, tuple[int, ...]]:
    """The text for comparison, and where each of its characters stands in the text."""
    chars: list[str] = []
    places: list[int] = []
    for index, char in enumerate(text):
        for part in unicodedata.normalize("NFKC", char).casefold():
            if unicodedata.category(part) in {"Cf", "Cc", "Mn"} and not part.isspace():
                continue
            blank = part.isspace()
            if blank and (not chars or chars[-1] == " "):
                continue
            chars.append(" " if blank else _STRAIGHT.get(part, part))
            places.append(index)
    return "".join(chars), tuple(places)


_STRAIGHT = {"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-"}


def _clause_of(sentence: _Sentence, wanted: str) -> OwnQuote | None:
    """The clauses of a sentence that hold the folded words."""
    start = _word_at(sentence.folded, wanted)
    if start < 0:
        return None
    first = sentence.places[start]
    last = sentence.places[start + len(wanted) - 1] + 1
    if _is_quoted(sentence.text, first, last):
        return None
    begin, end = _enclosing(sentence.text, first, last)
    clause = sentence.text[begin:end].strip()
    doubtful = sentence.doubtful or 2 * (last - first) < len(clause) or _quotes(clause)
    return OwnQuote(clause, sentence.text, doubtful)


def _quotes(clause: str) -> bool:
    """Whether much of a clause is somebody's words."""
    quoted = sum(len(match.group()) for match in _QUOTATION.finditer(clause))
    return quoted >= _MUCH_QUOTED * len(clause)


def _word_at(folded: str, wanted: str) -> int:
    """Where the words stand and neither begin nor end within a word; -1 if nowhere."""
    start = folded.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        if not (_joined(folded, start) or _joined(folded, end)):
            return start
        start = folded.find(wanted, start + 1)
    return -1


def _joined(folded: str, at: int) -> bool:
    """Whether a place lies within a word of a script that puts spaces between words."""
    around = folded[max(0, at - 1) : at + 1]
    return len(around) == 2 and all(char.isalnum() and ord(char) < _UNSPACED for char in around)


def _is_quoted(text: str, first: int, last: int) -> bool:
    """Whether a place lies within quotation marks."""
    return any(
        match.start() <= first and last <= match.end() for match in _QUOTATION.finditer(text)
    )


def _enclosing(text: str, first: int, last: int) -> tuple[int, int]:
    """From where the clause of the first character begins to where that of the last one ends."""
    begin, end, at = 0, len(text), 0
    for clause in split_clauses(text):
        at = text.index(clause, at)
        if at <= first:
            begin = at
        at += len(clause)
        if at >= last:
            end = at
            break
    return begin, end
