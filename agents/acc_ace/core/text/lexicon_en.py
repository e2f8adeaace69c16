"""English word lists: stop words, harmless words and synonyms.

`STOP_WORDS` is the stop list of recall, selection and topics. `HARMLESS` is much smaller: only
words that do not change the meaning of an instruction.
"""

from collections.abc import Mapping
from functools import cache
from typing import Final

from acc_ace.core.text.normalize import NUMBER_WORDS
from acc_ace.core.text.patterns import words_of
from acc_ace.core.text.stemmer import stem

STOP_WORDS: Final = words_of(
    """
a about after again all also always am an and any anyone anything are arent as at be because
been before being both but by can cant could couldnt d did didnt do does doesnt doing done dont
during each every everything few for from further get go going got had has have having he her
here hers him his how i i'd if ill im in into is isnt it its ive just let lets like ll m me
might more most must my need never no nor not now of off ok okay on once only or other our ours
out over own per please re s same shall she should shouldnt so some such t than thank thanks
that thats the their theirs them then there these they this those through to too under until up
us use ve very was wasnt we well were werent what whats when where which while who whom why will
with without wont would wouldnt yes you your youre yours
"""
)
"""Words too common to be useful for search or as a topic."""

HARMLESS: Final = words_of(
    """
a an the please kindly you your that is are am be do does must should shall also simply
"""
)
"""Articles, politeness, auxiliaries. No words of condition, scope, direction or permission."""

LINKING: Final = HARMLESS | words_of(
    """
to of for on in at it its this these those we our i use set make keep put choose have apply
configure
"""
)
"""Words that are also ignored between a lesson and its contradiction."""

_SYNONYMS: Final = """
check inspect examine verify
delete remove erase discard
begin start commence
finish complete
choose pick select
show display present
fix repair
gather collect
compute calculate
big large
buy purchase
obtain acquire
reply respond answer
euro eur
dollar usd
change modify alter
retrieve fetch
construct build
cheap inexpensive
quick fast rapid
fail failure
image picture
employee staff
approval permission
nightfall dusk
split divide
latest newest
earlier previous
identical same
run execute
mandatory required compulsory
often frequently
every each
"""
"""Synonyms, one class per line. Words with two relevant meanings are excluded."""

_SAME_ROOT: Final = {
    "deletion": "delete", "confirmation": "confirm", "validation": "validate",
    "verification": "verify", "calculation": "calculate", "explanation": "explain",
    "description": "describe", "modification": "modify", "approved": "approve",
    "done": "do", "migrations": "migration", "e-mail": "email", "emails": "email",
    "e-mails": "email", "prod": "production", "db": "database", "config": "configuration",
    "repo": "repository", "docs": "documentation", "auth": "authentication", "app": "application",
}  # fmt: skip
"""Nouns and abbreviations, mapped to their base word."""

NUMBERS: Final = {word: str(value) for word, value in NUMBER_WORDS.items()} | {
    "twice": "2",
    "thrice": "3",
    "half": "0.5",
    "second": "2nd",
    "third": "3rd",
    "dozen": "12",
}


def root_of(word: str) -> str:
    """The stem of a word; for nouns of verbs and abbreviations, that of the base word."""
    return stem(_SAME_ROOT.get(word, word))


def word_class(word: str) -> str:
    """The stem that represents a word's synonym class."""
    root = root_of(word)
    return _synonyms().get(root, root)


# Stemming a table takes milliseconds, so it is done on first use.
@cache
def _synonyms() -> Mapping[str, str]:
    """Each word's stem, mapped to the stem of the first word of its line."""
    table: dict[str, str] = {}
    for line in _SYNONYMS.strip().splitlines():
        words = [stem(word) for word in line.split()]
        for word in words:
            table.setdefault(word, words[0])
    return table
