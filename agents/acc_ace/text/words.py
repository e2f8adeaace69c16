"""Content words and their overlap."""

import re

from acc_ace.text.lessons.lexicon_en import root_of
from acc_ace.text.normalize import normalise
from acc_ace.text.patterns import lazy_pattern, words_of
from acc_ace.text.stop_words import STOP_WORDS

_LATIN = lazy_pattern(r"[a-z0-9]+(?:[-_.:/@'][a-z0-9]+)*", re.ASCII)
_HAN_RUN = lazy_pattern("[\u3400-\u4dbf\u4e00-\u9fff々〆ヶ]+")
_KATAKANA_RUN = lazy_pattern("[\u30a1-\u30faー]{2,}")
_JA_STOP = words_of("事 物 時 方 様 等 下 私 今 後 中 内 者 人 何 必 全 毎 可 不 要")
_PERMISSION = "may"
"""No topic of a rule; what is searched may well be a month."""

_TOPICS = {"unfrozen": "freeze", "unfreeze": "freeze"}
"""Words that end what another one began: they have its topic."""


def content_words(text: str) -> frozenset[str]:
    """The words that carry the topic.

    English: lowercased, lightly stemmed, stop words out; identifiers such as 'db-01' stay whole.
    Japanese: kanji runs, the bigrams of longer runs, and katakana words.
    """
    folded = normalise(text)
    words = {_stem(word) for word in _LATIN.findall(folded) if _carries(word)}
    for run in _HAN_RUN.findall(folded):
        words.update(_pieces(run))
    words.update(_KATAKANA_RUN.findall(folded))
    return frozenset(words)


def overlap(a: str, b: str) -> float:
    """Share of the content words of the poorer text that the other has too, 0.0 to 1.0."""
    left, right = content_words(a), content_words(b)
    smaller = min(len(left), len(right))
    return len(left & right) / smaller if smaller else 0.0


def _carries(word: str) -> bool:
    if word in STOP_WORDS or word.replace("'", "") in STOP_WORDS or word == _PERMISSION:
        return False
    return len(word) > 1 or word.isdigit()


def _stem(word: str) -> str:
    word = word.removesuffix("'s")
    return root_of(_TOPICS.get(word, word))


def _pieces(run: str) -> set[str]:
    if len(run) == 1:
        return set() if run in _JA_STOP else {run}
    return {run[at : at + 2] for at in range(len(run) - 1)}
