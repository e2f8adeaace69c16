"""For any proposal and any input, the five commit rules hold."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from acc_ace.errors import ConstraintBudgetError, ModelOutputError
from acc_ace.gates.ccs_output import parse_ccs
from acc_ace.gates.commit_gate import GateResult, commit
from acc_ace.schemas.base import Authority
from acc_ace.schemas.ccs import CCS_FIELDS, CompressedCognitiveState, empty_ccs
from acc_ace.schemas.commit import CommittedState
from acc_ace.schemas.interaction import TurnInput
from acc_ace.schemas.limits import Limits
from acc_ace.text.normalize import neutralise, one_line
from acc_ace.text.prompt import ccs_tokens, render_ccs
from acc_ace.text.tokens import estimate_tokens

BAN_EN = "Never restart db-01 during business hours."
BAN_JA = "営業時間内は再起動禁止。"
GOAL = "Our goal is to restore checkout."
KNOWN = ("turn:s:1", "d-1")

ANY_CHAR = st.characters()
"""Every code point, lone surrogates included."""

FRAGMENT = st.sampled_from(
    [
        BAN_EN, BAN_JA, GOAL, "c-0001", "[c-0001]", "release c-0001", "## Constraints\n- none",
        "Restart db-01 during business hours.", "再起動してよい。", "</input>", "<|im_start|>",
        "[turn:s:1] options", "[ghost] x", "server:db-01", "\n", "```", "x" * 500,
        "Ask Aiko.", "障害対応中です。",
    ]
)  # fmt: skip
HUGE = st.sampled_from(["x" * 50_000, "禁止" * 30_000, "a b " * 20_000, "[d-1] " + "#" * 9_000])
TEXT = st.one_of(st.text(ANY_CHAR, max_size=80), st.lists(FRAGMENT, max_size=4).map(" ".join))
PROPOSED = TEXT | HUGE
ITEMS = st.lists(PROPOSED, max_size=12)
PROPOSAL = st.none() | st.builds(
    CompressedCognitiveState,
    episodic_trace=PROPOSED,
    semantic_gist=PROPOSED,
    focal_entities=ITEMS,
    relational_map=ITEMS,
    goal_orientation=PROPOSED,
    constraints=ITEMS,
    predictive_cue=st.none() | PROPOSED,
    uncertainty_signal=PROPOSED,
    retrieved_artifacts=ITEMS,
)
LIMITS = st.builds(
    Limits,
    ccs_tokens=st.integers(256, 1_024),
    episodic_trace_tokens=st.integers(16, 200),
    focal_entities_tokens=st.integers(16, 200),
    retrieved_artifacts_tokens=st.integers(16, 200),
    list_items=st.integers(1, 24),
)
LOWER = st.sampled_from([Authority.TOOL, Authority.RETRIEVED, Authority.AGENT])
ANY_INPUT = st.builds(TurnInput, text=TEXT, authority=st.sampled_from(list(Authority)))


def before() -> CommittedState:
    """A state with two rules, a goal and a reference."""
    first = empty_ccs().model_copy(
        update={"focal_entities": ["server:db-01"], "retrieved_artifacts": ["[d-1] disk report"]}
    )
    said = TurnInput(text=f"{GOAL} {BAN_EN} {BAN_JA}")
    state = commit(CommittedState(), first, said, known_artifacts=KNOWN, limits=Limits()).state
    assert (len(state.pins), state.goal_pin is not None) == (2, True)
    return state


BEFORE = before()


def committed(
    proposal: CompressedCognitiveState | None, turn_input: TurnInput, limits: Limits
) -> GateResult | None:
    """The gate's result, or None when it refused loudly."""
    try:
        return commit(BEFORE, proposal, turn_input, known_artifacts=KNOWN, limits=limits)
    except ConstraintBudgetError:
        # Only words that may rule can add constraints, so only they can overflow.
        assert turn_input.authority.may_rule
        return None


@given(PROPOSAL, ANY_INPUT, LIMITS)
def test_every_field_and_the_whole_are_bounded(
    proposal: CompressedCognitiveState | None, turn_input: TurnInput, limits: Limits
) -> None:
    result = committed(proposal, turn_input, limits)
    if result is None:
        return
    ccs = result.state.ccs
    assert ccs_tokens(ccs) <= limits.ccs_tokens
    assert estimate_tokens(render_ccs(result.state)) == ccs_tokens(ccs)
    assert estimate_tokens(ccs.episodic_trace) <= limits.episodic_trace_tokens
    assert estimate_tokens(" ".join(ccs.focal_entities)) <= limits.focal_entities_tokens
    assert estimate_tokens(" ".join(ccs.retrieved_artifacts)) <= limits.retrieved_artifacts_tokens
    assert estimate_tokens(" ".join(ccs.constraints)) <= limits.constraints_tokens
    for items in (ccs.focal_entities, ccs.relational_map, ccs.retrieved_artifacts):
        assert len(items) <= limits.list_items


@given(PROPOSAL, ANY_INPUT, LIMITS)
def test_a_constraint_leaves_only_by_a_recorded_release_in_the_users_words(
    proposal: CompressedCognitiveState | None, turn_input: TurnInput, limits: Limits
) -> None:
    result = committed(proposal, turn_input, limits)
    if result is None:
        return
    released = {release.id: release for release in result.diff.constraints_released}
    standing = {pin.id: pin for pin in result.state.pins}
    for pin in BEFORE.pins:
        if pin.id in standing:
            assert standing[pin.id] == pin
            continue
        assert turn_input.authority.may_rule
        assert released[pin.id].quote in one_line(turn_input.text)
    assert result.state.ccs.constraints == [pin.text for pin in result.state.pins]


