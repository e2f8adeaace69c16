"""The terms by which bullets are found: stems of words, pairs of CJK characters."""

import re
from functools import lru_cache

from acc_ace.text.patterns import lazy_pattern
from acc_ace.text.search_terms import STOP_BIGRAMS, STOP_WORDS
from acc_ace.text.stemmer import stem

QUERY_CHARACTERS = 20_000
"""The part of a text that is read; the beginning says what it is about."""

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_RUN = lazy_pattern(rf"[{_CJK}ー]+|[^\W_{_CJK}]+")


@lru_cache(maxsize=32_768)
def bullet_terms(section: str, content: str) -> frozenset[str]:
    """The terms of a bullet, its section's name included."""
    return terms_of(f"{section} {content}")


def terms_of(text: str) -> frozenset[str]:
    """The terms of a text's first QUERY_CHARACTERS; stop words are none."""
    terms: set[str] = set()
    for run in _RUN.findall(text[:QUERY_CHARACTERS].casefold()):
        if run[0] > "\u3000" and re.match(rf"[{_CJK}]", run):
            terms.update(run[at : at + 2] for at in range(max(1, len(run) - 1)))
        elif (len(run) > 2 or run.isdigit()) and run not in STOP_WORDS:
            terms.add(stem(run))
    return frozenset(terms - STOP_BIGRAMS)
