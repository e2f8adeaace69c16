"""A CCM is believed as far as it earns it: what it says of rules is held against the reader.

Counted are only sentences on which the reader is certain. A mark is a letter: 'n' and 'N' for a
sentence that is certainly none, left alone or called something; 's' and 'S' for one that very
surely is a rule, pointed at or passed over. Capitals are errors of the CCM.
"""

from collections.abc import Sequence
from typing import Final

from acc_ace.core.schemas.commit import CompressorReply
from acc_ace.core.schemas.interaction import TurnInput
from acc_ace.core.text.rules.mentions import readings
from acc_ace.core.text.rules.own_words import own_words
from acc_ace.core.text.rules.reader import knows
from acc_ace.core.text.rules.reading import Trust

_KINDS: Final = ("nN", "sS")
_NEWEST = 20
_FEWEST = 5
_MOST_WRONG = 0.25
_USERS = 10
_OF_A_USER = 2


def marks_of(x_t: TurnInput, reply: CompressorReply) -> str:
    """The marks of a reply about the sentences of x_t, in order."""
    if not x_t.authority.may_rule or not knows(x_t.text):
        return ""
    own = own_words(x_t.text)
    pointed = [
        quote.sentence
        for change in reply.rule_changes or ()
        for quote in own.pointed(change.number, change.quote)
    ]
    marks = ""
    for sentence, reading in readings(own):
        is_named = any(sentence in each or each in sentence for each in pointed)
        if reading.is_certainly_none:
            marks += "N" if is_named else "n"
        elif reading.is_very_sure:
            marks += "s" if is_named else "S"
    return marks


def trust_in(own: str, others: Sequence[str]) -> Trust:
    """How far a CCM is believed, by its marks with this user and with others of the app.

    Too wrong is more than a quarter of the newest 20 marks of a kind with this user, from the
    fifth on; or of ten users or more, two marks of each at most.
    """
    for kind in _KINDS:
        mine = [mark for mark in own if mark in kind][-_NEWEST:]
        if len(mine) >= _FEWEST and _wrong(mine) > _MOST_WRONG:
            return Trust.DOUBTED
        each = [[mark for mark in marks if mark in kind][-_OF_A_USER:] for marks in (own, *others)]
        counted = [marks for marks in each if marks]
        if len(counted) >= _USERS and _wrong([m for marks in counted for m in marks]) > _MOST_WRONG:
            return Trust.DOUBTED
    return Trust.BELIEVED


def _wrong(marks: Sequence[str]) -> float:
    return sum(mark.isupper() for mark in marks) / len(marks)
