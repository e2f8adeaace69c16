"""Rule 2 of the commit gate: constraints survive until the user's words release them.

A pin's text is always the user's own words. A model only points at them: what it proposes is
pinned as the clause of x_t that bears it out, and what it drops or rewords is put back.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from core.domain.gate.support import Clause, Support, best_support, shared, statements, within_any
from core.domain.language.rule_changes import (
    ChangeKind,
    RuleChange,
    detect_changes,
    unmatched_release,
)
from core.domain.language.rule_detection import detect_rules
from core.domain.language.words import content_words
from core.domain.plain_text import one_line
from core.domain.similarity import has_words, same_wording
from core.domain.tokens import clip_tokens, estimate_tokens
from schemas.commit import CommittedState, ConstraintPin, Release, Repair
from schemas.interaction import TurnInput

CONSTRAINT_RESTORED = "constraint_restored"
CONSTRAINT_UNSUPPORTED = "constraint_unsupported"
CONSTRAINT_OVER_BUDGET = "over_budget"

_MAX_PROPOSED = 64
"""Proposed constraints that are looked at."""

_PROPOSED_CHARS = 2_000
_DETAIL_TOKENS = 32
_QUOTE_TOKENS = 200
_SAME_RULE = 0.6
"""Share of a pin's words from which a text within the words that release it is that pin."""


@dataclass
class ConstraintRuling:
    """The constraints of one turn while they are being settled."""

    pins: list[ConstraintPin]
    next_pin: int
    added: list[ConstraintPin] = field(default_factory=list)
    released: list[Release] = field(default_factory=list)
    repairs: list[Repair] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    _ids: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self._ids = {same_wording(pin.text): pin.id for pin in self.pins}

    def pin(self, text: str, quote: str, turn_input: TurnInput, *, turn: int) -> str | None:
        """Add a constraint unless it stands already; its id, or None."""
        plain = one_line(text)
        if not has_words(plain) or self.standing(plain) is not None:
            return None
        pin = ConstraintPin(
            id=f"c-{self.next_pin:04d}",
            text=plain,
            authority=turn_input.authority,
            origin_turn=turn,
            quote=clip_tokens(one_line(quote), _QUOTE_TOKENS),
        )
        self.next_pin += 1
        self.pins.append(pin)
        self.added.append(pin)
        self._ids[same_wording(plain)] = pin.id
        return pin.id

    def standing(self, text: str) -> str | None:
        """The id of the active constraint in these words, or None."""
        return self._ids.get(same_wording(text))

    def release(self, pin: ConstraintPin, quote: str, *, replaced_by: str | None = None) -> None:
        """Take a constraint out, recording the words that did it."""
        self.pins.remove(pin)
        self._ids.pop(same_wording(pin.text), None)
        said = clip_tokens(one_line(quote), _QUOTE_TOKENS)
        self.released.append(Release(id=pin.id, text=pin.text, quote=said, replaced_by=replaced_by))


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
    clauses: tuple[Clause, ...] = ()
    if turn_input.authority.may_rule:
        _apply_changes(ruling, turn_input, turn=turn)
        _pin_rules(ruling, turn_input, turn=turn)
        clauses = _unclaimed(statements(turn_input.text) if proposed else (), ruling)
    if proposed is not None:
        _judge_proposals(ruling, proposed, clauses, turn_input, turn=turn, budget=budget)
        _note_restored(ruling, proposed)
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
    unmatched = unmatched_release(turn_input.text, before) if before else None
    if unmatched:
        ruling.warnings.append(
            f"nothing was released by '{clip_tokens(one_line(unmatched), _DETAIL_TOKENS)}': "
            f"name one constraint by its id, for example 'release {before[0].id}'"
        )


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


def _pin_rules(ruling: ConstraintRuling, turn_input: TurnInput, *, turn: int) -> None:
    """Pin the rules that x_t states."""
    for span in detect_rules(turn_input.text):
        if not _spoken_of(span.text, ruling):
            ruling.pin(span.text, span.sentence, turn_input, turn=turn)


def _spoken_of(text: str, ruling: ConstraintRuling) -> bool:
    """Whether a text is how x_t names a constraint that it releases or amends."""
    plain = one_line(text)
    if any(_names_released(plain, release) for release in ruling.released):
        return True
    amending = {release.replaced_by for release in ruling.released}
    return any(within_any(plain, [pin.text]) for pin in ruling.added if pin.id in amending)


def _names_released(plain: str, release: Release) -> bool:
    if plain != release.quote and release.quote in plain:
        # The sentence goes on after the release; what it goes on with may be a rule of its own.
        return not detect_rules(plain.replace(release.quote, " "))
    likeness = shared(content_words(release.text), content_words(plain))
    return plain == release.quote or (plain in release.quote and likeness >= _SAME_RULE)


def _unclaimed(clauses: Sequence[Clause], ruling: ConstraintRuling) -> tuple[Clause, ...]:
    """The clauses that neither set nor change a constraint already."""
    pinned = [pin.text for pin in ruling.added]
    quotes = [release.quote for release in ruling.released]
    return tuple(
        clause
        for clause in clauses
        if not within_any(clause.text, pinned) and not within_any(clause.text, quotes)
    )


def _asks_release(support: Support, ruling: ConstraintRuling) -> bool:
    """Whether the clause would end some rule rather than set one."""
    return unmatched_release(support.clause, ruling.pins) is not None


def _judge_proposals(
    ruling: ConstraintRuling,
    proposed: Sequence[str],
    clauses: Sequence[Clause],
    turn_input: TurnInput,
    *,
    turn: int,
    budget: int,
) -> None:
    """Pin the user's clause behind each new proposal; drop proposals that have none."""
    left = budget - sum(estimate_tokens(pin.text) for pin in ruling.pins)
    for item in proposed[:_MAX_PROPOSED]:
        text = one_line(item[:_PROPOSED_CHARS])
        if not text or ruling.standing(text) is not None:
            continue
        words = content_words(text)
        likeness = max((shared(words, content_words(pin.text)) for pin in ruling.pins), default=0.0)
        support = best_support(text, clauses)
        if support is None or support.share <= likeness or _asks_release(support, ruling):
            if likeness < _SAME_RULE:
                ruling.repairs.append(_repair(CONSTRAINT_UNSUPPORTED, text))
            continue
        cost = estimate_tokens(support.clause)
        if cost > left:
            ruling.repairs.append(_repair(CONSTRAINT_OVER_BUDGET, support.clause))
            ruling.warnings.append(_no_room(support.clause))
        elif ruling.pin(support.clause, support.clause, turn_input, turn=turn) is not None:
            left -= cost


def _repair(reason: str, text: str) -> Repair:
    return Repair(field="constraints", reason=reason, detail=clip_tokens(text, _DETAIL_TOKENS))


def _no_room(clause: str) -> str:
    return (
        f"'{clip_tokens(clause, _DETAIL_TOKENS)}' may be a rule, but the constraints' budget has "
        "no room for it; say it as a rule of its own, release another, or raise "
        "ACC_ACE_LIMITS__CONSTRAINTS_TOKENS"
    )


def _note_restored(ruling: ConstraintRuling, proposed: Sequence[str]) -> None:
    """Note each earlier constraint that the proposal does not hold word for word."""
    kept = {one_line(item[:_PROPOSED_CHARS]) for item in proposed[:_MAX_PROPOSED]}
    fresh = {pin.id for pin in ruling.added}
    ruling.repairs.extend(
        Repair(field="constraints", reason=CONSTRAINT_RESTORED, detail=pin.id)
        for pin in ruling.pins
        if pin.id not in fresh and pin.text not in kept
    )
