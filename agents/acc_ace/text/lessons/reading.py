"""Read a lesson as the terms that tell it from any other."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from acc_ace.text.lessons.lesson_en import COMMA, Piece, english_terms, with_plain_negations
from acc_ace.text.lessons.lesson_ja import japanese_terms, plain_japanese
from acc_ace.text.lessons.measures import MARK, with_measures
from acc_ace.text.lexicon_en import NUMBERS
from acc_ace.text.lexicon_ja import COUNTER, HIRAGANA, KANJI, KATAKANA
from acc_ace.text.patterns import lazy_pattern, one_of

COMPARED_CHARACTERS: Final = 4_000
"""Longer texts are the same only when they are equal."""

_JAPANESE = rf"{KANJI}{KATAKANA}{HIRAGANA}"
_LETTER = rf"[^\W_{_JAPANESE}]"
_HAS_JAPANESE = lazy_pattern(rf"[{_JAPANESE}]")
_NUMBER_WORD = lazy_pattern(rf"\b{one_of(NUMBERS)}\b(?=\s+[a-z])", re.IGNORECASE)
_CODE = lazy_pattern(r"`([^`\n]{1,400})`")
_PIECE = lazy_pattern(
    rf"(?P<ja>[{_JAPANESE}]+)"
    # Flags, paths and globs; marks in front of a word tell 'env' from '.env' and '$env'.
    rf"|(?P<literal>(?<![\w-])--?[A-Za-z][\w-]*|(?<!\w)[$~.]{{0,2}}/[\w./*~-]*\w|(?<!\w)(?:\*?\.|\$)\w[\w.]*)"
    rf"|(?P<number>(?:(?<!\w)-)?\d[\d.,:/-]*(?:(?<=\d){MARK}[a-z]*|(?<=\d)(?:{COUNTER}))|{MARK}\w+)"
    rf"|(?P<figure>(?:(?<!\w)-)?\d+(?:[.,:/-]\d+)*(?!{_LETTER}))"
    rf"|(?P<word>{_LETTER}(?:(?:{_LETTER}|[_.'/@:#*-])*{_LETTER})?[+#]*)"
    r"|(?P<stop>[.;!?。！？](?=\s|$)|[。！？\n])|(?P<comma>[,、])"
    r"|(?P<sign>(?<=\d)-(?=\d)|[<>=!]=|[^\w\s!?;:'\"()\[\]{}*_`,.、。「」『』・…–—“”‘’【】〈〉《》〜-])"
)
_HARMLESS_DASH = lazy_pattern(r"(?<=\d),(?=\d{3})")


def terms_of_lesson(text: str) -> tuple[str, ...]:
    """The terms of a text, in order. Two texts of the same terms ask for the same."""
    plain = unicodedata.normalize("NFKC", text).replace("’", "'").replace(MARK, " ")
    if len(plain) > COMPARED_CHARACTERS:
        return (plain,)
    code = frozenset(word for span in _CODE.findall(plain) for word in span.split())
    readable = _NUMBER_WORD.sub(lambda word: NUMBERS[word.group().lower()], plain)
    readable = with_plain_negations(with_measures(plain_japanese(readable)))
    terms = [term for sentence in _sentences(readable, code) for term in _terms(sentence)]
    # A text of marks or of harmless words alone is compared as it is.
    return tuple(terms) or tuple(plain.casefold().split())


def _terms(sentence: list[Piece]) -> list[str]:
    if any(_HAS_JAPANESE.match(piece.text) for piece in sentence):
        return japanese_terms([piece for piece in sentence if piece.text != COMMA])
    return english_terms(sentence)


def _sentences(text: str, code: frozenset[str]) -> Iterator[list[Piece]]:
    sentence: list[Piece] = []
    for match in _PIECE.finditer(_HARMLESS_DASH.sub("", text)):
        said = match.group()
        match match.lastgroup:
            case "stop":
                yield sentence
                sentence = []
            case "comma":
                sentence.append(Piece(COMMA))
            case "literal" | "number" | "figure" | "sign":
                sentence.append(Piece(said, literal=True))
            case _:
                sentence.append(Piece(said, literal=said in code))
    yield sentence
