"""Parse an English sentence into terms, in a canonical order and form.

A leading condition moves behind the main clause, 'X must be done' becomes 'do X', negations
become NOT. Everything else keeps its place: another order is a difference.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from acc_ace.core.text.lexicon_en import HARMLESS, NUMBERS, root_of, word_class
from acc_ace.core.text.patterns import lazy_pattern, words_of

MARK: Final = "\x1f"
"""Prefix of terms that no text contains: 'not', or the unit of a measure."""

NOT: Final = MARK + "not"
OPTIONAL: Final = MARK + "optional"
COMMA: Final = ","


class Piece(NamedTuple):
    """A word of a text; a literal is compared verbatim."""

    text: str
    literal: bool = False

    @property
    def lower(self) -> str:
        """Case-folded, unless it is a literal."""
        return self.text if self.literal else self.text.casefold()


CONDITIONS: Final = words_of(
    """
if unless when whenever while once until before after
"""
)
_OF_TIME = frozenset(("before", "after", "until"))
_ATTACHING = CONDITIONS | words_of(
    """
only just that which who whose what how where because to and or than
"""
)
"""Words that a trailing clause could modify instead of the whole sentence."""

_ALL = frozenset(["all", "every", "each", "both", "some"])
_UNCLEAR = CONDITIONS | words_of(
    """
that which who whose can could may might will would is are
"""
)
"""Words that make the subject of a passive more than a noun phrase."""

_COUNTED = frozenset(("few", "little", "lot"))
"""'A few' means some, 'few' hardly any: here the article matters."""

_OPTIONAL = lazy_pattern(
    r"\bneed(?:n't| not)\b|\b(?:do|does|did)(?: not|n't) (?:have|need) to\b"
    r"|\bnot (?:necessary|required|needed)\b|\bno need to\b",
    re.IGNORECASE,
)
_NEGATIVE = lazy_pattern(
    r"\b(?:(?P<aux>can|could|may|might|will|would|is|are|was|were|has|have|had)(?:\s+not\b|n't\b|not\b)"
    r"|won't|(?P<can>can't|cannot)\b|(?:(?:do|does|did|must|should|shall)(?:\s+not|n't)|dont|never|not|refrain(?:s|ed)?\s+from"
    r"|avoid(?:s|ed|ing)?)\b)(?:\s+ever\b)?",
    re.IGNORECASE,
)
_FILLER = lazy_pattern(
    r"\b(?:make sure|be sure|remember|take care) (?:to|that)\b|^\s*you (?:need|have) to\b",
    re.IGNORECASE,
)
_BEFORE = lazy_pattern(r"\b(?:prior to|ahead of)\b", re.IGNORECASE)
_SWITCH = lazy_pattern(
    r"\b(?:turn|switch)(?:ed|ing|es|s)?\s+((?:\S{1,40}\s+){0,3}?)(?P<way>on|off)\b", re.IGNORECASE
)
_BANNED = lazy_pattern(
    r"^(?P<what>.+?) (?P<way>(?:is|are) (?:strictly )?(?:forbidden|prohibited)"
    rf"|(?:is|are) {NOT} (?:allowed|permitted))$"
)
_PASSIVE = lazy_pattern(
    rf"^(?P<what>.+?) (?P<way>{NOT}|(?:must|should|shall|needs?|has|have|is|are|ought)(?: to)?) be"
    r" (?P<done>\S+ed)(?= |$)"
)
_CASED = lazy_pattern(r"[_\\/$]|[a-z][A-Z]|^(?:[B-HJ-Zb-hj-z]|US|IT|WHO)$")
"""Identifiers, letters and names that are also words: their case is significant."""


def with_plain_negations(text: str) -> str:
    """The text with every form of negation written as one word."""
    text = _OPTIONAL.sub(f" {OPTIONAL} ", _FILLER.sub(" ", _BEFORE.sub("before", text)))
    text = _SWITCH.sub(
        lambda m: f"{'enable' if m['way'].lower() == 'on' else 'disable'} {m[1]}", text
    )
    return _NEGATIVE.sub(
        lambda match: f" {match['aux'] or ('can' if match['can'] else '')} {NOT} ", text
    )


def english_terms(sentence: Sequence[Piece]) -> list[str]:
    """The terms of a sentence, in the order of a plain imperative."""
    main, clause = _parted(sentence)
    return _terms([*_active(main), *clause])


def english_term(piece: Piece) -> str:
    """The synonym class of a word; literals, identifiers and single letters are unchanged."""
    if piece.literal or _CASED.search(piece.text):
        return piece.text
    word = piece.lower.removesuffix("'s").removesuffix("'")
    if word in NUMBERS:
        return NUMBERS[word]
    meaning = word_class(word)
    # The stem of 'hardly' is a different word, 'hard'.
    hedged = word.endswith("ly") and meaning == root_of(word[:-2])
    return word if hedged else meaning


def _parted(sentence: Sequence[Piece]) -> tuple[list[Piece], list[Piece]]:
    """Split a sentence into the main clause and a leading condition."""
    words = [piece.lower for piece in sentence]
    pieces = [piece for piece in sentence if piece.text != COMMA]
    if not words or words[0] not in CONDITIONS or words.count(COMMA) != 1:
        return pieces, []
    at = words.index(COMMA)
    # 'After lunch, cancel meetings' may not mean the meetings after lunch.
    clause = words[0] not in _OF_TIME or words[1].endswith("ing") or words[1] == "you"
    start = at + (words[at + 1 : at + 2] == ["then"])
    if not clause or not _ATTACHING.isdisjoint(words[start + 1 :]):
        return pieces, []
    return pieces[start:], pieces[:at]


def _active(main: list[Piece]) -> list[Piece]:
    """'X must be done' as 'do X', 'X is forbidden' as 'not X'."""
    words = " ".join(piece.lower for piece in main)
    banned = _BANNED.match(words)
    match = banned or _PASSIVE.match(words)
    if match is None:
        return main
    what = match["what"].split(" ")
    denied = banned is not None or match["way"] == NOT
    if not _UNCLEAR.isdisjoint(what) or (denied and not _ALL.isdisjoint(what)):
        return main
    done = len(main) if banned else words.count(" ", 0, match.start("done"))
    verb, rest = main[done : done + 1], main[done + 1 :]
    return [*([Piece(NOT)] if denied else []), *verb, *main[: len(what)], *rest]


def _terms(pieces: Sequence[Piece]) -> list[str]:
    terms: list[str] = []
    denied = False
    for at, piece in enumerate(pieces):
        word = piece.lower
        following = pieces[at + 1].lower if at + 1 < len(pieces) else ""
        denied = denied or word in (NOT, OPTIONAL)
        if _adds_nothing(word, following, denied=denied):
            continue
        terms.append(english_term(piece))
    return terms


def _adds_nothing(word: str, following: str, *, denied: bool) -> bool:
    if word == "always":
        # 'Not always' is less than 'not'.
        return not denied
    if word == "any":
        return denied
    if word == "a" and following in _COUNTED:
        return False
    return word in HARMLESS
