"""What becomes of the constraints that a CCM proposes: pointers to the user's words, or nothing."""

from collections.abc import Sequence

from acc_ace.gates.constraint_set import ConstraintRuling
from acc_ace.gates.user_support import Support, best_support, shared, statements, within_any
from acc_ace.schemas.commit import Repair
from acc_ace.schemas.interaction import TurnInput
from acc_ace.text.plain_text import one_line
from acc_ace.text.rules.rule_changes import unmatched_release
from acc_ace.text.tokens import clip_tokens, estimate_tokens
from acc_ace.text.words import content_words

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
