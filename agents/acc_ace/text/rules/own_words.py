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
from acc_ace.text.quoted_spans import is_mail_line, without_tagged
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
_NAME_WORDS = 4
_HEADER = lazy_pattern(r"[:：]\s*$")
_GREETING = lazy_pattern(
    r"^\s*(?:(?:hi|hello|hey|dear|good (?:morning|afternoon|evening)|greetings) "
    r"[^.!?:]{1,40}[,!，]?"
    r"|\S{1,20}(?:様|さま|さん|殿|先生|各位)[、,，]?|各位|お疲れ(?:様|さま)です[。、!]?"
    r"|(?:いつも)?お世話になって(?:おり|い)ます.{0,40})\s*$",
    re.IGNORECASE,
)
_CLOSING = lazy_pattern(
    r"^\s*(?:-- ?|(?:(?:best|kind|warm) )?regards|best|cheers|sincerely|yours(?: \w+)?|thanks"
    r"|thank you|many thanks|(?:以上[、,])?(?:どうぞ|何卒)?(?:よろしく|宜しく)"
    r"(?:お願い(?:いた|致)?します|お願い(?:いた|致)し(?:ます|たく)?)?|敬具|草々|以上)\s*[,，、.。!]*\s*$",
    re.IGNORECASE,
)
_SIGNATURE = lazy_pattern(r"^\s*(?:[-–—―~〜]\s*)\S+(?: \S+){0,2}\s*$")
_QUOTATION = lazy_pattern(
    r"\"[^\"]{1,4000}\"|“[^“”]{1,4000}”|「[^「」]{1,4000}」|『[^『』]{1,4000}』|«[^«»]{1,4000}»"
    r"|„[^„“”]{1,4000}[“”]|`[^`]{1,4000}`|(?<!\w)'[^'\n]{3,4000}'(?!\w)"
    r"|(?<!\w)‘[^‘’\n]{3,4000}’(?!\w)"
)
_WITHIN = lazy_pattern(r"[.!?。！？]\s*\S|[\r\n]|[。！？]\S")
_PASSAGE_CHARS = 200
"""From here on a quotation is a passage of its own, as is one of several sentences or lines."""

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

    lines: tuple[_Line, ...]
    sentences: tuple[_Sentence, ...]
    mixed: bool
    """Whether the message carries somebody else's words, or might."""

    def find(self, quote: str) -> OwnQuote | None:
        """The clause of the speaker's own that a quote points at, whole, or None.

        What is taken is the clause with its condition, never a fragment of it; doubtful if the
        quote is less than half of the clause, or much of the clause is a quotation. Case, width,
        white space and end marks do not count. Of several sentences this is the first.
        """
        return next(iter(self.find_all(quote)), None)

    def find_all(self, quote: str) -> list[OwnQuote]:
        """As `find`, for each sentence of the quote."""
        whole = self._find_one(quote)
        if whole is not None:
            return [whole]
        return [own for said in split_sentences(quote) if (own := self._find_one(said))]

    def _find_one(self, quote: str) -> OwnQuote | None:
        wanted = _fold(quote[: 2 * MAX_SENTENCE])[0].strip(_MARKS)
        if not any(char.isalnum() for char in wanted):
            return None
        found = (_clause_of(sentence, wanted) for sentence in self.sentences)
        own = next(filter(None, found), None)
        return own._replace(doubtful=own.doubtful or self.mixed) if own else None

    def labelled_rules(self) -> tuple[OwnQuote, ...]:
        """What lines such as 'Rule: …' and 「制約：…」 say: the user's own, whoever reads them."""
        return tuple(self._labelled(_RULE_LABEL))

    def labelled_goal(self) -> OwnQuote | None:
        """What a line 'Goal: …' or 「目標：…」 says, or None."""
        return next(self._labelled(_GOAL_LABEL), None)

    def _labelled(self, label: re.Pattern[str]) -> Iterator[OwnQuote]:
        for line in self.lines:
            match = label.match(line.text)
            said = line.text[match.end() :].strip() if match else ""
            if _QUOTATION.search(said):
                said = split_sentences(said)[0]
            if said:
                yield OwnQuote(said, line.text.strip(), line.doubtful or self.mixed)


@remembered
def own_words(text: str) -> OwnWords:
    """The own words of a message. Looks at the first MAX_ANALYSED characters."""
    analysed = text[:MAX_ANALYSED]
    spans_out = _QUOTATION.sub(_unless_sentences, analysed)
    own = _QUOTATION.sub(_unless_passage, without_tagged(spans_out))
    lines = own.splitlines()
    mail = _is_mail(lines)
    kept = tuple(
        _Line(line.text, line.doubtful or mail)
        for line in _own_lines(lines)
        if any(char.isalnum() for char in line.text)
    )
    sentences = tuple(
        _sentence(sentence, doubtful=line.doubtful)
        for line in kept
        for sentence in split_sentences(line.text)
    )
    dropped = own != spans_out or len(kept) < sum(any(map(str.isalnum, line)) for line in lines)
    return OwnWords(kept, sentences, dropped or mail or any(line.doubtful for line in kept))


