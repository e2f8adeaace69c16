"""Which words of a message are its speaker's own, and where a quote of them stands.

Code fences, quoted lines, tagged documents, labelled speakers, what follows a hand-over ("X
wrote:") and passages in quotation marks are somebody else's words. All the rest counts as the
speaker's own: an unmarked paste cannot be told from it, which is why own words only ever bind.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from acc_ace.core.schemas.user_words import OwnQuote
from acc_ace.core.text.lexicon_en import word_class
from acc_ace.core.text.normalize import MAX_ANALYSED, NUMBER_WORDS, has_words, same_wording
from acc_ace.core.text.patterns import lazy_pattern, remembered, words_of
from acc_ace.core.text.polarity import negated
from acc_ace.core.text.rules.quoted_spans import (
    QUOTED_LINE,
    lines_of_others_by_guess,
    lines_of_speaker,
    with_quote_marks,
)
from acc_ace.core.text.sentences import MAX_SENTENCE, split_clauses, split_sentences
from acc_ace.core.text.similarity import content_words

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
_QUOTATION = lazy_pattern(
    r"\"[^\"]{1,4000}\"|“[^“”]{1,4000}”|「[^「」]{1,4000}」|『[^『』]{1,4000}』|«[^«»]{1,4000}»"
    r"|„[^„“”]{1,4000}[“”]|`[^`]{1,4000}`|(?<!\w)'[^'\n]{3,4000}'(?!\w)"
    r"|(?<!\w)‘[^‘’\n]{3,4000}’(?!\w)"
)
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
    message: str
    """All of it: what it says that is not the speaker's own is somebody else's."""

    def pointed(self, number: int | None, quote: str) -> list[OwnQuote]:
        """The own words that a sentence's number and a quote point at; empty if none.

        A quote narrows the sentence to a clause; of another sentence, or alone, it counts itself.
        """
        named = self.sentences[number - 1 : number] if number else ()
        within = self._replace(sentences=named).find_all(quote) if named and quote else []
        elsewhere = self.find_all(quote) if quote and not within else []
        return within or elsewhere or [OwnQuote(each.text, each.text) for each in named]

    def find(self, quote: str) -> OwnQuote | None:
        """The clause of the speaker's own that a quote points at, whole, or None.

        What is taken is the clause with its condition, never a fragment of it. Case, width, white
        space and end marks do not count. Of several sentences this is the first.
        """
        return next(iter(self.find_all(quote)), None)

    def find_all(self, quote: str) -> list[OwnQuote]:
        """As `find`, for each sentence of the quote; a reworded one is the clause it is of."""
        whole = self._find_one(quote)
        if whole is not None:
            return [whole]
        parts = [part for each in split_sentences(quote) for part in split_clauses(each)]
        quotes = (self._find_one(part) or self._reworded(part) for part in parts)
        return list(dict.fromkeys(own for own in quotes if own))

    def numbered(self, first: int = 1) -> str:
        """The message with the number of each own sentence in front: '⟦2⟧'."""
        pieces, at = list[str](), 0
        for number, sentence in enumerate(self.sentences, start=first):
            start = self.message.find(sentence.text, at)
            if start < 0:
                continue
            pieces += [self.message[at:start], f"⟦{number}⟧", sentence.text]
            at = start + len(sentence.text)
        return "".join([*pieces, self.message[at:]])

    def with_others(self, others: Sequence["OwnWords"]) -> "OwnWords":
        """Several messages of one speaker as one, numbered on from this one."""
        if not others:
            return self
        lines, sentences, messages = zip(self, *others, strict=True)
        return OwnWords(
            tuple(chain.from_iterable(lines)),
            tuple(chain.from_iterable(sentences)),
            "\n\n".join(messages),
        )

    def about(self, words: str) -> str:
        """The one sentence of the speaker's own that the words, or some of them, are of, or ''."""
        sentences = [sentence.text for sentence in self.sentences]
        return _closest(words, sentences, _contained, least=_ABOUT) or ""

    def names_others(self, quote: str) -> bool:
        """Whether the message says the quote, and not as the speaker's own words."""
        return bool(words := same_wording(quote)) and words in same_wording(self.message)

    def of_others_by_guess(self) -> Iterator[str]:
        """Sentences that count as others' for what stands above or before them alone."""
        for line in lines_of_others_by_guess(self.message):
            yield from split_sentences(line)

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
        wanted = _JOINS.sub("", wanted)
        if not any(char.isalnum() for char in wanted):
            return None
        quotes = (_clause_of(sentence, wanted) for sentence in self.sentences)
        return next(filter(None, quotes), None)

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
                yield OwnQuote(text, line.strip())


