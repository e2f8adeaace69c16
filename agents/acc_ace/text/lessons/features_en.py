"""Read English words: their class, names, what is denied, what goes from where to where."""

import re

from acc_ace.text.lessons.lesson_words import Reading, Word
from acc_ace.text.lessons.lexicon_en import LIGHT, NUMBERS, opposites_of, word_class
from acc_ace.text.patterns import lazy_pattern

NOT = "qnotq"
"""Stands for every form of denial. No word of a language, so that no text forges it unseen."""

_PHRASE = lazy_pattern(
    r"\b(?:"
    r"(?P<atleast>at\s+least|no\s+less\s+than)"
    r"|(?P<atmost>at\s+most|(?:no|not)\s+more\s+than)"
    r"|(?P<drop>not\s+(?:just|only|merely)|make\s+sure|take\s+care|remember\s+to)"
    rf"|(?P<{NOT}>never(?:\s+ever)?|cannot|can't|won't|shan't|refrain(?:s|ed)?\s+from|no\s+longer"
    r"|without|(?:do|does|did|must|should|shall|can|could|may|will|would|need|is|are|was|were|has"
    r"|have)(?:\s+(?:not(?!\s+(?:just|only|merely|more)\b)|never)|n't)(?:\s+ever)?"
    r"|no|not|none|nothing|nobody|neither|nor|avoid(?:s|ing|ed)?|refuse[sd]?(?:\s+to)?"
    r"|prevent(?:s|ing|ed)?|stop(?=\s+\w+ing\b)|instead\s+of|rather\s+than"
    r"|forbidden\s+to|prohibited\s+to)"
    r"|(?P<before>prior\s+to|ahead\s+of)"
    r"|(?P<after>as\s+soon\s+as|once(?=\s+\w+\s+(?:is|are|has|have|was|were)\b))"
    r"|(?P<then>(?:only|and)\s+then|followed\s+by|afterwards)"
    r"|(?P<morethan>(?:more|greater|higher|larger)\s+than)"
    r"|(?P<lessthan>(?:less|fewer|lower|smaller)\s+than)"
    r"|(?P<check>look(?:s|ed|ing)?\s+(?:up|at|into))"
    r"|(?P<per>(?:an?|per|each|every)(?=\s+(?:second|minute|hour|day|week|month|year)\b))"
    r"|(?P<latest>most\s+recent)"
    r"|(?P<nightfall>night\s+falls?|it\s+gets\s+dark)"
    r")\b",
    re.IGNORECASE,
)
"""Phrases that count as one word, which is the name of their group."""

_LATIN = lazy_pattern(r"[A-Za-z]")
_JOINT = lazy_pattern(r"[-/:]")
_IDENTIFIER = lazy_pattern(r"\d|_|[a-z][A-Z]|^[A-Z]{2,7}s?$|[+#@]|\w\.\w")
"""A longer word in capitals is an emphasis: 'check the logs before RESTARTING'."""

_LETTER = lazy_pattern(r"[A-HJ-Z]")
"""A capital that stands alone within a sentence; 'I' is no name."""

_CAPITAL = lazy_pattern(r"[A-Z][\w']*")
_ORDER_WORDS = frozenset(["before", "after", "until", "then", "first"])
_TO = frozenset(("to", "into"))


def rewritten(text: str) -> str:
    """The text with the phrases that count as one word written as one."""
    if not _LATIN.search(text):
        return text
    return _PHRASE.sub(_as_word, text.replace("e-mail", "email").replace("E-mail", "email"))


def _as_word(match: re.Match[str]) -> str:
    return " " if match.lastgroup == "drop" else f" {match.lastgroup} "


def read_word(token: str, at: int, reading: Reading) -> None:
    """Note a word of a text."""
    begins, reading.begins = reading.begins, False
    lower = token.casefold()
    if lower == NOT:
        reading.deny_next(at)
        reading.begins = begins
        return
    if _is_name(token, lower, begins=begins):
        name = _possessor(lower)
        reading.names.add(name)
        reading.add(Word(name, at))
        return
    for part in _JOINT.split(lower):
        _read_part(part, at, reading)


def _read_part(part: str, at: int, reading: Reading) -> None:
    word = _possessor(part)
    if word in NUMBERS:
        reading.number(NUMBERS[word])
        return
    if word in _TO:
        _note_direction("to", reading)
        return
    if word == "from":
        _note_direction("from", reading)
        return
    meaning = word_class(word)
    if opposites_of(meaning):
        reading.poles.add(meaning)
    if word and word not in LIGHT and word not in _ORDER_WORDS and meaning not in LIGHT:
        reading.add(Word(meaning, at))


def _note_direction(word: str, reading: Reading) -> None:
    if word == "to" and reading.words:
        reading.sources.add(reading.words[-1].term)
    reading.towards = word


def _possessor(word: str) -> str:
    return word.removesuffix("'s").removesuffix("'")


def _is_name(token: str, lower: str, *, begins: bool) -> bool:
    """Whether a word names one thing: an identifier, an acronym, a capital within a sentence."""
    if _IDENTIFIER.search(token):
        return True
    if begins:
        return False
    if len(token) == 1:
        return _LETTER.fullmatch(token) is not None
    return not token.isupper() and _CAPITAL.fullmatch(token) is not None and lower not in LIGHT
