"""Content words, their overlap, and the polarity of a statement."""

import re

from core.domain.language.normal import normalise
from core.domain.language.patterns import words_of

_LATIN = re.compile(r"[a-z0-9]+(?:[-_.:/@'][a-z0-9]+)*", re.ASCII)
_HAN_RUN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff々〆ヶ]+")
_KATAKANA_RUN = re.compile("[\u30a1-\u30faー]{2,}")
_STOP = words_of(
    """a about after again all also am an and any anyone anything are as at be because been before
    being both but by can could did do does doing done don't during each every everything few for
    from get go going had has have having he her here him his how i if in into is it its it's just
    let me more most must my need never no nor not now of off on once only or other our out over own
    per please same shall she should so some such than that the their them then there these they
    this those to too until up us use very was we were what when where which while who why will with
    without would you your yours let's i'm i'd i'll you're we're may might always ok okay"""
)
_JA_STOP = words_of("事 物 時 方 様 等 下 私 今 後 中 内 者 人 何 必 全 毎 可 不 要")
_IRREGULAR = {
    "frozen": "freeze", "froze": "freeze", "unfrozen": "freeze", "unfreeze": "freeze",
    "freezing": "freeze", "banned": "ban", "written": "write", "wrote": "write",
    "sent": "send", "spent": "spend", "sharing": "share", "shared": "share",
    "restriction": "restrict", "restricted": "restrict", "approval": "approve",
    "approved": "approve", "approves": "approve", "approving": "approve",
    "deletion": "delete", "deleting": "delete", "deleted": "delete", "deployment": "deploy",
    "deployments": "deploy", "requirement": "require", "required": "require",
    "prod": "production", "db": "database", "databases": "database", "emailing": "email",
}  # fmt: skip
_SUFFIXES = ("ingly", "edly", "ing", "ies", "ied", "ed", "es", "s")

_EN_NEGATION = re.compile(
    r"\b(?:not|never|no|none|nobody|nothing|neither|nor|without|cannot|\w+n't|dont|forbid\w*|banned"
    r"|ban|prohibit\w*|refrain|avoid|stop|off[- ]limits|frozen|refuse\w*|disallow\w*)\b"
)
_JA_NEGATION = re.compile(
    r"ない|なく|なかっ|ません|ませぬ|ず(?:に|、|$)|禁止|厳禁|禁じ|不可|(?<![a-z])ng\b|だめ|ダメ"
    r"|駄目|無用|やめて"
    r"|控え|避け|凍結|(?<=[るすむくぐうつぶ])な(?:[。!！]|$)"
)


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


def negated(text: str) -> bool:
    """Whether the statement forbids or denies; two negations make an affirmation."""
    folded = normalise(text)
    count = len(_EN_NEGATION.findall(folded)) + len(_JA_NEGATION.findall(folded))
    return count % 2 == 1


def _carries(word: str) -> bool:
    return word not in _STOP and (len(word) > 1 or word.isdigit())


def _stem(word: str) -> str:
    word = word.removesuffix("'s")
    if word in _IRREGULAR:
        return _tidy(_IRREGULAR[word])
    if any(not letter.isalpha() for letter in word):
        return word
    for suffix in _SUFFIXES:
        stem = word.removesuffix(suffix)
        if stem != word and len(stem) >= 3 and not word.endswith("ss"):
            return _tidy(stem + ("y" if suffix in ("ies", "ied") else ""))
    return _tidy(word)


def _tidy(stem: str) -> str:
    """One spelling for 'stopp' and 'stop', for 'cite' and 'cit'."""
    if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] != "s":
        return stem[:-1]
    return stem[:-1] if len(stem) > 3 and stem.endswith("e") else stem


def _pieces(run: str) -> set[str]:
    if len(run) == 1:
        return set() if run in _JA_STOP else {run}
    return {run[at : at + 2] for at in range(len(run) - 1)}
