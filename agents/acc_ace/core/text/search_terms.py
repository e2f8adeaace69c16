"""Tokenise text into search terms, the same way for documents and queries.

English words are stemmed (Porter 1980, step 1 and a few suffixes); Chinese, Japanese and Korean
are split into character bigrams and single kanji. An identifier is one term as a whole and one
for each part: `server:db-01` gives `serverdb01`, `server`, `db01`, `db` and `01`. Terms contain
only letters and digits, so that no text can act as query syntax. Queries omit stop words and
very common bigrams.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from acc_ace.core.text.lexicon_en import STOP_WORDS
from acc_ace.core.text.lexicon_ja import ASKING_KANJI, STOP_BIGRAMS
from acc_ace.core.text.patterns import lazy_pattern, remembered
from acc_ace.core.text.stemmer import stem

MAX_INDEX_TERMS = 20_000
"""Maximum terms indexed of one text; the rest is stored but not searchable."""

MAX_QUERY_TERMS = 48
"""Maximum terms of one query."""

MAX_QUERY_CHARS = 20_000
"""Maximum characters read of a query."""

_MAX_TERM = 64
"""Maximum characters of one term; longer runs (base64, hashes) are cut."""

_KANJI = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff々〆"
_HIRAGANA = "\u3041-\u309f"
_CJK = f"{_KANJI}{_HIRAGANA}\u30a0-\u30fa\u30fc-\u30ff\uac00-\ud7af\u0e00-\u0e7f"
"""Scripts without spaces or with agglutinated endings, Thai included."""

_MARK = "Mn"
"""Category of accents, tones and vowel signs above or below a letter."""

_RUN = lazy_pattern(rf"[{_CJK}]+|[^\W_{_CJK}]+(?:['’\-_./@:#\\]+[^\W_{_CJK}]+)*")
_IS_CJK = lazy_pattern(rf"[{_CJK}]")
_IS_KANJI = lazy_pattern(rf"[{_KANJI}]")
_PARTICLE_AFTER_KANJI = lazy_pattern(rf"[{_KANJI}][はがをにでともへやの]")
_PARTICLE_BEFORE = lazy_pattern(rf"[はがをにでともへやの][{_CJK}]")
_ALL_HIRAGANA = lazy_pattern(rf"[{_HIRAGANA}]+")
_APOSTROPHE = lazy_pattern(r"['’](?:s\b)?")
_STRONG_JOINT = lazy_pattern(r"[/@:#\\]+")
_ANY_JOINT = lazy_pattern(r"[\-_./@:#\\]+")


def index_terms(text: str) -> str:
    """The terms of a stored text, separated by spaces, at most MAX_INDEX_TERMS."""
    terms = (term for run in _runs(_normal(text)) for term in _index_run(run))
    return " ".join(islice(terms, MAX_INDEX_TERMS))


@remembered
def terms_of(text: str) -> frozenset[str]:
    """The terms of a stored text, each once."""
    return frozenset(index_terms(text).split())


def query_terms(text: str, *, limit: int = MAX_QUERY_TERMS) -> dict[str, str]:
    """The query terms, each with the word it came from, at most `limit`.

    Stop words are omitted. If there are more terms, identifiers come first and single kanji
    last; between them, more frequent ones first, then earlier ones.
    """
    words: dict[str, str] = {}
    counts: Counter[str] = Counter()
    identifiers: set[str] = set()
    for run in _runs(_normal(text[:MAX_QUERY_CHARS])):
        for term, word in _query_run(run):
            words.setdefault(term, word)
            counts[term] += 1
            if any(letter.isdigit() for letter in term):
                identifiers.add(term)
    if len(words) <= limit:
        return words
    first = sorted(
        words, key=lambda term: (term not in identifiers, len(term) == 1, -counts[term])
    )[:limit]
    return {term: words[term] for term in first}


def _normal(text: str) -> str:
    """Fold width and case; drop invisible and combining characters."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    if folded.isascii():
        return folded
    visible = "".join(c for c in folded if unicodedata.category(c) != "Cf")
    return "".join(_bare(c) for c in visible)


def _bare(character: str) -> str:
    """A letter without accents, tones and vowel signs; CJK punctuation becomes a space."""
    if character.isascii():
        return character
    if _IS_CJK.match(character) and unicodedata.category(character) != _MARK:
        return character if character.isalnum() else " "
    letters = unicodedata.normalize("NFD", character)
    return "".join(c for c in letters if unicodedata.category(c) != _MARK)


def _runs(text: str) -> Iterator[str]:
    return (match.group() for match in _RUN.finditer(text))


def _index_run(run: str) -> Iterator[str]:
    if _IS_CJK.match(run):
        yield from _bigrams(run)
        yield from _IS_KANJI.findall(run)
    else:
        yield from (term for term, _ in _word_terms(run))


def _query_run(run: str) -> Iterator[tuple[str, str]]:
    if _IS_CJK.match(run):
        yield from ((term, term) for term in _cjk_query(run))
        return
    for term, word in _word_terms(run):
        if word not in STOP_WORDS:
            yield term, word


def _cjk_query(run: str) -> Iterator[str]:
    """Meaningful bigrams, and every kanji, which related words share."""
    spelled_out = _ALL_HIRAGANA.fullmatch(run) is not None
    for bigram in _bigrams(run):
        # Next to kanji or katakana, hiragana are endings and particles.
        if (len(bigram) == 1 and bigram not in ASKING_KANJI) or not (
            bigram in STOP_BIGRAMS
            or not ASKING_KANJI.isdisjoint(bigram)
            or _PARTICLE_AFTER_KANJI.match(bigram)
            or _PARTICLE_BEFORE.match(bigram)
            or (_ALL_HIRAGANA.fullmatch(bigram) and not spelled_out)
        ):
            yield bigram
    if len(run) > 1:
        yield from (kanji for kanji in _IS_KANJI.findall(run) if kanji not in ASKING_KANJI)


def _bigrams(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for at in range(len(run) - 1):
        yield run[at : at + 2]


def _word_terms(run: str) -> Iterator[tuple[str, str]]:
    """(term, word) of a word or identifier: the whole, its strong parts, its parts."""
    word = _APOSTROPHE.sub("", run)
    if not _ANY_JOINT.search(word):
        yield _stem(word), word
        return
    strong = [part for part in _STRONG_JOINT.split(word) if part]
    parts = [part for part in _ANY_JOINT.split(word) if part]
    # A class path may be one identifier of thousands of parts, so look-ups use a set.
    last = frozenset(parts)
    seen: set[str] = set()
    for piece in (word, *strong, *parts):
        joined = _ANY_JOINT.sub("", piece)
        term = _stem(joined) if piece in last else joined[:_MAX_TERM]
        if term not in seen:
            seen.add(term)
            yield term, piece


def _stem(word: str) -> str:
    # Stems are cached, so a file that is one long word is cut first.
    return stem(word[: _MAX_TERM + 1])[:_MAX_TERM]