_JOINS = lazy_pattern(r"^(?:(?:and|but|also|so|then|just) )+")

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


def _facts(text: str) -> tuple[list[str], bool, frozenset[tuple[str, str]]]:
    """The numbers of a text, whether it denies, and what turns its meaning round."""
    words = (str(NUMBER_WORDS.get(word, word)) for word in _WORD.findall(text.lower()))
    turns = _TURNS.finditer(unicodedata.normalize("NFKC", text))
    kinds = ((str(turn.lastgroup), turn["source"] or turn["letter"] or "") for turn in turns)
    return sorted(filter(str.isdigit, words)), negated(text), frozenset(kinds)


_WORD = lazy_pattern(r"\d+|[a-z]+")
_TURNS = lazy_pattern(
    r"(?P<less>\b(?i:less|fewer|under|below|least|shorter)\b|以下|未満|以内|より(?:短|少|小))"
    r"|(?P<before>\b(?i:before|until|till)\b|前|まで)|(?P<after>\b(?i:after|since|past)\b|後)"
    r"|(?P<without>\b(?i:without)\b|なしに|なしで|なく|ずに)|(?P<only>\b(?i:only)\b|だけ|のみ)"
    r"|(?P<but>\b(?i:except|unless|apart)\b|以外|除)|(?P<outside>\b(?i:outside)\b|外)"
    r"|\b(?i:from) (?:(?:the|an?) )?(?P<source>[\w-]+)"
    r"|(?<![A-Za-z])(?P<letter>[A-Z])(?![A-Za-z'’]| [a-z])"
)
"""What turns the meaning of the same words round; a letter that is a name."""
_SAID_AGAIN = words_of(
    """tell say remember remind repeat mention ever allow permit forbid forbidden prohibit ban abov
    exceed 禁止 厳禁 常 必 絶対 願 言 超 繰 返 念"""
)
"""Content words with which a rule is said to be one, not what it is."""


def is_rewording(text: str, other: str) -> bool:
    """Whether a text demands what another does: the same but for order, synonyms and such words.

    One other word is another rule; to take it for the same would lose it.
    """
    one, two = ({word_class(word) for word in content_words(each)} for each in (text, other))
    return not (one ^ two) - _SAID_AGAIN and _facts(text) == _facts(other)


@remembered
def own_words(text: str) -> OwnWords:
    """The own words of a message. Looks at the first MAX_ANALYSED characters."""
    analysed = _NUMBER_MARK.sub("", text[:MAX_ANALYSED])
    own = lines_of_speaker(_CITED.sub(_parted, analysed))
    lines = tuple(filter(has_words, own))
    sentences = (_sentence(part) for line in lines for part in split_sentences(line))
    spoken = (each for each in sentences if has_words(_QUOTATION.sub(" ", each.text)))
    return OwnWords(lines, tuple(spoken), analysed)


_NUMBER_MARK = lazy_pattern(r"⟦\d*⟧")
_CITED = lazy_pattern(
    r"(?<=[:：])\s*(?:\"[^\"\n]{9,4000}[.!?]\"|“[^”\n]{9,4000}[.!?]”|「[^」\n]{9,4000}[。！？!?]」)"
)
"""Whole sentences that a colon introduces within quotation marks."""


def marked(text: str) -> str:
    """The text with '> ' before what is others', so that any part of it shows whose it is."""
    return with_quote_marks(_CITED.sub(lambda it: f"\n> {it[0].strip()}{_parted(it)}", text))


def _parted(cited: re.Match[str]) -> str:
    """The end of a line in place of what is cited; what follows in a quoted line stays quoted."""
    line = cited.string.rfind("\n", 0, cited.start()) + 1
    return "\n> " if QUOTED_LINE.match(cited.string[line : cited.start()]) else "\n"


def without_numbers(text: str) -> str:
    """A text without the numbers of `OwnWords.numbered`."""
    return _NUMBER_MARK.sub("", text)


class Speakers(NamedTuple):
    """A message parted by whose words they are."""

    own: str
    quoted: str
    """Inline quotations."""
    foreign: str


@remembered
def by_speaker(text: str) -> Speakers:
    """Part a message by whose words they are, as `own_words` reads it; the rest is foreign."""
    read = own_words(text)
    quotations = (match.group() for line in read.lines for match in _QUOTATION.finditer(line))
    others = (line for line in text[:MAX_ANALYSED].splitlines() if line not in read.lines)
    own = "\n".join(_QUOTATION.sub(" ", line) for line in read.lines)
    return Speakers(own, "\n".join(quotations), "\n".join([*others, text[MAX_ANALYSED:]]))


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
    return None if _quotes(clause) else OwnQuote(clause, sentence.text)


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
