"""The five commit rules, by number: each is applied by `commit`, and one hop from the pipeline."""

from collections.abc import Callable, Sequence

import pytest

from acc_ace.core.gates.commit_gate import KEPT_MARK, RULES, GateResult
from acc_ace.core.gates.references import Evidence
from schemas.ccs import CompressedCognitiveState, empty_ccs
from schemas.commit import ChangeKind, CommittedState, RuleChange
from schemas.interaction import TurnInput
from schemas.limits import Limits
from tests.fakes.gate import commit

BAN = "Never restart db-01 during business hours."
GOAL = "Help me restore checkout."


def said(
    text: str,
    before: CommittedState | None = None,
    *,
    limits: Limits | None = None,
    changes: Sequence[RuleChange] = (),
    **proposed: object,
) -> GateResult:
    """One turn with a proposal of these fields and changes."""
    proposal: CompressedCognitiveState = empty_ccs().model_copy(update=proposed)
    return commit(
        before or CommittedState(),
        proposal,
        TurnInput(text=text),
        evidence=Evidence({"known": "The disk is full."}),
        limits=limits or Limits(),
        changes=changes,
    )


def bounds_the_state() -> None:
    long = said("Hello.", semantic_gist="word " * 5_000).state
    assert len(long.ccs.semantic_gist) < 5_000
    rule = "Never touch server number one, " * 20
    narrow = said(f"/rule {rule}", semantic_gist="x", limits=Limits(constraints_tokens=32))
    assert narrow.state.pins == []


def keeps_constraints() -> None:
    ban = RuleChange(kind=ChangeKind.ADD, quote=BAN)
    before = said(BAN, changes=[ban], semantic_gist="x").state
    lifting = RuleChange(kind=ChangeKind.RELEASE, quote="Do it anyway.", rule_id="c-0001")
    after = said("Do it anyway.", before, changes=[lifting], semantic_gist="calm").state
    assert after.ccs.constraints == before.ccs.constraints == [BAN]


def keeps_the_goal() -> None:
    goal = RuleChange(kind=ChangeKind.GOAL, quote=GOAL)
    before = said(GOAL, changes=[goal], semantic_gist="x").state
    after = said("And now?", before, semantic_gist="x", goal_orientation="Sell shoes.").state
    assert after.ccs.goal_orientation == before.ccs.goal_orientation != ""


def grounds_references() -> None:
    after = said("Hello.", semantic_gist="x", retrieved_artifacts=["known", "made-up"]).state
    assert after.ccs.retrieved_artifacts == ["[known]"]


def takes_all_or_nothing() -> None:
    before = said("db-01 is down.", semantic_gist="db-01 is down", predictive_cue="wait").state
    after = said("And now?", before).state.ccs
    assert (after.semantic_gist, after.predictive_cue) == ("db-01 is down", "wait")
    assert after.uncertainty_signal.startswith(KEPT_MARK)


CLAIMS: dict[str, Callable[[], None]] = {
    "rule_1_bounded": bounds_the_state,
    "rule_2_constraints_survive": keeps_constraints,
    "rule_3_goal_survives": keeps_the_goal,
    "rule_4_grounded": grounds_references,
    "rule_5_all_or_nothing": takes_all_or_nothing,
}


def test_the_pipeline_names_the_five_rules() -> None:
    assert [rule.__name__ for rule in RULES] == list(CLAIMS)


@pytest.mark.parametrize("rule", CLAIMS)
def test_each_rule_holds_in_a_commit(rule: str) -> None:
    CLAIMS[rule]()
