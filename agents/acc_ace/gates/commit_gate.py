"""The commit gate: from any CCM output to a CCS that keeps the five commit rules.

Deterministic code between the CCM and the Generator (step 4 of Algorithm 1, the commit of CCS_t).
The CCM proposes; constraints, goal, entities and references are merged here, so a weak or hostile
model can only add or propose. What each rule does stands in the modules beside.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from acc_ace.gates.ccs_budget import (
    OVER_BUDGET,
    check_constraints,
    fit_items,
    fit_text,
    fit_whole,
)
from acc_ace.gates.constraints import settle_constraints
from acc_ace.gates.goal import settle_goal
from acc_ace.gates.references import merge_entities, merge_references
from acc_ace.schemas.ccs import CCS_FIELDS, CompressedCognitiveState
from acc_ace.schemas.commit import (
    CcsDiff,
    CommittedState,
    ConstraintPin,
    FieldChange,
    Release,
    Repair,
)
from acc_ace.schemas.interaction import TurnInput
from acc_ace.schemas.limits import Limits

MAX_REPAIRS = 64
"""Repairs kept in a diff, so that junk output cannot make the journal grow without bound."""


def diff_states(
    before: CommittedState,
    after: CommittedState,
    *,
    added: Sequence[ConstraintPin] = (),
    released: Sequence[Release] = (),
    repairs: Sequence[Repair] = (),
) -> CcsDiff:
    """The typed difference of two states of a session; goals are given only if they differ."""
    changes = [
        FieldChange(field=name, before=getattr(before.ccs, name), after=getattr(after.ccs, name))
        for name in CCS_FIELDS
        if getattr(before.ccs, name) != getattr(after.ccs, name)
    ]
    goal_changed = before.ccs.goal_orientation != after.ccs.goal_orientation
    return CcsDiff(
        changes=changes,
        constraints_added=list(added),
        constraints_released=list(released),
        goal_before=before.ccs.goal_orientation if goal_changed else None,
        goal_after=after.ccs.goal_orientation if goal_changed else None,
        repairs=_bounded(repairs),
    )


def _bounded(repairs: Sequence[Repair]) -> list[Repair]:
    if len(repairs) <= MAX_REPAIRS:
        return list(repairs)
    more = len(repairs) - MAX_REPAIRS + 1
    tail = Repair(field="*", reason="more_repairs", detail=f"{more} more")
    return [*repairs[: MAX_REPAIRS - 1], tail]


KEPT_MARK = "state not updated this turn: the compressor gave nothing usable"
"""Begins the uncertainty signal of a state whose content was kept."""

FIELD_RESTORED = "field_restored"

_ENTITY_TOKENS = 24
_RELATION_TOKENS = 48
_SAID_CHARS = 65_536
"""Characters of x_t in which mentioned entities are looked for."""


@dataclass(frozen=True)
class GateResult:
    """CCS_t with what changed; `kept` says that the CCM's content could not be used."""

    state: CommittedState
    diff: CcsDiff
    warnings: tuple[str, ...]
    kept: bool


def commit(
    previous: CommittedState,
    proposal: CompressedCognitiveState | None,
    turn_input: TurnInput,
    *,
    known_artifacts: Collection[str],
    limits: Limits,
) -> GateResult:
    """Make CCS_t from CCS_{t-1}, the CCM's proposal and x_t.

    A proposal of None, or one that lost everything, keeps the content of CCS_{t-1} and marks
    the uncertainty; rules, releases and a goal that x_t states are honoured all the same.
    `known_artifacts` are the ids qualified this turn. Version and turn grow by one.

    Raises ConstraintBudgetError when the active constraints exceed `limits.constraints_tokens`,
    or with the goal `limits.ccs_tokens`; nothing is committed then.
    """
    turn = previous.turn + 1
    usable = None if _lost_everything(proposal, previous.ccs) else proposal
    rules = settle_constraints(
        previous,
        usable.constraints if usable else None,
        turn_input,
        turn=turn,
        budget=limits.constraints_tokens,
    )
    check_constraints(rules.pins, limits=limits, added=rules.added)
    goal = settle_goal(
        previous, usable.goal_orientation if usable else None, turn_input, turn=turn, limits=limits
    )
    repairs = [*rules.repairs, *goal.repairs]
    content = (
        _updated(previous.ccs, usable, turn_input, known_artifacts, repairs, limits=limits)
        if usable
        else _kept(previous.ccs, repairs, limits=limits)
    )
    pinned = {"constraints": [pin.text for pin in rules.pins], "goal_orientation": goal.text}
    fitted = fit_whole(content.model_copy(update=pinned), rules.pins, limits=limits)
    state = CommittedState(
        version=previous.version + 1,
        turn=turn,
        ccs=fitted.ccs,
        pins=rules.pins,
        goal_pin=goal.pin,
        next_pin=rules.next_pin,
    )
    diff = diff_states(
        previous,
        state,
        added=rules.added,
        released=rules.released,
        repairs=[*repairs, *fitted.repairs],
    )
    warnings = (*rules.warnings, *((KEPT_MARK,) if usable is None else ()))
    return GateResult(state=state, diff=diff, warnings=warnings, kept=usable is None)


