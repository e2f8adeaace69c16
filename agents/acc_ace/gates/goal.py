"""Rule 3 of the commit gate: the goal survives until the user's words change it."""

from typing import NamedTuple

from acc_ace.gates.user_support import best_support, is_greeting, statements
from acc_ace.schemas.commit import CommittedState, GoalPin, Repair
from acc_ace.schemas.interaction import TurnInput
from acc_ace.schemas.limits import Limits
from acc_ace.text.normalize import one_line
from acc_ace.text.rules.goal_detection import detect_goal
from acc_ace.text.tokens import clip_tokens

GOAL_RESTORED = "goal_restored"
GOAL_UNSUPPORTED = "goal_unsupported"

_FIELD = "goal_orientation"
_PROPOSED_CHARS = 2_000
_DETAIL_TOKENS = 32
_QUOTE_TOKENS = 200


class GoalRuling(NamedTuple):
    """The goal after x_t, its pin, and what was mended."""

    text: str
    pin: GoalPin | None
    repairs: tuple[Repair, ...] = ()


class _Words(NamedTuple):
    """The user's words that state a goal."""

    text: str
    quote: str


def rule_3_goal_survives(
    previous: CommittedState,
    proposed: str | None,
    turn_input: TurnInput,
    *,
    turn: int,
    limits: Limits,
) -> GoalRuling:
    """Rule 3: the goal in the user's words, set when there is none and changed only outright.

    `proposed` is the CCM's goal, or None when there is none.
    """
    standing = previous.ccs.goal_orientation
    wanted = one_line(proposed[:_PROPOSED_CHARS]) if proposed is not None else standing
    words = _stated_goal(standing, wanted, previous, turn_input)
    if words is not None:
        text = clip_tokens(one_line(words.text), limits.goal_tokens)
        pin = GoalPin(
            text=text,
            authority=turn_input.authority,
            origin_turn=turn,
            quote=clip_tokens(one_line(words.quote), _QUOTE_TOKENS),
        )
        return GoalRuling(text, pin)
    if wanted == standing:
        return GoalRuling(standing, previous.goal_pin)
    reason = GOAL_RESTORED if standing else GOAL_UNSUPPORTED
    repair = Repair(field=_FIELD, reason=reason, detail=clip_tokens(wanted, _DETAIL_TOKENS))
    return GoalRuling(standing, previous.goal_pin, (repair,))


def _stated_goal(
    standing: str, wanted: str, previous: CommittedState, turn_input: TurnInput
) -> _Words | None:
    """The words of x_t that set or change the goal, or None when it stays."""
    if not turn_input.authority.may_rule:
        return None
    span = detect_goal(turn_input.text)
    if standing:
        return (
            _Words(span.text, span.quote)
            if _changes(previous, turn_input) and span and span.explicit
            else None
        )
    if span is not None and not is_greeting(one_line(span.text)):
        return _Words(span.text, span.quote)
    support = best_support(wanted, statements(turn_input.text), same_polarity=False)
    return _Words(support.clause, support.clause) if support is not None else None


def _changes(previous: CommittedState, turn_input: TurnInput) -> bool:
    """Whether the speaker ranks high enough to change the standing goal."""
    pin = previous.goal_pin
    return pin is None or turn_input.authority.rank >= pin.authority.rank
