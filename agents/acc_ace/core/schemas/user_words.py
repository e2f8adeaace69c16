"""What was read out of x_t before the commit gate: what binds, what loosens, what is not kept.

The language room builds it, and the gate decides by it. It has no authority of its own.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

from acc_ace.core.schemas.commit import ChangeKind, ConstraintPin


class OwnQuote(NamedTuple):
    """Words of x_t that are the speaker's own, verbatim, and the sentence that they stand in."""

    text: str
    sentence: str


class Loosening(NamedTuple):
    """Own words that permit something, or lift or change a rule: they wait for consent."""

    kind: ChangeKind
    quote: OwnQuote
    rule_id: str | None = None
    wording: str = ""
    """The rule's new wording, whole; empty where nobody gave one."""


class WhyUnkept(StrEnum):
    """Why words that sound like a rule are no rule."""

    UNSURE = "unsure"
    """They may be a rule; nobody who is believed says so."""
    NO_ROOM = "no_room"
    UNREADABLE = "unreadable"
    """What the CCM says of them cannot be used."""
    NO_WORDING = "no_wording"
    """They change a rule, and the new wording is missing."""
    NO_RULE = "no_rule"
    """They end or change a rule that is not in force."""
    LANGUAGE = "language"
    """They, or others of the message, may be a rule in a language that nobody here reads."""
    OTHERS = "others"
    """They are somebody else's."""


class Unkept(NamedTuple):
    """Words of x_t that sound like a rule and are not kept, which the answer says."""

    words: str
    why: WhyUnkept
    rule_id: str | None = None
    is_listed: bool = False
    """Whether a session says it once, and then only lists what may be a rule."""


class Late(StrEnum):
    """Why words are read apart: in a later turn than they were said in, or as a part of more."""

    UNANSWERED = "unanswered"
    UNREAD = "unread"
    PIECE = "piece"
    """Of a long message of this turn."""


class UserWords(NamedTuple):
    """x_t as it was read for the gate."""

    against: Callable[[Sequence[ConstraintPin]], Callable[[str], bool]]
    """Of rules: whether a text orders or permits what one of them forbids, or lifts it."""
    rules: tuple[OwnQuote, ...] = ()
    """What lines such as 'Rule: …' say."""
    binding: tuple[OwnQuote, ...] = ()
    """What binds the agent more, in the order in which it was said."""
    loosening: tuple[Loosening, ...] = ()
    goal: OwnQuote | None = None
    is_goal_stated: bool = False
    """Whether a line 'Goal: …' says it."""
    again: tuple[str, ...] = ()
    """The ids of rules in force that it says again in other words."""
    unkept: tuple[Unkept, ...] = ()
    misquoted: tuple[str, ...] = ()
    """Quotes of the CCM that are no words of the user's own."""
    consent: tuple[str, bool] | None = None
    """The open question that x_t as a whole answers by naming its change, and how."""
    answered: tuple[str, ...] = ()
    """The open questions that it seems to answer and does not settle."""
    is_bare_reply: bool = False
    """Whether it only says yes or no, and not to what: it settles and states nothing."""
    is_part_consent: bool = False
    """Whether some of it is an answer to an open question, which settles nothing."""
    late: Late | None = None
    """Said in an earlier turn, or part of a message: it is no command and no consent."""
