"""Which words of a message are its speaker's own, told by structure alone, in any script.

Code fences, quoted lines, tagged documents and passages in quotation marks are somebody else's
words. The rest is plainly the speaker's own only in a message of one line without marks of layout,
where `Rule: …` and `Goal: …` lines do not count. In any other shape somebody may be introduced,
pasted or forwarded, in more ways than anybody could list, and only the user can say whose it is.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from acc_ace.core.schemas.user_words import OwnQuote
from acc_ace.core.text.normalize import MAX_ANALYSED, has_words
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.polarity import negated
from acc_ace.core.text.rules.quoted_spans import without_tagged
from acc_ace.core.text.sentences import MAX_SENTENCE, remembered, split_clauses, split_sentences
from acc_ace.core.text.similarity import content_words

_DIGITS = lazy_pattern(r"\d+")
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
_OWN_LABELS = (_RULE_LABEL, _GOAL_LABEL)
_INTRODUCES = lazy_pattern(
    # A colon, a dash near the beginning, a time or a bracket that begins the line.
    r"[:：](?=\s|$|[^\x00-\xff])|：|^\S+:(?=[^\W\d])|^[^.!?。！？]{1,40}\s[-–—―]{1,2}\s"
    r"|^\W*\d{1,4}[-/:：年月時]\d|^\s*[\[【(（{#*_~=@]"
    # A name that ends it, behind a dash or a closing word.
    r"|[.!?。！？…]\s*[-–—―~〜]+\s*\S+(?: \S+){0,3}\s*$"
    r"|[.!?]\s+\w+(?: \w+)?,\s*[^\W\d_a-z]\w*\.?(?: \w+){0,3}\.?\s*$"
)
"""Where somebody may be named whose words the line has."""

_LAYOUT = lazy_pattern(
    r"[|│┃▌＜＞→←↑↓⇒]|</?[a-zA-Z]|-{3}|={3}|_{3}|\*\S[^*]*\*|(?<!\w)_\S[^_]*_(?!\w)"
)
_LOOSE_MARK = lazy_pattern(r"[\"＂“”„‟«»‹›〈〉《》「」『』`]|(?<!\w)['‘](?=\w)")
"""Of a quotation that never ends, or of a kind that is not known."""

_MARKED = (_FENCE, _QUOTED, _LAYOUT, _LOOSE_MARK)

_LINE_CHARS = 500
"""What is longer is no remark but a document."""

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
_MARKS = " .,;:!?\"'()[]{}。、，．！？；：・…「」『』（）-–—*•"
_UNSPACED = 0x2E80
"""From here on Unicode has the scripts of East Asia, most of which put no spaces between words."""


class _Sentence(NamedTuple):
    text: str
    folded: str
    places: tuple[int, ...]
    """Of each folded character, the index in `text`."""


class OwnWords(NamedTuple):
    """The own words of a message, sentence by sentence."""

    lines: tuple[str, ...]
    sentences: tuple[_Sentence, ...]
    mixed: bool
    """Whether the message carries somebody else's words, or might: it is not plainly one's own."""
    message: str
    """All of it: what it says that is not the speaker's own is somebody else's."""

    def find(self, quote: str) -> OwnQuote | None:
        """The clause of the speaker's own that a quote points at, whole, or None.

        What is taken is the clause with its condition, never a fragment of it; doubtful if the
        quote is less than half of the clause, or much of the clause is a quotation. Case, width,
        white space and end marks do not count. Of several sentences this is the first.
        """
        return next(iter(self.find_all(quote)), None)

    def find_all(self, quote: str) -> list[OwnQuote]:
        """As `find`, for each sentence of the quote; a reworded one is the clause it is of."""
        whole = self._find_one(quote)
        if whole is not None:
            return [whole]
        quotes = (self._find_one(part) or self._reworded(part) for part in split_sentences(quote))
        return [own for own in quotes if own]

    def about(self, words: str) -> str:
        """The one sentence of the speaker's own that the words, or some of them, are of, or ''."""
        sentences = [sentence.text for sentence in self.sentences]
        return _closest(words, sentences, _contained, least=_ABOUT) or ""

    def _reworded(self, quote: str) -> OwnQuote | None:
        """The one clause that says what the quote says, of the same numbers and polarity."""
        wanted = _fold(quote[:MAX_SENTENCE])[0].strip(_MARKS)
        if _word_at(_fold(self.message)[0], wanted) >= 0:
            return None
        clauses = [part for each in self.sentences for part in split_clauses(each.text)]
        clause = _closest(quote, clauses, _common, least=_SAME)
        return self._find_one(clause) if clause and _facts(clause) == _facts(quote) else None

    def _find_one(self, quote: str) -> OwnQuote | None:
        wanted = _fold(quote[: 2 * MAX_SENTENCE])[0].strip(_MARKS)
        if not any(char.isalnum() for char in wanted):
            return None
        quotes = (_clause_of(sentence, wanted) for sentence in self.sentences)
        own = next(filter(None, quotes), None)
        return own._replace(doubtful=own.doubtful or self.mixed) if own else None

    def labelled_rules(self) -> tuple[OwnQuote, ...]:
        """What lines such as 'Rule: …' and 「制約：…」 say: the user's own, whoever reads them."""
        return tuple(self._labelled(_RULE_LABEL))

    def labelled_goal(self) -> OwnQuote | None:
        """What a line 'Goal: …' or 「目標：…」 says, or None."""
        return next(self._labelled(_GOAL_LABEL), None)

    def _labelled(self, label: re.Pattern[str]) -> Iterator[OwnQuote]:
        for line in self.lines:
            match = label.match(line)
            text = line[match.end() :].strip() if match else ""
            if _QUOTATION.search(text):
                text = split_sentences(text)[0]
            if text:
                yield OwnQuote(text, line.strip(), self.mixed)


