"""Read the English words of a lesson: class, names, what is denied, what goes where.

The lexicon says which words carry nothing and which mean the same.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from acc_ace.text.lessons.lesson_words import Reading, Word
from acc_ace.text.normalize import NUMBER_WORDS
from acc_ace.text.patterns import lazy_pattern
from acc_ace.text.polarity import OPPOSITES_EN, opposites_by_class
from acc_ace.text.stemmer import stem

_LIGHT: Final = """
a about actually again all already also am an and any are as at be because been being both but
by can carefully could did do does doing done each either else ensure even ever every for
further had has have having he hence here how however i if in instead into is it its itself just
kindly let make made makes making may me might must my need needed needs of on one ones onto or
other others otherwise our own per perform performed please rather really remember shall she
should simply since so still such than that the their them themselves then there therefore these
they this those thus to too under upon us use used uses using very was way we were what when
whenever where whether which while who whose why will with would yes yet you your yours always
first only once time times sure over above below beyond own possible within during
"""
LIGHT: Final = frozenset(_LIGHT.split())
"""Words in which two lessons may differ and say the same; what tells apart stands elsewhere."""

_SYNONYMS: Final = """
check inspect examine verify review validate look
delete remove erase discard
begin start commence launch
end finish stop terminate complete conclude
choose pick select
show display present
fix repair correct
gather collect
notify alert inform tell warn
compute calculate
big large huge
small little tiny
save store persist
buy purchase
obtain acquire get receive
reply respond answer
change modify alter edit amend
explain describe clarify
avoid prevent
retrieve fetch
construct build
test try
mention cite
cheap inexpensive
quick fast rapid
error failure fault
picture image
file document
client customer
employee staff
issue problem
approval permission consent
dusk nightfall sunset
split divide break
send transmit
latest newest recent
previous prior earlier
shelter refuge
identical same equal
run execute
stay remain
ask request
confirm confirmation
forecast prediction
figure number
concise brief short
mandatory required compulsory
"""
_SAME_ROOT: Final = {
    "deletion": "delete", "confirmation": "confirm", "validation": "validate",
    "verification": "verify", "calculation": "calculate", "explanation": "explain",
    "description": "describe", "modification": "modify", "approved": "approve",
    "done": "do", "migrations": "migration", "e-mail": "email", "emails": "email",
    "e-mails": "email", "prod": "production", "db": "database", "config": "configuration",
    "repo": "repository", "docs": "documentation", "auth": "authentication", "app": "application",
}  # fmt: skip
"""Nouns and short forms with the word that they stand for."""

NUMBERS: Final = {word: str(value) for word, value in NUMBER_WORDS.items()} | {
    "twice": "2",
    "thrice": "3",
    "half": "0.5",
    "second": "2nd",
    "third": "3rd",
    "dozen": "12",
}


def root_of(word: str) -> str:
    """The stem of a word, of its verb where it is a noun, of the whole where it is short."""
    return stem(_SAME_ROOT.get(word, word))


def word_class(word: str) -> str:
    """The word that stands for all of the same meaning, as a stem."""
    root = root_of(word)
    return _synonyms().get(root, root)


def opposites_of(meaning: str) -> frozenset[str]:
    """The classes of words that are the opposite of one class."""
    return _opposites().get(meaning, frozenset())


# Stemming a table takes milliseconds, so it waits until a lesson is read.
@cache
def _synonyms() -> Mapping[str, str]:
    """Each word's stem with the stem that stands for its class: that of the line's first word.

    A word of two lines belongs to the first one only, so that classes do not run together.
    """
    table: dict[str, str] = {}
    for line in _SYNONYMS.strip().splitlines():
        words = [stem(word) for word in line.split()]
        for word in words:
            table.setdefault(word, words[0])
    return table


@cache
def _opposites() -> Mapping[str, frozenset[str]]:
    return opposites_by_class(OPPOSITES_EN, word_class)


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