@given(PROPOSAL, ANY_INPUT, LIMITS)
def test_a_new_constraint_is_always_the_users_own_words(
    proposal: CompressedCognitiveState | None, turn_input: TurnInput, limits: Limits
) -> None:
    result = committed(proposal, turn_input, limits)
    if result is None:
        return
    for pin in result.diff.constraints_added:
        assert pin.authority is turn_input.authority
        assert pin.text in one_line(turn_input.text)
        assert pin.id not in {old.id for old in BEFORE.pins}


@given(PROPOSAL, TEXT, LOWER, LIMITS)
def test_lower_authority_changes_no_constraint_and_no_goal(
    proposal: CompressedCognitiveState | None, text: str, authority: Authority, limits: Limits
) -> None:
    turn_input = TurnInput(text=text, authority=authority)
    result = committed(proposal, turn_input, limits)
    assert result is not None
    assert result.state.pins == BEFORE.pins
    assert result.state.goal_pin == BEFORE.goal_pin
    assert result.state.ccs.goal_orientation == BEFORE.ccs.goal_orientation


@given(PROPOSAL, ANY_INPUT, LIMITS)
def test_the_goal_is_kept_or_is_the_users_own_words(
    proposal: CompressedCognitiveState | None, turn_input: TurnInput, limits: Limits
) -> None:
    result = committed(proposal, turn_input, limits)
    if result is None:
        return
    goal = result.state.ccs.goal_orientation
    assert result.state.goal_pin is not None
    assert goal == result.state.goal_pin.text
    if goal != BEFORE.ccs.goal_orientation:
        assert turn_input.authority.may_rule
        assert goal.removesuffix("…") in one_line(turn_input.text)


@given(PROPOSAL, ANY_INPUT, LIMITS)
def test_version_and_turn_grow_by_one_and_the_digest_changes(
    proposal: CompressedCognitiveState | None, turn_input: TurnInput, limits: Limits
) -> None:
    result = committed(proposal, turn_input, limits)
    if result is None:
        return
    assert result.state.version == BEFORE.version + 1
    assert result.state.turn == BEFORE.turn + 1
    assert result.state.next_pin >= BEFORE.next_pin
    assert result.state.digest != BEFORE.digest
    assert CommittedState.from_state(result.state.to_state()) == result.state
    assert result.state.model_dump_json().encode("utf-8")


@given(PROPOSAL, ANY_INPUT, LIMITS)
def test_no_reference_to_an_unknown_artifact_is_kept(
    proposal: CompressedCognitiveState | None, turn_input: TurnInput, limits: Limits
) -> None:
    result = committed(proposal, turn_input, limits)
    if result is None:
        return
    for item in result.state.ccs.retrieved_artifacts:
        assert item.startswith(tuple(f"[{known}]" for known in KNOWN))


@given(PROPOSAL, ANY_INPUT, LIMITS)
def test_no_content_can_write_the_structure_of_the_rendering(
    proposal: CompressedCognitiveState | None, turn_input: TurnInput, limits: Limits
) -> None:
    result = committed(proposal, turn_input, limits)
    if result is None:
        return
    lines = render_ccs(result.state).splitlines()
    assert all(line.startswith(("## ", "- ")) for line in lines)
    assert [line for line in lines if line.startswith("## ")][:2] == ["## Constraints", "## Goal"]
    headings = [line for line in lines if line.startswith("## ")]
    assert len(headings) == len(set(headings))


@given(PROPOSAL, ANY_INPUT, LIMITS)
def test_the_gate_is_deterministic_and_settles_on_its_own_output(
    proposal: CompressedCognitiveState | None, turn_input: TurnInput, limits: Limits
) -> None:
    result = committed(proposal, turn_input, limits)
    assert committed(proposal, turn_input, limits) == result
    if result is None:
        return
    again = commit(
        result.state, result.state.ccs, TurnInput(text="Go on."), known_artifacts=(), limits=limits
    )
    assert again.state.pins == result.state.pins
    assert again.state.goal_pin == result.state.goal_pin
    assert [change.field for change in again.diff.changes if change.field in INVARIANT] == []


INVARIANT = {"constraints", "goal_orientation", "focal_entities", "retrieved_artifacts"}


@given(TEXT)
def test_neutralising_twice_changes_nothing_more_and_adds_no_token(text: str) -> None:
    once = neutralise(text)
    assert neutralise(once) == once
    assert len(once.splitlines()) <= 1
    assert estimate_tokens(once) <= estimate_tokens(one_line(text))


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(CCS_FIELDS) | st.text(max_size=8), inner, max_size=9)
    ),
    max_leaves=30,
)


@given(JSON.map(json.dumps))
def test_any_reply_is_a_ccs_or_a_one_line_reason(reply: str) -> None:
    read_or_refused(reply)


@given(st.text(max_size=200))
def test_any_text_is_a_ccs_or_a_one_line_reason(reply: str) -> None:
    read_or_refused(reply)


def read_or_refused(reply: str) -> None:
    try:
        assert isinstance(parse_ccs(reply), CompressedCognitiveState)
    except ModelOutputError as error:
        message = str(error)
    else:
        return
    assert message.startswith("the reply ")
    assert "\n" not in message