def _lost_everything(
    proposal: CompressedCognitiveState | None, before: CompressedCognitiveState
) -> bool:
    """Whether there is no proposal, or a blank one where the state was not blank."""
    return proposal is None or (_blank(proposal) and not _blank(before))


def _blank(ccs: CompressedCognitiveState) -> bool:
    values = (getattr(ccs, name) for name in CCS_FIELDS)
    return not any(
        any(item.strip() for item in value) if isinstance(value, list) else (value or "").strip()
        for value in values
    )


def _updated(
    before: CompressedCognitiveState,
    proposal: CompressedCognitiveState,
    turn_input: TurnInput,
    known_artifacts: Collection[str],
    repairs: list[Repair],
    *,
    limits: Limits,
) -> CompressedCognitiveState:
    """The CCM's content within its budgets, merged with what code carries over."""
    entities = _list(
        "focal_entities",
        proposal.focal_entities,
        repairs,
        budget=limits.focal_entities_tokens,
        item_budget=_ENTITY_TOKENS,
        max_items=limits.list_items,
    )
    references = merge_references(
        proposal.retrieved_artifacts, before.retrieved_artifacts, known_artifacts, limits=limits
    )
    repairs.extend(references.repairs)
    gist = _text("semantic_gist", proposal.semantic_gist, limits.semantic_gist_tokens, repairs)
    if not gist and before.semantic_gist:
        gist = before.semantic_gist
        repairs.append(Repair(field="semantic_gist", reason=FIELD_RESTORED))
    cue = proposal.predictive_cue or ""
    doubt = proposal.uncertainty_signal.removeprefix(KEPT_MARK).removeprefix(";").lstrip()
    return CompressedCognitiveState(
        episodic_trace=_text(
            "episodic_trace", proposal.episodic_trace, limits.episodic_trace_tokens, repairs
        ),
        semantic_gist=gist,
        focal_entities=merge_entities(
            entities,
            before.focal_entities,
            turn_input.text[:_SAID_CHARS],
            budget=limits.focal_entities_tokens,
            max_items=limits.list_items,
        ),
        relational_map=_list(
            "relational_map",
            proposal.relational_map,
            repairs,
            budget=limits.relational_map_tokens,
            item_budget=_RELATION_TOKENS,
            max_items=limits.list_items,
        ),
        goal_orientation="",
        constraints=[],
        predictive_cue=_text("predictive_cue", cue, limits.predictive_cue_tokens, repairs) or None,
        uncertainty_signal=_text("uncertainty_signal", doubt, limits.uncertainty_tokens, repairs),
        retrieved_artifacts=references.items,
    )


def _kept(
    before: CompressedCognitiveState, repairs: list[Repair], *, limits: Limits
) -> CompressedCognitiveState:
    """The content of CCS_{t-1}, its uncertainty marked once."""
    doubt = before.uncertainty_signal
    if not doubt.startswith(KEPT_MARK):
        marked = f"{KEPT_MARK}; {doubt}" if doubt else KEPT_MARK
        doubt = _text("uncertainty_signal", marked, limits.uncertainty_tokens, repairs)
    return before.model_copy(update={"uncertainty_signal": doubt})


def _text(field: str, text: str, budget: int, repairs: list[Repair]) -> str:
    fitted = fit_text(text, budget)
    if fitted.cut:
        repairs.append(_over_budget(field, budget))
    return fitted.text


def _list(
    field: str,
    items: Sequence[str],
    repairs: list[Repair],
    *,
    budget: int,
    item_budget: int,
    max_items: int,
) -> list[str]:
    fitted = fit_items(items, budget=budget, item_budget=item_budget, max_items=max_items)
    if fitted.cut:
        repairs.append(_over_budget(field, budget))
    return fitted.items


def _over_budget(field: str, budget: int) -> Repair:
    return Repair(field=field, reason=OVER_BUDGET, detail=f"cut to {budget} tokens")
