"""Propose rule changes by the language rules of English and Japanese.

The embedded model proposes with them, through the same gate as any model; and they stand in for a
model whose reply could not be used.
"""

from collections.abc import Iterator, Sequence

from acc_ace.core.schemas.commit import ChangeKind, ConstraintPin, RuleChange
from acc_ace.core.text.normalize import normalise
from acc_ace.core.text.polarity import negated
from acc_ace.core.text.quoted_spans import mask_quotations
from acc_ace.core.text.rules.goal_detection import detect_goal
from acc_ace.core.text.rules.own_words import own_words
from acc_ace.core.text.rules.possible_changes import possible_changes, unmatched_end
from acc_ace.core.text.rules.possible_rules import (
    is_bound_to_once,
    is_stated,
    may_be_rule,
    tells_of_others,
)
from acc_ace.core.text.rules.rule_detection import RuleSpan, detect_rules
from acc_ace.core.text.sentences import split_clauses


def proposed_changes(
    text: str, pins: Sequence[ConstraintPin], *, has_goal: bool
) -> list[RuleChange]:
    """The rules, releases, amendments and goal that a text seems to state, each with its quote.

    What only may be a rule is proposed as unsure, so that the user is asked.
    """
    changes = list(_changes(text, pins))
    ending = [change.quote for change in changes]
    rules = [
        RuleChange(kind=ChangeKind.ADD, quote=rule.text, sure=_is_sure(rule))
        for rule in detect_rules(text)
        if not any(rule.text in quote or quote in rule.text for quote in ending)
    ]
    taken = [*ending, *(rule.quote for rule in rules)]
    rules += [
        RuleChange(kind=ChangeKind.ADD, quote=clause, sure=False)
        for clause in _possible_rules(text)
        if not any(clause in quote or quote in clause for quote in taken)
    ]
    goal = detect_goal(text)
    stated = goal is not None and (goal.explicit or not has_goal)
    goals = [RuleChange(kind=ChangeKind.GOAL, quote=goal.text)] if goal and stated else []
    return [*changes, *rules, *goals]


def _changes(text: str, pins: Sequence[ConstraintPin]) -> Iterator[RuleChange]:
    """A release or an amendment for each rule that the text may lift or change."""
    changes = possible_changes(text, pins)
    for change in changes:
        yield RuleChange(
            kind=ChangeKind.AMEND if change.alters else ChangeKind.RELEASE,
            quote=change.sentence,
            rule_id=change.rule_id,
            text=change.sentence if change.alters else None,
        )
    if not changes and (unmatched := unmatched_end(text)):
        yield RuleChange(kind=ChangeKind.RELEASE, quote=unmatched)


def _is_sure(rule: RuleSpan) -> bool:
    """Whether a rule that the detector found is one beyond reasonable doubt."""
    text = normalise(rule.sentence)
    return not (tells_of_others(text) or is_bound_to_once(text))


def _possible_rules(text: str) -> Iterator[str]:
    """The clauses that may be rules."""
    for sentence in own_words(text).sentences:
        if is_stated(normalise(mask_quotations(sentence.text))):
            for clause in split_clauses(sentence.text):
                if may_be_rule(normalise(mask_quotations(clause))):
                    yield clause


def fallback_changes(text: str, pins: Sequence[ConstraintPin]) -> list[RuleChange]:
    """Proposals without a usable reply: prohibitions, and changes that become questions."""
    return [
        change
        for change in proposed_changes(text, pins, has_goal=True)
        if change.kind in {ChangeKind.RELEASE, ChangeKind.AMEND}
        or (change.kind is ChangeKind.ADD and negated(change.quote))
    ]
