"""English words for the comparison of lessons: what carries nothing, what means the same."""

from collections.abc import Mapping
from functools import cache
from typing import Final

from acc_ace.text.numbers_en import NUMBER_WORDS
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
