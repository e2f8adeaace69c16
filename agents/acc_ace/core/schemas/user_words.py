"""What was read out of x_t before the commit gate: own words, where quotes stand, contradictions.

The language room builds it, and the gate decides by it. It has no authority of its own.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from acc_ace.core.schemas.commit import ConstraintPin, RuleChange


class OwnQuote(NamedTuple):
    """Words of x_t that are the speaker's own, verbatim; `doubtful` if only the user can say so."""

    text: str
    sentence: str
    doubtful: bool = False


class QuotedChange(NamedTuple):
    """A proposal about rules or the goal, and the user's own words that it points at."""

    change: RuleChange
    quotes: tuple[OwnQuote, ...]
    """Empty where it quotes no words of the user's own."""
    wording: OwnQuote | None
    """The new wording of a change, if the user said it."""


class UserWords(NamedTuple):
    """x_t as it was read for the gate."""

    against: Callable[[Sequence[ConstraintPin]], Callable[[str], bool]]
    """Of rules: whether a text orders or permits what one of them forbids, or lifts it."""
    mixed: bool = False
    """Whether it carries somebody else's words, or might."""
    rules: tuple[OwnQuote, ...] = ()
    """What lines such as 'Rule: …' say."""
    goal: OwnQuote | None = None
    """What a line 'Goal: …' says."""
    changes: tuple[QuotedChange, ...] = ()
    unread: tuple[str, ...] = ()
    """Sentences that may be rules and that no usable proposal points at; '' is none."""
