"""Rule 4: what a state names was said or seen, and nothing in it speaks against a rule."""

import pytest

from acc_ace.core.schemas.commit import CommittedState
from tests.fakes.tables import each_case
from tests.unit.gate_turns import BAN_EN, BAN_JA, add, ccs, reasons, say, started


def test_entities_and_relations_copied_from_a_prompt_are_dropped() -> None:
    proposal = ccs(
        focal_entities=["person:Aiko", "server:web-02"],
        relational_map=["cause: disk full -> db-01 down", "cause: disk full -> web-02 slow"],
    )
    result = say(CommittedState(), "The disk of web-02 is full, it is slow.", proposal=proposal)
    assert result.state.ccs.focal_entities == ["server:web-02"]
    assert result.state.ccs.relational_map == ["cause: disk full -> web-02 slow"]
    assert reasons(result) == {"not_grounded"}


@pytest.mark.parametrize("field", ["semantic_gist", "predictive_cue", "episodic_trace"])
@pytest.mark.parametrize(
    "invented",
    ["They asked Aiko.", "The server db-01 is full.", "It cost 350 euros.", "We meet at 03:00."],
)
def test_a_sentence_with_a_name_an_id_or_a_number_that_was_not_said_is_dropped(
    field: str, invented: str
) -> None:
    proposal = ccs(**{field: f"The disk is full. {invented}"})
    result = say(CommittedState(), "The disk is full.", proposal=proposal)
    assert getattr(result.state.ccs, field) == "The disk is full."
    assert [(r.field, r.reason, r.detail) for r in result.diff.repairs] == [
        (field, "not_grounded", invented)
    ]


def test_words_of_the_ccms_own_are_kept() -> None:
    gist = "Storage trouble on one machine; the person wants relief soon."
    proposal = ccs(semantic_gist=gist, predictive_cue="they may want a cleanup")
    result = say(CommittedState(), "The disk is full.", proposal=proposal)
    assert result.state.ccs.semantic_gist == gist
    assert result.state.ccs.predictive_cue == "they may want a cleanup"
    assert result.diff.repairs == []


PROPOSAL = ccs(
    focal_entities=["person:Aiko", "server:db-01"],
    relational_map=["said: Aiko -> db-01 down"],
    semantic_gist="The db-01 is down since 03:00, says Aiko.",
)


@each_case
def test_what_was_said_or_seen_is_kept(source: str) -> None:
    fact = "Aiko says that db-01 is down since 03:00."
    before, said, attached, evidence = CommittedState(), "Go on.", list[str](), dict[str, str]()
    match source:
        case "input":
            said = fact
        case "attachment":
            attached = [fact]
        case "evidence":
            evidence = {"a-1": fact}
        case "state":
            before = say(before, fact, proposal=ccs(episodic_trace=fact)).state
    result = say(before, said, proposal=PROPOSAL, attached=attached, evidence=evidence)
    assert result.state.ccs.focal_entities == PROPOSAL.focal_entities
    assert result.state.ccs.relational_map == PROPOSAL.relational_map
    assert result.state.ccs.semantic_gist == PROPOSAL.semantic_gist
    assert result.diff.repairs == []


@each_case
def test_case_width_and_separators_of_a_name_do_not_count(said: str, gist: str) -> None:
    result = say(CommittedState(), said, proposal=ccs(semantic_gist=gist))
    assert result.state.ccs.semantic_gist == gist


def test_a_trace_of_which_nothing_is_left_becomes_the_input() -> None:
    proposal = ccs(episodic_trace="They asked Aiko to restart db-01.")
    result = say(CommittedState(), "The disk is full.", proposal=proposal)
    assert result.state.ccs.episodic_trace == "The disk is full."


def test_a_gist_of_which_nothing_is_left_keeps_the_last_one() -> None:
    before = say(CommittedState(), "hi", proposal=ccs(semantic_gist="disk full")).state
    result = say(before, "Go on.", proposal=ccs(semantic_gist="They asked Aiko."))
    assert result.state.ccs.semantic_gist == "disk full"
    assert reasons(result) == {"not_grounded", "field_restored"}


@pytest.mark.parametrize("field", ["semantic_gist", "predictive_cue"])
@pytest.mark.parametrize(
    ("rule", "against"),
    [
        ("Never restart db-01.", "Restart db-01."),
        ("Never restart db-01.", "The user may restart db-01."),
        ("Never restart db-01.", "Restarting db-01 is allowed."),
        (BAN_JA, "営業時間内の再起動を許可する。"),
    ],
)
def test_a_gist_or_cue_against_a_rule_in_force_is_dropped(
    field: str, rule: str, against: str
) -> None:
    proposal = ccs(**{field: f"The disk is full. {against}"}, episodic_trace="x")
    result = say(started(rule), "db-01 is slow, the disk is full.", proposal=proposal)
    assert getattr(result.state.ccs, field) == "The disk is full."
    assert "against_rule" in reasons(result)


def test_a_gist_against_a_rule_that_this_turn_sets_is_dropped() -> None:
    rule = "Never restart db-01."
    proposal = ccs(semantic_gist="Restart db-01.", episodic_trace="x")
    result = say(CommittedState(), rule, add(rule), proposal=proposal)
    assert result.state.ccs.semantic_gist == ""
    assert "against_rule" in reasons(result)


def test_a_gist_about_a_rule_that_this_turn_lifts_is_kept() -> None:
    proposal = ccs(semantic_gist="Restart db-01.", episodic_trace="x")
    result = say(started("Never restart db-01."), "release c-0001", proposal=proposal)
    assert result.state.ccs.semantic_gist == "Restart db-01."


@pytest.mark.parametrize("gist", ["The rule holds: never restart db-01.", "The disk is full."])
def test_a_gist_that_agrees_with_the_rules_is_kept(gist: str) -> None:
    result = say(started(BAN_EN), "The disk is full.", proposal=ccs(semantic_gist=gist))
    assert result.state.ccs.semantic_gist == gist


def test_what_was_dropped_is_not_carried_to_the_next_turn() -> None:
    proposal = ccs(focal_entities=["person:Aiko"], semantic_gist="They asked Aiko.")
    state = say(CommittedState(), "The disk is full.", proposal=proposal).state
    assert "Aiko" not in state.model_dump_json()
    again = say(state, "Go on.", proposal=proposal)
    assert again.state.ccs.focal_entities == []


def test_grounding_ten_megabytes_is_bounded() -> None:
    attached = ["db-01 is down. " * 700_000]
    proposal = ccs(focal_entities=["server:db-01", "person:Aiko"])
    result = say(CommittedState(), "Go on.", proposal=proposal, attached=attached)
    assert result.state.ccs.focal_entities == ["server:db-01"]
