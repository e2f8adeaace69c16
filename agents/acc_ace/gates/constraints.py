"""Rule 2 of the commit gate: constraints survive until the user's words release them.

What a CCM proposes are pointers to the user's words; a proposal that no words of the user bear
out becomes nothing, and says why.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from acc_ace.gates.rule_hints import how_to_release, names_constraint
from acc_ace.gates.user_support import Support, best_support, shared, statements, within_any
from acc_ace.schemas.commit import CommittedState, ConstraintPin, Release, Repair
from acc_ace.schemas.interaction import TurnInput
from acc_ace.text.normalize import one_line
from acc_ace.text.rules.rule_changes import (
    ChangeKind,
    RuleChange,
    detect_changes,
    unmatched_release,
)
from acc_ace.text.rules.rule_detection import detect_rules
from acc_ace.text.similarity import content_words, has_words, same_wording
from acc_ace.text.tokens import clip_tokens, estimate_tokens

_QUOTE_TOKENS = 200
"""Of the sentence that a pin keeps for as long as it stands."""

_QUOTE_CHARS = 2_000
"""Of the words that a release records; no sentence is longer."""


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
        said = one_line(quote[:_QUOTE_CHARS])
        self.released.append(Release(id=pin.id, text=pin.text, quote=said, replaced_by=replaced_by))


CONSTRAINT_RESTORED = "constraint_restored"
CONSTRAINT_UNSUPPORTED = "constraint_unsupported"
CONSTRAINT_OVER_BUDGET = "over_budget"

_MAX_NEW = 64
"""Proposed constraints, beyond as many as stand, that are looked at."""

_PROPOSED_CHARS = 2_000
_DETAIL_TOKENS = 32

_REWORDED = 0.6
"""Share of a proposal's words in a standing constraint from which it is a rewording of it."""


def judge_proposals(
    ruling: ConstraintRuling,
    proposed: Sequence[str],
    turn_input: TurnInput,
    *,
    turn: int,
    budget: int,
) -> None:
    """Settle what the CCM proposed, after the input's own rules and releases are settled.

    A proposal that a clause of x_t bears out is pinned as that clause if it fits `budget` tokens;
    others are dropped. Each earlier constraint that is missing word for word is noted as restored.
    """
    texts = [one_line(item[:_PROPOSED_CHARS]) for item in proposed[: len(ruling.pins) + _MAX_NEW]]
    _note_restored(ruling, texts)
    fresh = [text for text in texts if text and ruling.standing(text) is None]
    if fresh:
        _Docket(ruling, turn_input, turn=turn, budget=budget).judge(fresh)


def _note_restored(ruling: ConstraintRuling, texts: Sequence[str]) -> None:
    kept = frozenset(texts)
    added = {pin.id for pin in ruling.added}
    ruling.repairs.extend(
        Repair(field="constraints", reason=CONSTRAINT_RESTORED, detail=pin.id)
        for pin in ruling.pins
        if pin.id not in added and pin.text not in kept
    )


class _Docket:
    """New proposals of one turn, with what judging them needs."""

    def __init__(
        self, ruling: ConstraintRuling, turn_input: TurnInput, *, turn: int, budget: int
    ) -> None:
        self._ruling = ruling
        self._input = turn_input
        self._turn = turn
        self._left = budget - sum(estimate_tokens(pin.text) for pin in ruling.pins)
        self._standing = [content_words(pin.text) for pin in ruling.pins]
        taken = [pin.text for pin in ruling.added]
        taken += [release.quote for release in ruling.released]
        said = statements(turn_input.text) if turn_input.authority.may_rule else ()
        # A clause that sets or changes a constraint already is not another one.
        self._clauses = [clause for clause in said if not within_any(clause.text, taken)]
        self._ending: dict[str, bool] = {}

    def judge(self, texts: Sequence[str]) -> None:
        """Pin the clause behind each text; drop the text that has none."""
        for text in texts:
            words = content_words(text)
            likeness = max((shared(words, standing) for standing in self._standing), default=0.0)
            support = best_support(text, self._clauses)
            if support is not None and support.share > likeness and not self._ends_rule(support):
                self._pin(support.clause)
            elif likeness < _REWORDED:
                self._ruling.repairs.append(_repair(CONSTRAINT_UNSUPPORTED, text))

    def _ends_rule(self, support: Support) -> bool:
        """Whether the clause would end some rule rather than set one."""
        clause = support.clause
        # Many proposals may point at one clause; it is held against every pin only once.
        if clause not in self._ending:
            self._ending[clause] = unmatched_release(clause, self._ruling.pins) is not None
        return self._ending[clause]

    def _pin(self, clause: str) -> None:
        cost = estimate_tokens(clause)
        if cost > self._left:
            self._ruling.repairs.append(_repair(CONSTRAINT_OVER_BUDGET, clause))
            self._ruling.warnings.append(_no_room(clause))
        elif self._ruling.pin(clause, clause, self._input, turn=self._turn) is not None:
            self._left -= cost


def _repair(reason: str, text: str) -> Repair:
    return Repair(field="constraints", reason=reason, detail=clip_tokens(text, _DETAIL_TOKENS))


def _no_room(clause: str) -> str:
    return (
        f"'{clip_tokens(clause, _DETAIL_TOKENS)}' may be a rule, but the constraints' budget has "
        "no room for it; say it as a rule of its own, release another, or raise "
        "ACC_ACE_LIMITS__CONSTRAINTS_TOKENS"
    )


_SAME_RULE = 0.6
"""Share of a pin's words from which a text within the words that release it is that pin."""


def rule_2_constraints_survive(
    previous: CommittedState,
    proposed: Sequence[str] | None,
    turn_input: TurnInput,
    *,
    turn: int,
    budget: int,
) -> ConstraintRuling:
    """Rule 2: constraints are released and amended by the words of x_t only, restored otherwise.

    `proposed` is the CCM's list, or None when there is none. What x_t states outright is pinned
    whatever its length, for the caller to refuse; what only the CCM points at is pinned while
    it fits `budget` tokens and reported in a warning otherwise, so that no model can fail a turn.
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