_SAME, _ABOUT, _APART = 0.6, 0.7, 0.2
"""Least shares of common content words: of one wording, of one matter; and between the two
nearest, so that only one can be meant."""


_Share = Callable[[frozenset[str], frozenset[str]], float]


def _closest(words: str, candidates: Sequence[str], share: _Share, *, least: float) -> str | None:
    """The one candidate that shares most content words with the words, or None.

    What it quotes is somebody else's.
    """
    wanted = content_words(words)
    terms = {each: content_words(_QUOTATION.sub(" ", each)) for each in candidates}
    shares = sorted(((share(wanted, own), each) for each, own in terms.items()), reverse=True)
    if not shares or shares[0][0] < least:
        return None
    return None if len(shares) > 1 and shares[0][0] - shares[1][0] < _APART else shares[0][1]


def _common(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, len(one | other))


def _contained(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of the fewer words that the others hold; one common word is none."""
    both = len(one & other)
    return both / min(len(one), len(other)) if both > 1 else 0.0


def _facts(text: str) -> tuple[list[str], bool]:
    """The numbers of a text, and whether it denies."""
    return sorted(_DIGITS.findall(text)), negated(text)


def is_rewording(text: str, other: str) -> bool:
    """Whether two texts say the same in other words, of the same numbers and polarity."""
    common = _common(content_words(text), content_words(other))
    return common >= _SAME and _facts(text) == _facts(other)


@remembered
def own_words(text: str) -> OwnWords:
    """The own words of a message. Looks at the first MAX_ANALYSED characters."""
    analysed = text[:MAX_ANALYSED]
    spans_out = _QUOTATION.sub(_unless_sentences, analysed)
    own = _QUOTATION.sub(_unless_passage, without_tagged(spans_out))
    lines = tuple(filter(has_words, _unquoted_lines(own.splitlines())))
    sentences = tuple(_sentence(part) for line in lines for part in split_sentences(line))
    return OwnWords(lines, sentences, own != spans_out or not _is_plain(analysed), analysed)


def _is_plain(text: str) -> bool:
    """Whether a message is one line of prose, lines 'Rule: …' and 'Goal: …' aside."""
    lines = [_QUOTATION.sub(" ", line) for line in text.splitlines() if line.strip()]
    prose = [line for line in lines if not any(own.match(line) for own in _OWN_LABELS)]
    return (
        len(prose) <= 1
        and all(len(line) <= _LINE_CHARS for line in prose)
        and not any(mark.search(line) for line in lines for mark in _MARKED)
        and not any(_INTRODUCES.search(line) for line in prose)
    )


class Speakers(NamedTuple):
    """A message parted by whose words they are."""

    own: str
    doubtful: str
    """Words that only the user can say are their own."""
    quoted: str
    """Inline quotations."""
    foreign: str


def by_speaker(text: str) -> Speakers:
    """Part a message by whose words they are, as `own_words` reads it."""
    read = own_words(text)
    quotations = (match.group() for line in read.lines for match in _QUOTATION.finditer(line))
    others = (line for line in text[:MAX_ANALYSED].splitlines() if line not in read.lines)
    joined = "\n".join(_QUOTATION.sub(" ", line) for line in read.lines)
    own, doubtful = ("", joined) if read.mixed else (joined, "")
    return Speakers(own, doubtful, "\n".join(quotations), "\n".join(others))


def _unless_sentences(match: re.Match[str]) -> str:
    """Nothing for several sentences within a line: a span of it, which leaves the rest as it is."""
    body = match.group()[1:-1]
    is_span = len(body) <= _PASSAGE_CHARS and "\n" not in body and _WITHIN.search(body) is not None
    return _BREAK if is_span else match.group()


def _unless_passage(match: re.Match[str]) -> str:
    """Nothing for a quotation of some length or of several lines: a quoted block."""
    body = match.group()[1:-1]
    is_passage = len(body) > _PASSAGE_CHARS or _WITHIN.search(body) is not None
    return _BREAK if is_passage else match.group()


def _unquoted_lines(lines: list[str]) -> Iterator[str]:
    """The lines outside fences and quoted blocks."""
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            # As in Markdown, only the same mark, as long, closes.
            fence = "" if fence else mark[1]
        elif not fence and not _QUOTED.match(line):
            yield line


def _sentence(text: str) -> _Sentence:
    folded, places = _fold(text)
    return _Sentence(text, folded, places)


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


_STRAIGHT = {
    **dict.fromkeys("’‘ʼ′´`", "'"),
    **dict.fromkeys("“”", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"),
}


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
    doubtful = 2 * (last - first) < len(clause) or _quotes(clause)
    return OwnQuote(clause, sentence.text, doubtful)


def _unlabelled(clause: str) -> str:
    """The clause without a label such as 'Rule:'."""
    for label in _OWN_LABELS:
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
