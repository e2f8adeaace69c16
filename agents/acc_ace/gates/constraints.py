"""Rule 2 of the commit gate: constraints survive until the user's words release them.

A pin's text is always the user's own words. A model only points at them: what it proposes is
pinned as the clause of x_t that bears it out, and what it drops or rewords is put back.
"""

from collections.abc import Sequence

from acc_ace.gates.constraint_proposals import judge_proposals
from acc_ace.gates.constraint_set import ConstraintRuling
from acc_ace.gates.release_hints import how_to_release, names_constraint
from acc_ace.gates.user_support import shared, within_any
from acc_ace.schemas.commit import CommittedState, ConstraintPin, Release
from acc_ace.schemas.interaction import TurnInput
from acc_ace.text.plain_text import one_line
from acc_ace.text.rules.rule_changes import (
    ChangeKind,
    RuleChange,
    detect_changes,
    unmatched_release,
)
from acc_ace.text.rules.rule_detection import detect_rules
from acc_ace.text.similarity import same_wording
from acc_ace.text.words import content_words

_SAME_RULE = 0.6
"""Share of a pin's words from which a text within the words that release it is that pin."""


def settle_constraints(
    previous: CommittedState,
    proposed: Sequence[str] | None,
    turn_input: TurnInput,
    *,
    turn: int,
    budget: int,
) -> ConstraintRuling:
    """Constraints after x_t: released and amended by its words only, restored otherwise.

    `proposed` is the CCM's list, or None when there is none. What x_t states outright is pinned
    whatever its length, for the caller to refuse; what only the CCM points at is pinned while
    it fits `budget` tokens and told in a warning otherwise, so that no model can fail a turn.
    """
    ruling = ConstraintRuling(pins=list(previous.pins), next_pin=previous.next_pin)
    if turn_input.authority.may_rule:
        _apply_changes(ruling, turn_input, turn=turn)
        unmatched = unmatched_release(turn_input.text, previous.pins)
        _pin_rules(ruling, turn_input, unmatched, turn=turn)
        if unmatched and (previous.pins or names_constraint(unmatched)):
            ruling.warnings.append(how_to_release(turn_input.text, unmatched, ruling.pins))
    if proposed is not None:
        judge_proposals(ruling, proposed, turn_input, turn=turn, budget=budget)
    return ruling


def _apply_changes(ruling: ConstraintRuling, turn_input: TurnInput, *, turn: int) -> None:
    """Release and amend what x_t names."""
    before = tuple(ruling.pins)
    for change in detect_changes(turn_input.text, before):
        pin = next((pin for pin in ruling.pins if pin.id == change.constraint_id), None)
        if pin is None:
            continue
        if turn_input.authority.rank < pin.authority.rank:
            ruling.warnings.append(
                f"{pin.id} was set with {pin.authority.value} authority and stays; "
                f"{turn_input.authority.value} words cannot change it"
            )
            continue
        _change(ruling, pin, change, turn_input, turn=turn)


def _change(
    ruling: ConstraintRuling,
    pin: ConstraintPin,
    change: RuleChange,
    turn_input: TurnInput,
    *,
    turn: int,
) -> None:
    if change.kind is ChangeKind.RELEASE:
        ruling.release(pin, change.quote)
        return
    if not change.new_text or same_wording(change.new_text) == same_wording(pin.text):
        return
    successor = ruling.pin(change.new_text, change.quote, turn_input, turn=turn)
    if successor is None:
        # The new wording stands already as another constraint, or says nothing.
        successor = ruling.standing(change.new_text)
    if successor is not None:
        ruling.release(pin, change.quote, replaced_by=successor)


def _pin_rules(
    ruling: ConstraintRuling, turn_input: TurnInput, unmatched: str | None, *, turn: int
) -> None:
    """Pin the rules that x_t states; words that would end rules state none."""
    for span in detect_rules(turn_input.text):
        plain = one_line(span.text)
        if unmatched and _says_only(plain, one_line(unmatched)):
            continue
        if not _spoken_of(plain, ruling):
            ruling.pin(plain, span.sentence, turn_input, turn=turn)


def _spoken_of(plain: str, ruling: ConstraintRuling) -> bool:
    """Whether a text is how x_t names a constraint that it releases or amends."""
    if any(_names_released(plain, release) for release in ruling.released):
        return True
    amending = {release.replaced_by for release in ruling.released}
    return any(within_any(plain, [pin.text]) for pin in ruling.added if pin.id in amending)


def _names_released(plain: str, release: Release) -> bool:
    if _says_only(plain, release.quote):
        return True
    likeness = shared(content_words(release.text), content_words(plain))
    return plain in release.quote and likeness >= _SAME_RULE


def _says_only(plain: str, quote: str) -> bool:
    """Whether a text says what the quote says and lays down nothing beside it."""
    if plain == quote:
        return True
    # What the sentence goes on with may be a rule of its own.
    return quote in plain and not detect_rules(plain.replace(quote, " "))
