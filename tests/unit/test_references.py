"""References quote this turn's evidence, first what the CCM names, within their budget."""

from collections.abc import Mapping

import pytest

from acc_ace.core.gates.commit_gate import GateResult
from acc_ace.core.gates.references import Evidence
from acc_ace.core.text.tokens import estimate_tokens
from schemas.commit import CommittedState
from schemas.interaction import TurnInput
from schemas.limits import Limits
from tests.fakes.gate import commit
from tests.unit.gate_turns import BAN_EN, BAN_JA, LIMITS, ccs, reasons, started

QUOTED = {
    name: f'user, 2026-11-25: "{text}"'
    for name, text in {
        "turn:s:1": "The errors started at 14:05.",
        "turn:s:2": "The owner is Ben.",
        "turn:s:3": "The disk is full.",
    }.items()
}
LONG = 'wiki, 2026-11-25: "' + "The valve of the pump was replaced. " * 8 + '"'


def referred(
    *proposed: str,
    before: CommittedState | None = None,
    quoted: Mapping[str, str] = QUOTED,
    own: bool = False,
    text: str = "Go on.",
    limits: Limits = LIMITS,
) -> GateResult:
    evidence = Evidence(dict.fromkeys(quoted, "seen"), frozenset(quoted if own else ()), quoted)
    return commit(
        before or CommittedState(),
        ccs(episodic_trace="x", retrieved_artifacts=list(proposed)),
        TurnInput(text=text),
        evidence=evidence,
        limits=limits,
    )


def items(result: GateResult) -> list[str]:
    return result.state.ccs.retrieved_artifacts


def test_what_the_ccm_names_comes_first_and_is_quoted_instead_of_its_gist() -> None:
    result = referred("[turn:s:3] a disk")
    in_order = ("turn:s:3", "turn:s:1", "turn:s:2")
    assert items(result) == [f"[{name}] {QUOTED[name]}" for name in in_order]


def test_a_named_artifact_of_which_no_sentence_fits_keeps_the_gist_of_the_ccm() -> None:
    evidence = Evidence({"doc:1": "seen"}, quotations={})
    proposal = ccs(episodic_trace="x", retrieved_artifacts=["[doc:1] a handbook"])
    result = commit(
        CommittedState(), proposal, TurnInput(text="Go on."), evidence=evidence, limits=LIMITS
    )
    assert items(result) == ["[doc:1] a handbook"]


def test_quotations_keep_the_budget_and_the_state_its_own() -> None:
    many = {f"doc:{number}": LONG for number in range(20)}
    result = referred(quoted=many)
    assert 3 <= len(items(result)) < 20
    assert sum(map(estimate_tokens, items(result))) <= LIMITS.retrieved_artifacts_tokens


def test_a_quotation_of_an_earlier_turn_is_carried_as_a_short_gist_and_they_do_not_pile_up() -> (
    None
):
    state = CommittedState()
    for number in range(12):
        quoted = {f"doc:{number}": LONG}
        result = referred(before=state, quoted=quoted)
        assert items(result)[0] == f"[doc:{number}] {LONG}"
        state = result.state
    later = items(referred(before=state, quoted={}))
    assert later
    assert all(estimate_tokens(item) < 50 for item in later)
    assert sum(map(estimate_tokens, later)) <= 0.4 * LIMITS.retrieved_artifacts_tokens


@pytest.mark.parametrize(
    ("ban", "lifts"),
    [
        (BAN_EN, "You may restart db-01 during business hours."),
        (BAN_JA, "営業時間内の再起動は許可します。"),
    ],
)
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("new", [True, False])
def test_a_quotation_against_a_rule_in_force_is_left_out(
    ban: str, lifts: str, own: bool, new: bool
) -> None:
    quoted = {"turn:s:1": f'user, 2026-11-25: "{lifts}"'}
    before = CommittedState() if new else started(ban)
    text = f"Rule: {ban}" if new else "Go on."
    result = referred(before=before, quoted=quoted, own=own, text=text)
    assert items(result) == []
    assert "against_rule" in reasons(result)


def test_relations_give_way_before_quotations_where_the_whole_is_full() -> None:
    small = LIMITS.model_copy(update={"ccs_tokens": 256})
    relations = [f"cause: fault {number} -> alarm {number}" for number in range(12)]
    proposal = ccs(episodic_trace="x " * 120, relational_map=relations)
    said = TurnInput(text=" ".join(relations))
    evidence = Evidence({"turn:s:1": "seen"}, quotations={"turn:s:1": QUOTED["turn:s:1"]})
    result = commit(CommittedState(), proposal, said, evidence=evidence, limits=small)
    assert items(result) == [f"[turn:s:1] {QUOTED['turn:s:1']}"]
    assert len(result.state.ccs.relational_map) < len(relations)
