"""Rule 1 of the commit gate: a CCS and each of its fields stay within their token budgets.

What is counted is the state as lines of a prompt, always the same for the same state.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from acc_ace.core.schemas.ccs import CompressedCognitiveState
from acc_ace.core.schemas.commit import CommittedState, ConstraintPin, Repair
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.text.normalize import behind_margin, head, neutralise, one_line, short_ids
from acc_ace.core.text.tokens import clip_tokens, estimate_tokens
from acc_ace.errors import ConstraintBudgetError

OVER_BUDGET = "over_budget"
WHOLE_OVER_BUDGET = "whole_over_budget"

TRIM_ORDER: tuple[str, ...] = (
    "relational_map",
    "retrieved_artifacts",
    "focal_entities",
    "episodic_trace",
    "semantic_gist",
    "predictive_cue",
    "uncertainty_signal",
)
"""Fields to trim, first to last, when the whole is over budget; never constraints and goal."""

_ENTITY_TOKENS = 24
_RELATION_TOKENS = 48

_SCANNED_ITEMS = 1_024
"""Maximum items read of a proposed list."""


class FittedText(NamedTuple):
    """A text within its budget, and whether anything was cut."""

    text: str
    cut: bool


class FittedItems(NamedTuple):
    """A list within its budget, and whether anything was cut."""

    items: list[str]
    cut: bool


class FittedState(NamedTuple):
    """A CCS within its budget, and the repairs."""

    ccs: CompressedCognitiveState
    repairs: list[Repair]


def fit_text(text: str, budget: int) -> FittedText:
    """The text as one neutralised line of at most `budget` tokens; time bounded by the budget."""
    start = head(text, tokens=budget)
    line = neutralise(start)
    clipped = clip_tokens(line, budget)
    return FittedText(clipped, cut=clipped != line or len(start) < len(text))


def fit_items(
    items: Sequence[str], *, budget: int, item_budget: int, max_items: int
) -> FittedItems:
    """The first items that fit, each one neutralised line, without blanks and duplicates."""
    items_left: list[str] = []
    seen: set[str] = set()
    left, cut = budget, len(items) > _SCANNED_ITEMS
    for item in items[:_SCANNED_ITEMS]:
        fitted = fit_text(item, min(item_budget, budget))
        if not fitted.text or fitted.text.casefold() in seen:
            continue
        cost = estimate_tokens(fitted.text)
        if cost > left or len(items_left) == max_items:
            return FittedItems(items_left, cut=True)
        items_left.append(fitted.text)
        seen.add(fitted.text.casefold())
        left, cut = left - cost, cut or fitted.cut
    return FittedItems(items_left, cut)


def append_fitting(
    items: list[str], older: Iterable[str], *, budget: int, max_items: int
) -> list[str]:
    """The list followed by as many older items as fit; the rest is dropped."""
    left = budget - sum(map(_shown_tokens, items))
    result = list(items)
    for item in older:
        cost = _shown_tokens(item)
        if len(result) < max_items and cost <= left:
            result.append(item)
            left -= cost
    return result


def _shown_tokens(item: str) -> int:
    return estimate_tokens(short_ids(item))


def fit_fields(ccs: CompressedCognitiveState, *, limits: Limits) -> FittedState:
    """A proposal with each field within its own budget, as neutralised lines.

    References are unchanged, since only rule 4 can identify their ids; constraints and goal are
    not set by the CCM.
    """
    texts = {
        "episodic_trace": limits.episodic_trace_tokens,
        "semantic_gist": limits.semantic_gist_tokens,
        "predictive_cue": limits.predictive_cue_tokens,
        "uncertainty_signal": limits.uncertainty_tokens,
    }
    lists = {
        "focal_entities": (limits.focal_entities_tokens, _ENTITY_TOKENS),
        "relational_map": (limits.relational_map_tokens, _RELATION_TOKENS),
    }
    update: dict[str, object] = {}
    repairs: list[Repair] = []
    for field, (budget, item_budget) in lists.items():
        items = fit_items(
            getattr(ccs, field),
            budget=budget,
            item_budget=item_budget,
            max_items=limits.list_items,
        )
        update[field] = items.items
        repairs += [over_budget(field, budget)] if items.cut else []
    for field, budget in texts.items():
        text = fit_text(getattr(ccs, field) or "", budget)
        update[field] = text.text
        repairs += [over_budget(field, budget)] if text.cut else []
    update["predictive_cue"] = update["predictive_cue"] or None
    return FittedState(ccs.model_copy(update=update), repairs)


def over_budget(field: str, budget: int) -> Repair:
    """The repair of a field that was cut to its budget."""
    return Repair(field=field, reason=OVER_BUDGET, detail=f"cut to {budget} tokens")


def rule_1_bounded(
    ccs: CompressedCognitiveState,
    pins: Sequence[ConstraintPin],
    *,
    added: Sequence[ConstraintPin] = (),
    shrinks: bool = False,
    limits: Limits,
) -> FittedState:
    """Rule 1: the CCS within `limits.ccs_tokens` as rendered, trimmed in TRIM_ORDER.

    Raises ConstraintBudgetError when the active constraints exceed their budget, or together with
    the goal that of the whole, unless this turn only `shrinks` them; `added` are new this turn.
    """
    if not shrinks:
        _check_constraints(pins, limits=limits, added=added)
    repairs: list[Repair] = []
    for field in TRIM_ORDER:
        over = ccs_tokens(ccs) - limits.ccs_tokens
        if over <= 0:
            break
        trimmed = ccs.model_copy(update={field: _shorter(getattr(ccs, field), over)})
        if trimmed != ccs:
            repairs.append(Repair(field=field, reason=WHOLE_OVER_BUDGET, detail=f"{over} over"))
        ccs = trimmed
    tokens = ccs_tokens(ccs)
    if tokens > limits.ccs_tokens and not shrinks:
        raise ConstraintBudgetError(
            f"constraints and goal alone need {tokens} tokens, but the state may have "
            f"{limits.ccs_tokens}; nothing was committed. "
            f"{_advice(pins, 'ACC_ACE_LIMITS__CCS_TOKENS')}"
        )
    return FittedState(ccs, repairs)


def _check_constraints(
    pins: Sequence[ConstraintPin], *, limits: Limits, added: Sequence[ConstraintPin]
) -> None:
    budget = limits.constraints_tokens
    tokens = sum(estimate_tokens(pin.text) for pin in pins)
    if tokens <= budget:
        return
    new = sum(estimate_tokens(pin.text) for pin in added)
    raise ConstraintBudgetError(
        f"the {len(pins)} active constraints need {tokens} tokens ({new} of them new in this "
        f"input) and their budget is {budget}; nothing was committed and none was dropped. "
        f"{_advice(pins, 'ACC_ACE_LIMITS__CONSTRAINTS_TOKENS')}"
    )


def _shorter(value: str | list[str] | None, over: int) -> str | list[str] | None:
    """The value with up to `over` tokens removed from its end."""
    if isinstance(value, list):
        items = list(value)
        while items and over > 0:
            # One more for the dash at the start of the line.
            over -= estimate_tokens(items.pop()) + 1
        return items
    if not value:
        return value
    own, *tail = value.split("\n", 1)
    budget = estimate_tokens(own) - over
    # A lone cut mark is useless.
    return "\n".join([clip_tokens(own, budget) if budget > 1 else "", *tail])


def _advice(pins: Sequence[ConstraintPin], setting: str) -> str:
    example = pins[0].id if pins else "c-0001"
    return (
        f"Release one that no longer holds (say, for example, 'release {example}'), state fewer "
        f"or shorter rules at a time, or raise {setting}."
    )


_NO_ID = "c-0000"
"""Placeholder id of a constraint where only its length matters."""

_FREE_FIELDS: Final = (
    "focal_entities",
    "relational_map",
    "semantic_gist",
    "uncertainty_signal",
    "predictive_cue",
    "episodic_trace",
    "retrieved_artifacts",
)
"""The fields below constraints and goal, slowest to change first: caches match by prefix."""


def render_ccs(state: CommittedState) -> str:
    """The state as lines, `field: value` or a field and its items (paper, Figure 3).

    Constraints come first, with their ids; empty fields are left out. The exchanges of the trace
    stand line by line behind a margin.
    """
    return _render([(pin.id, pin.text) for pin in state.pins], state.ccs)


def ccs_tokens(ccs: CompressedCognitiveState) -> int:
    """Tokens of the nine fields as `render_ccs` writes them, with four-digit constraint ids.

    The tail of the trace has a bound of its own.
    """
    rules = [(_NO_ID, text) for text in ccs.constraints]
    return estimate_tokens(_render(rules, ccs.without_tail))


def _render(rules: Iterable[tuple[str, str]], ccs: CompressedCognitiveState) -> str:
    constraints = [f"[{pin_id}] {one_line(text)}" for pin_id, text in rules]
    fields = [_items("constraints", constraints) or f"constraints: {NOTHING}"]
    fields.append(_line("goal_orientation", one_line(ccs.goal_orientation) or NOTHING))
    for name in _FREE_FIELDS:
        value: str | list[str] | None = getattr(ccs, name)
        if isinstance(value, list):
            fields.append(_items(name, map(short_ids, map(neutralise, value))))
        elif name == "episodic_trace":
            own, mark, tail = ccs.episodic_trace.partition("\n")
            fields += [_line(name, neutralise(own)) or (f"{name}:" if mark else "")]
            fields += [behind_margin(tail)] if mark else []
        else:
            fields.append(_line(name, neutralise(value or "")))
    return "\n".join(field for field in fields if field)


NOTHING: Final = "none"
"""Shown where there is no constraint or no goal; other empty fields are left out."""


def _line(name: str, value: str) -> str:
    return f"{name}: {value}" if value else ""


def _items(name: str, items: Iterable[str]) -> str:
    lines = [f"- {item}" for item in items if item]
    return "\n".join([f"{name}:", *lines]) if lines else ""
