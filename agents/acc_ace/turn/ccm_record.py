"""A CCM is believed as far as it earns it: what it says of rules is compared with the reader's.

Counted are only sentences on which the reader is certain. A mark is a letter: 'n' and 'N' for one
that certainly binds nothing and seems to loosen nothing, left alone or called something; 's' and
'S' for one that very surely is a rule, pointed at or passed over. Capitals are errors of the CCM.
They are written with the turn's commit, and an undo leaves them: they say nothing of the user.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Self

from acc_ace.core.schemas.commit import CompressorReply
from acc_ace.core.schemas.interaction import TurnInput
from acc_ace.core.text.rules.mentions import readings
from acc_ace.core.text.rules.own_words import own_words
from acc_ace.core.text.rules.reader import Trust, knows
from acc_ace.turn.ports import Ccm, CcmMarks

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
        if reading.is_certainly_none and not reading.loosens_alone:
            marks += "N" if is_named else "n"
        elif reading.reaches("very_sure"):
            marks += "s" if is_named else "S"
    return marks


def trust_in(ccm: Ccm, user: str, records: Sequence[CcmMarks]) -> Trust:
    """How far a CCM is believed, by its marks with this user and with others of the app.

    Too wrong is more than a quarter of the newest 20 marks of a kind with this user, from the
    fifth on; or of ten users or more, two marks of each at most. Until there are as many marks of
    rules, it has not proved that it finds them.
    """
    of_none, of_rules = counts(ccm, user, records)
    if any(count.is_too_wrong for count in (*of_none, *of_rules)):
        return Trust.DOUBTED
    return Trust.BELIEVED if any(each.is_enough for each in of_rules) else Trust.UNPROVED


class Count(NamedTuple):
    """Marks of one kind that count, and whether they are enough to judge by."""

    wrong: int
    among: int
    is_enough: bool

    @classmethod
    def of(cls, marks: Sequence[str], *, is_enough: bool) -> Self:
        """The count of marks."""
        return cls(sum(mark.isupper() for mark in marks), len(marks), is_enough)

    @property
    def is_too_wrong(self) -> bool:
        """Whether a CCM with such marks is not believed."""
        return self.is_enough and self.wrong > _MOST_WRONG * self.among


def counts(ccm: Ccm, user: str, records: Sequence[CcmMarks]) -> list[tuple[Count, Count]]:
    """Of sentences that are none, then of rules: the marks with this user, and with all."""
    # What was counted before endpoints were told apart has none.
    marks = {each.user: each.marks for each in records if each.ccm in {ccm, Ccm(ccm.model)}}
    return [_counts(kind, marks.get(user, ""), marks.values()) for kind in _KINDS]


def _counts(kind: str, own: str, everyone: Iterable[str]) -> tuple[Count, Count]:
    mine = [mark for mark in own if mark in kind][-_NEWEST:]
    each = [[mark for mark in marks if mark in kind][-_OF_A_USER:] for marks in everyone]
    users = sum(map(bool, each))
    return (
        Count.of(mine, is_enough=len(mine) >= _FEWEST),
        Count.of([mark for marks in each for mark in marks], is_enough=users >= _USERS),
    )
