"""The commit gate: turn any CCM output into a CCS that satisfies the five commit rules.

Deterministic code between the CCM and the Generator (step 4 of Algorithm 1, the commit of CCS_t).
The CCM proposes and code decides, so a weak or hostile model can only add or propose. `commit`
applies `RULES`, one function per number: rule 5 first, which decides whether the proposal is used
at all, then 2, 3 and 4 on its parts, and rule 1 last, which bounds the result.
"""

from dataclasses import dataclass
from typing import Final

from acc_ace.core.gates.ccs_budget import fit_fields, fit_text, over_budget, rule_1_bounded
from acc_ace.core.gates.consent_notes import (
    MOST_NOT_KEPT_CHARS,
    consent_notes,
    no_change_notes,
    not_kept,
)
from acc_ace.core.gates.constraints import rule_2_constraints_survive
from acc_ace.core.gates.goal import rule_3_goal_survives
from acc_ace.core.gates.grounding import obey
from acc_ace.core.gates.references import NO_EVIDENCE, Evidence, rule_4_grounded
from acc_ace.core.schemas.ccs import CCS_FIELDS, CompressedCognitiveState
from acc_ace.core.schemas.commit import (
    CcsDiff,
    CommittedState,
    Repair,
)
from acc_ace.core.schemas.interaction import TurnInput
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.user_words import UserWords, WhyUnkept

KEPT_MARK = "state not updated this turn: the compressor gave nothing usable"
"""Prefix of the uncertainty signal when the previous content was kept."""

FIELD_RESTORED = "field_restored"

_MAY_BIND: Final = (WhyUnkept.UNSURE, WhyUnkept.NO_ROOM, WhyUnkept.UNREADABLE)


@dataclass(frozen=True)
class GateResult:
    """CCS_t and its changes; `kept`: the CCM's content was unusable."""

    state: CommittedState
    diff: CcsDiff
    warnings: tuple[str, ...]
    kept: bool
    notes: tuple[str, ...] = ()
    """Lines for the answer: rules lifted, changed and added, and questions."""
    unkept: tuple[str, ...] = ()
    """What x_t says that may be a rule of the user's and is not kept."""


def commit(
    previous: CommittedState,
    proposal: CompressedCognitiveState | None,
    turn_input: TurnInput,
    words: UserWords,
    *,
    evidence: Evidence = NO_EVIDENCE,
    limits: Limits,
) -> GateResult:
    """Make CCS_t from CCS_{t-1}, the CCM's proposal and x_t.

    A proposal of None, or one that lost everything, keeps the content of CCS_{t-1} and marks
    the uncertainty; commands about rules and goal are still applied. `words` is what was read of
    x_t and of what the CCM proposes about it, `evidence` is the qualified text of this turn.
    Version and turn increase by one.

    Raises ConstraintBudgetError when the active constraints exceed `limits.constraints_tokens`,
    or together with the goal `limits.ccs_tokens`; nothing is then committed.
    """
    turn = previous.turn + 1
    usable = rule_5_all_or_nothing(proposal, previous.ccs)
    rules = rule_2_constraints_survive(
        previous,
        usable.constraints if usable else None,
        words,
        turn_input,
        turn=turn,
        budget=limits.constraints_tokens,
    )
    goal = rule_3_goal_survives(
        previous,
        usable.goal_orientation if usable else None,
        words,
        turn_input,
        rules,
        limits=limits,
    )
    is_against = words.against(rules.pins)
    content, repairs = (
        _fitted(usable, limits=limits) if usable else _kept(previous.ccs, limits=limits)
    )
    if usable:
        grounded = rule_4_grounded(
            content, previous.ccs, turn_input, evidence, rules.pins, words=words, limits=limits
        )
        content, repairs = grounded.ccs, [*repairs, *grounded.repairs]
        if not content.semantic_gist and (gist := obey(previous.ccs, is_against)[0].semantic_gist):
            content = content.model_copy(update={"semantic_gist": gist})
            repairs.append(Repair(field="semantic_gist", reason=FIELD_RESTORED))
    else:
        content, dropped = obey(content, is_against)
        repairs = [*repairs, *dropped]
    pinned = {"constraints": [pin.text for pin in rules.pins], "goal_orientation": goal.text}
    fitted = rule_1_bounded(
        content.model_copy(update=pinned),
        rules.pins,
        added=rules.added,
        shrinks=rules.shrinks,
        limits=limits,
    )
    listed = [
        each for each in rules.unkept if each.is_listed and len(each.words) <= MOST_NOT_KEPT_CHARS
    ]
    state = CommittedState(
        version=previous.version + 1,
        turn=turn,
        ccs=fitted.ccs,
        pins=rules.pins,
        goal_pin=goal.pin,
        next_pin=rules.next_pin,
        questions=rules.questions,
        next_question=rules.next_question,
        next_user_pin=rules.next_user_pin,
        not_kept=not_kept(previous, rules, listed),
    )
    diff = CcsDiff.between(
        previous,
        state,
        added=rules.added,
        released=rules.released,
        repairs=[*rules.repairs, *goal.repairs, *repairs, *fitted.repairs],
    )
    warnings = (*no_change_notes(rules), *((KEPT_MARK,) if usable is None else ()))
    notes = consent_notes(rules, turn_input.text, listed, is_said=bool(previous.not_kept))
    unkept = tuple(each.words for each in rules.unkept if each.why in _MAY_BIND)
    return GateResult(state, diff, warnings, kept=usable is None, notes=notes, unkept=unkept)


def rule_5_all_or_nothing(
    proposal: CompressedCognitiveState | None, before: CompressedCognitiveState
) -> CompressedCognitiveState | None:
    """Rule 5: the proposal, or None if it is missing, or blank while the state was not.

    With None the content of CCS_{t-1} is kept and its uncertainty marked.
    """
    # Of quotations alone, which code has chosen, a reply loses nothing.
    content = before.model_copy(update={"retrieved_artifacts": []})
    lost = proposal is None or (_blank(proposal) and not _blank(content))
    return None if lost else proposal


RULES: Final = (
    rule_1_bounded,
    rule_2_constraints_survive,
    rule_3_goal_survives,
    rule_4_grounded,
    rule_5_all_or_nothing,
)
"""The five commit rules, by number."""


def _blank(ccs: CompressedCognitiveState) -> bool:
    values = (getattr(ccs, name) for name in CCS_FIELDS)
    return not any(
        any(item.strip() for item in value) if isinstance(value, list) else (value or "").strip()
        for value in values
    )


def _fitted(
    proposal: CompressedCognitiveState, *, limits: Limits
) -> tuple[CompressedCognitiveState, list[Repair]]:
    """The CCM's content within its field budgets."""
    doubt = proposal.uncertainty_signal.removeprefix(KEPT_MARK).removeprefix(";").lstrip()
    fields = fit_fields(proposal.model_copy(update={"uncertainty_signal": doubt}), limits=limits)
    return fields.ccs, list(fields.repairs)


def _kept(
    before: CompressedCognitiveState, *, limits: Limits
) -> tuple[CompressedCognitiveState, list[Repair]]:
    """The content of CCS_{t-1} with its uncertainty marked once."""
    doubt = before.uncertainty_signal
    if doubt.startswith(KEPT_MARK):
        return before, []
    marked = fit_text(f"{KEPT_MARK}; {doubt}" if doubt else KEPT_MARK, limits.uncertainty_tokens)
    repairs = [over_budget("uncertainty_signal", limits.uncertainty_tokens)] if marked.cut else []
    return before.model_copy(update={"uncertainty_signal": marked.text}), repairs
