"""Stem English words, so that 'restarted' matches 'restarts'.

Step 1 of M. F. Porter, "An algorithm for suffix stripping" (1980), a few long suffixes, and
irregular verbs. Snowball's English stemmer cuts more and finds less: see docs/benchmarks.md.
Stems are for matching only and never shown.
"""

from functools import lru_cache

from acc_ace.core.text.patterns import lazy_pattern

_ENGLISH = lazy_pattern(r"[a-z]{3,40}")
_VOWEL = lazy_pattern(r"[aeiouy]")
_DOUBLE = lazy_pattern(r"(?<=..)([^aeioulsz])\1$")
_NUMBER = lazy_pattern(r"(\d+)s")
_LONG_SUFFIXES = {"ment": 4, "ness": 4, "ion": 5, "ly": 4}
"""Each suffix with the minimum length of the rest: 'deletion' is cut, 'station' is not."""
_NO_PLURALS = frozenset({"https", "ftps", "ldaps", "imaps", "smtps"})
_IRREGULAR_VERBS = """
begin began begun
bite bit bitten
blow blew blown
break broke broken
bring brought
build built
buy bought
catch caught
choose chose chosen
come came
deal dealt
draw drew drawn
drink drank drunk
drive drove driven
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
find found
fly flew flown
forget forgot forgotten
freeze froze frozen
get got gotten
give gave given
go went gone
grow grew grown
hear heard
hide hid hidden
hold held
keep kept
know knew known
lead led
lend lent
lose lost
make made
mean meant
meet met
pay paid
ride rode ridden
rise rose risen
run ran
say said
see saw seen
seek sought
sell sold
send sent
shake shook shaken
show shown
sing sang sung
sit sat
sleep slept
speak spoke spoken
spend spent
stand stood
steal stole stolen
swim swam swum
take took taken
teach taught
tell told
think thought
throw threw thrown
understand understood
wake woke woken
wear wore worn
win won
write wrote written
"""
_IRREGULAR = {
    form: forms[0]
    for forms in (line.split() for line in _IRREGULAR_VERBS.strip().splitlines())
    for form in forms[1:]
}
"""Irregular verb forms, mapped to their verb."""


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """The stem of a lower-case English word, or of '503s'; any other text unchanged."""
    number = _NUMBER.fullmatch(word)
    if number:
        return number[1]
    if word in _NO_PLURALS or not _ENGLISH.fullmatch(word):
        return word
    return _without_end(_without_long_suffix(_without_tense(_singular(_IRREGULAR.get(word, word)))))


def _singular(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _without_tense(word: str) -> str:
    for suffix in ("ing", "ed"):
        head = word.removesuffix(suffix)
        if head != word and len(head) >= 3 and _VOWEL.search(head):
            return _DOUBLE.sub(r"\1", head)
    return word


def _without_long_suffix(word: str) -> str:
    for suffix, letters in _LONG_SUFFIXES.items():
        head = word.removesuffix(suffix)
        if head != word and len(head) >= letters:
            return head
    return word


def _without_end(word: str) -> str:
    if word.endswith("ll") and len(word) > 4:
        return word[:-1]
    if word.endswith("e") and len(word) > 4:
        return word[:-1]
    if word.endswith("y") and len(word) > 3:
        return word[:-1] + "i"
    return word