class Speakers(NamedTuple):
    """A message parted by whose words they are."""

    own: str
    doubtful: str
    """Lines that only the user can say are their own."""
    quoted: str
    """Inline quotations."""
    foreign: str


def by_speaker(text: str) -> Speakers:
    """Part a message by whose words they are, as `own_words` reads it."""
    kept = own_words(text).lines
    known = {line.text for line in kept}
    quotations = (match.group() for line in kept for match in _QUOTATION.finditer(line.text))
    others = (line for line in text[:MAX_ANALYSED].splitlines() if line not in known)
    own, doubtful = (
        "\n".join(_QUOTATION.sub(" ", line.text) for line in kept if line.doubtful is doubted)
        for doubted in (False, True)
    )
    return Speakers(own, doubtful, "\n".join(quotations), "\n".join(others))


def _unless_sentences(match: re.Match[str]) -> str:
    """Nothing for several sentences within a line: a span of it, which leaves the rest as it is."""
    said = match.group()[1:-1]
    is_span = len(said) <= _PASSAGE_CHARS and "\n" not in said and _WITHIN.search(said) is not None
    return _BREAK if is_span else match.group()


def _unless_passage(match: re.Match[str]) -> str:
    """Nothing for a quotation of some length or of several lines: a quoted block."""
    said = match.group()[1:-1]
    is_passage = len(said) > _PASSAGE_CHARS or _WITHIN.search(said) is not None
    return _BREAK if is_passage else match.group()


def _own_lines(lines: list[str]) -> Iterator[_Line]:
    """The lines outside fences and quoted blocks; doubtful where somebody may be introduced."""
    fence = ""
    handed_over = begun = False
    for line in lines:
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            # As in Markdown, only the same mark, as long, closes.
            fence = "" if fence else mark[1]
            continue
        if not line.strip():
            # A blank line right below the announcement does not end what it announces.
            handed_over = handed_over and not begun
            continue
        if fence or _QUOTED.match(line):
            continue
        yield _Line(line, handed_over or _is_labelled(line) or bool(_INDENTED.match(line)))
        begun = handed_over
        if _HEADER.search(line):
            handed_over, begun = not _OWN_HEADER.search(line), False


def _is_labelled(line: str) -> bool:
    """Whether a name or a time begins the line: 'bob: …', '[10:42] 田中: …'."""
    if any(own.match(line) for own in (_RULE_LABEL, _GOAL_LABEL, _OWN_LABEL)):
        return False
    if _TIME_FIRST.match(line) or is_mail_line(line):
        return True
    label = _LABELLED.match(line)
    return label is not None and len(label["label"].split()) <= _LABEL_WORDS


def _is_mail(lines: list[str]) -> bool:
    """Whether a greeting and a closing stand around lines, or a signature or headers are there."""
    said = [line for line in lines if line.strip()]
    if any(is_mail_line(line) for line in said):
        return True
    if len(said) < 3:
        return False
    closed = any(_CLOSING.match(line) for line in said[-3:])
    greeted = any(_GREETING.match(line) for line in said[:-1])
    return _is_signed(said) or (greeted and (closed or len(said) > 3))


def _is_signed(said: list[str]) -> bool:
    """Whether names stand below a closing, or a name behind a dash that begins no list."""
    ends = [at for at, line in enumerate(said) if _CLOSING.match(line)]
    names = said[ends[-1] + 1 :] if ends else []
    if names and all(len(line.split()) <= _NAME_WORDS and len(line) <= 40 for line in names):
        return True
    last, before = said[-1], said[-2]
    listed = _SIGNATURE.match(before) or _HEADER.search(before)
    return bool(_SIGNATURE.match(last)) and not listed and not last.rstrip().endswith((".", "。"))


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
    clause = _unlabelled(sentence.text[begin:end].strip())
    doubtful = sentence.doubtful or 2 * (last - first) < len(clause) or _quotes(clause)
    return OwnQuote(clause, sentence.text, doubtful)


def _unlabelled(clause: str) -> str:
    """The clause without a label such as 'Rule:'."""
    for label in (_RULE_LABEL, _GOAL_LABEL):
        if (match := label.match(clause)) and clause[match.end() :].strip():
            return clause[match.end() :].strip()
    return clause


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
