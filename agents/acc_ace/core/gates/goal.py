"""Rule 3 of the commit gate: the goal survives until the user changes it."""

from typing import NamedTuple

from acc_ace.core.gates.constraints import ConstraintSet
from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.commit import ChangeKind, CommittedState, GoalPin, Repair
from acc_ace.core.schemas.interaction import TurnInput
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.user_words import UserWords
from acc_ace.core.text.normalize import one_line, same_wording
from acc_ace.core.text.tokens import clip_tokens

GOAL_RESTORED = "goal_restored"
GOAL_UNSUPPORTED = "goal_unsupported"

_FIELD = "goal_orientation"
_WRITTEN_CHARS = 2_000
_DETAIL_TOKENS = 32
_QUOTE_TOKENS = 200


class GoalRuling(NamedTuple):
    """The goal after x_t, its pin, and the repairs."""

    text: str
    pin: GoalPin | None
    repairs: tuple[Repair, ...] = ()


def rule_3_goal_survives(
    previous: CommittedState,
    written: str | None,
    words: UserWords,
    turn_input: TurnInput,
    rules: ConstraintSet,
    *,
    limits: Limits,
) -> GoalRuling:
    """Rule 3: the goal is in the user's own words; an existing one changes only by consent.

    Set at once by a line 'Goal: …', by a question that x_t accepts, and by the CCM's quote if
    there is no goal yet. Any other proposal becomes a question. `written` is the CCM's field, or
    None: it sets nothing.
    """
    goal = previous.ccs.goal_orientation
    stated = _stated(previous, words, turn_input, rules)
    if stated:
        pin = goal_pin(stated, turn_input.authority, rules.turn, limits)
        return GoalRuling(pin.text, pin)
    wanted = one_line(written[:_WRITTEN_CHARS]) if written else goal
    if wanted == goal:
        return GoalRuling(goal, previous.goal_pin)
    reason = GOAL_RESTORED if goal else GOAL_UNSUPPORTED
    repair = Repair(field=_FIELD, reason=reason, detail=clip_tokens(wanted, _DETAIL_TOKENS))
    return GoalRuling(goal, previous.goal_pin, (repair,))


def agreed_goal(rules: ConstraintSet, authority: Authority, limits: Limits) -> GoalPin | None:
    """The goal of the accepted question, or None."""
    texts = rules.agreed_goal.texts if rules.agreed_goal is not None else []
    return goal_pin(texts[0], authority, rules.turn, limits) if texts else None


def goal_pin(words: str, authority: Authority, turn: int, limits: Limits) -> GoalPin:
    """The goal in these words, within its budget."""
    return GoalPin(
        text=clip_tokens(one_line(words), limits.goal_tokens),
        authority=authority,
        origin_turn=turn,
        quote=clip_tokens(one_line(words), _QUOTE_TOKENS),
    )


def _stated(
    previous: CommittedState,
    words: UserWords,
    turn_input: TurnInput,
    rules: ConstraintSet,
) -> str:
    """The words that become the goal now, or ''; asks if only the user can decide."""
    if not turn_input.authority.may_rule or not _may_change(previous, turn_input):
        return ""
    if rules.is_command:
        return next(iter(rules.agreed_goal.texts), "") if rules.agreed_goal else ""
    quote, goal = words.goal, previous.ccs.goal_orientation
    if quote is None or rules.is_bare_reply or same_wording(quote.text) == same_wording(goal):
        return ""
    if words.is_goal_stated or not goal:
        return quote.text
    rules.ask(ChangeKind.GOAL, quote.sentence, texts=[quote.text])
    return ""


def _may_change(previous: CommittedState, turn_input: TurnInput) -> bool:
    """Whether the input has enough authority to change the goal."""
    pin = previous.goal_pin
    return pin is None or turn_input.authority.rank >= pin.authority.rank
