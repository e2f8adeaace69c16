"""English words for the comparison of lessons: what carries nothing, what means the same or not."""

from collections.abc import Mapping
from typing import Final

from core.domain.language.numbers_en import NUMBER_WORDS
from core.domain.stem import stem

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
_IRREGULAR: Final = {
    "written": "write", "wrote": "write", "sent": "send", "kept": "keep", "built": "build",
    "found": "find", "chosen": "choose", "chose": "choose", "begun": "begin", "began": "begin",
    "given": "give", "gave": "give", "taken": "take", "took": "take", "shown": "show",
    "known": "know", "met": "meet", "left": "left", "lost": "lose", "told": "tell",
    "bought": "buy", "paid": "pay", "held": "hold", "broken": "break", "meant": "mean",
    "drawn": "draw", "done": "do", "got": "get", "gotten": "get", "ran": "run", "read": "read",
    "said": "say", "seen": "see", "saw": "see", "spent": "spend", "thought": "think",
    "deletion": "delete", "confirmation": "confirm", "validation": "validate",
    "verification": "verify", "calculation": "calculate", "explanation": "explain",
    "description": "describe", "modification": "modify", "approved": "approve",
    "migrations": "migration", "e-mail": "email", "emails": "email", "e-mails": "email",
    "prod": "production", "db": "database", "config": "configuration", "repo": "repository",
    "docs": "documentation", "auth": "authentication", "app": "application",
}  # fmt: skip
_ANTONYMS: Final = """
enable disable
on off
increase decrease
raise lower
ascending descending
open close
accept reject
allow forbid
allowed forbidden
start stop
long short
minimum maximum
min max
encrypt decrypt
lock unlock
show hide
previous next
first last
north south
east west
newest oldest
new old
newer older
include exclude
synchronous asynchronous
up down
subtract add
upload download
debit credit
optional required
left right
private public
high low
more fewer
more less
top bottom
internal external
inside outside
input output
read write
buy sell
push pull
import export
widen narrow
offer deny
approve deny
all none
all some
every some
always sometimes
many few
hot cold
early late
positive negative
success failure
present absent
attach detach
mount unmount
expand collapse
grow shrink
gain loss
profit loss
asset liability
income expense
warm cold
strong weak
safe unsafe
valid invalid
visible invisible
known unknown
empty full
fast slow
cheap expensive
best worst
same different
local remote
online offline
before after
atleast atmost
morethan lessthan
"""
"""Pairs that turn a lesson into its opposite. Comparisons stand here as one word."""

NUMBERS: Final = {word: str(value) for word, value in NUMBER_WORDS.items()} | {
    "twice": "2",
    "thrice": "3",
    "half": "0.5",
    "second": "2nd",
    "third": "3rd",
    "dozen": "12",
}


def _table(lines: str) -> dict[str, str]:
    """Each word's stem with the stem that stands for its class: that of the line's first word.

    A word of two lines belongs to the first one only, so that classes do not run together.
    """
    table: dict[str, str] = {}
    for line in lines.strip().splitlines():
        words = [stem(word) for word in line.split()]
        for word in words:
            table.setdefault(word, words[0])
    return table


def _opposites(lines: str) -> dict[str, frozenset[str]]:
    """Each class with the classes of its opposites."""
    table: dict[str, set[str]] = {}
    for line in lines.strip().splitlines():
        one, other = (SYNONYMS.get(stem(word), stem(word)) for word in line.split())
        table.setdefault(one, set()).add(other)
        table.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in table.items()}


SYNONYMS: Final[Mapping[str, str]] = _table(_SYNONYMS)
OPPOSITES: Final[Mapping[str, frozenset[str]]] = _opposites(_ANTONYMS)
IRREGULAR: Final[Mapping[str, str]] = _IRREGULAR
