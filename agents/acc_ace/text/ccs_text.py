"""Write a committed state for a prompt: the same text for the same state.

Most invariant first, so that a prompt's prefix stays the same from turn to turn. Every line of
content begins with '- ', every section with '## ', and no content can hold a line break.
"""

from collections.abc import Iterable

from acc_ace.schemas.ccs import CompressedCognitiveState
from acc_ace.schemas.commit import CommittedState
from acc_ace.text.plain_text import neutralise, one_line
from acc_ace.text.tokens import estimate_tokens

NO_ID = "c-0000"
"""Stands for a constraint's id where only its length matters."""

_FREE_SECTIONS: tuple[tuple[str, str], ...] = (
    ("Entities", "focal_entities"),
    ("Relations", "relational_map"),
    ("Situation", "semantic_gist"),
    ("Artifacts", "retrieved_artifacts"),
    ("Uncertain", "uncertainty_signal"),
    ("Next", "predictive_cue"),
    ("This turn", "episodic_trace"),
)
"""Heading and field of the sections below constraints and goal, slowest to change first."""


def render_ccs(state: CommittedState) -> str:
    """The state as labelled sections; constraints carry their ids, empty sections are left out."""
    rules = [(pin.id, pin.text) for pin in state.pins]
    return _render(rules, state.ccs)


def ccs_tokens(ccs: CompressedCognitiveState) -> int:
    """Tokens of the nine fields as `render_ccs` writes them, with four-digit constraint ids."""
    return estimate_tokens(_render([(NO_ID, text) for text in ccs.constraints], ccs))


def _render(rules: Iterable[tuple[str, str]], ccs: CompressedCognitiveState) -> str:
    constraints = [f"[{pin_id}] {one_line(text)}" for pin_id, text in rules]
    sections = [_section("Constraints", constraints or ["none"])]
    sections.append(_section("Goal", [one_line(ccs.goal_orientation) or "none"]))
    for heading, field in _FREE_SECTIONS:
        lines = [line for line in map(neutralise, _values(ccs, field)) if line]
        if lines:
            sections.append(_section(heading, lines))
    return "\n".join(sections)


def _section(heading: str, lines: Iterable[str]) -> str:
    return "\n".join([f"## {heading}", *(f"- {line}" for line in lines)])


def _values(ccs: CompressedCognitiveState, field: str) -> list[str]:
    value: str | list[str] | None = getattr(ccs, field)
    if isinstance(value, list):
        return value
    return [value] if value else []
