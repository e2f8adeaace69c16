"""Commands about rules: a whole message in a closed grammar, and nothing else."""

import pytest

from acc_ace.core.gates.commands import (
    MAX_COMMAND_CHARS,
    Amend,
    AnswerQuestion,
    Command,
    Forget,
    Pin,
    parse_command,
)
from acc_ace.core.schemas.commit import CommittedState, RuleScope
from tests.fakes.tables import each_case
from tests.unit.gate_turns import BAN_EN, BAN_JA, GOAL, add, release, say, started, texts


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("lift c-0003", ("c-0003",)),
        ("lift c-0003.", ("c-0003",)),
        ("no c-0003", ("c-0003",)),
        ("  /forget c-0003\n", ("c-0003",)),
        ("/forget u-0001", ("u-0001",)),
        ("/forget c-0003, u-0001 and c-0002", ("c-0003", "u-0001", "c-0002")),
        ("c-0003 を解除", ("c-0003",)),
        ("c-0003 を取り消し", ("c-0003",)),
        ("ｃ－０００３を解除", ("c-0003",)),
    ],
)
def test_a_rule_is_lifted_by_its_id(text: str, ids: tuple[str, ...]) -> None:
    assert parse_command(text) == Forget(ids)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("change c-0001 to: Never push.", Amend("c-0001", "Never push.")),
        ("c-0001 を「日曜も禁止」に変更", Amend("c-0001", "日曜も禁止")),
        ("/rule Never push.", Pin("Never push.", RuleScope.SESSION)),
        ("/rule always Never push.", Pin("Never push.", RuleScope.USER)),
        ("/rule 절대로 재시작하지 마세요.", Pin("절대로 재시작하지 마세요.", RuleScope.SESSION)),
    ],
)
def test_amendments_and_rules(text: str, command: Command) -> None:
    assert parse_command(text) == command


@each_case
def test_an_answer_names_its_question(text: str, yes: bool) -> None:
    assert parse_command(text) == AnswerQuestion(yes, "q-0012")


@each_case
def test_anything_beside_a_command_makes_it_none(text: str) -> None:
    assert parse_command(text) is None


@each_case
def test_business_is_no_command(text: str) -> None:
    before = started(BAN_EN, BAN_JA)
    assert parse_command(text) is None
    result = say(before, text)
    assert (result.state.pins, result.diff.constraints_released) == (before.pins, [])


@pytest.mark.parametrize(
    "said",
    [
        "lift c-0001",
        "/forget c-0001",
        "no c-0001",
        "change c-0001 to: Restart it.",
        "c-0001 を解除",
    ],
)
def test_beside_an_attachment_nothing_is_a_command(said: str) -> None:
    before = started(BAN_EN)
    result = say(before, said, attached=["A mail."])
    assert result.state.pins == before.pins


@pytest.mark.parametrize("text", ["/forget c-0001" + ", c-0001" * 600, "lift " + "c-0001 " * 600])
def test_a_message_that_is_too_long_is_no_command(text: str) -> None:
    assert len(text) > MAX_COMMAND_CHARS
    assert parse_command(text) is None


def test_business_with_an_id_lifts_nothing() -> None:
    before = started(BAN_EN, BAN_JA)
    said = "Cancel C-0002 and refund the customer."
    result = say(before, said)
    assert (result.state.pins, result.state.questions) == (before.pins, [])
    assert say(before, said, release(said, "c-0002")).state.pins == before.pins


def test_beside_a_command_the_proposals_of_the_ccm_count_for_nothing() -> None:
    before = started(BAN_EN, BAN_JA)
    said = "lift c-0001"
    result = say(before, said, release(said, "c-0002"), add(said))
    assert texts(result) == [BAN_JA]
    assert result.state.questions == []


def test_several_rules_are_lifted_and_an_unknown_one_is_named() -> None:
    result = say(started(BAN_EN, BAN_JA), "/forget c-0001, c-0077 and c-0002")
    assert texts(result) == []
    (warning,) = result.warnings
    assert "c-0077" in warning
    assert "Nothing was changed" in warning


@pytest.mark.parametrize("said", ["/forget c-0077", "change c-0077 to: Never push."])
def test_an_unknown_id_changes_nothing_and_lists_the_active_ones(said: str) -> None:
    before = started(BAN_EN, BAN_JA)
    result = say(before, said)
    assert result.state.pins == before.pins
    (warning,) = result.warnings
    assert "no rule c-0077 is in force" in warning
    assert "c-0001, c-0002" in warning


def test_where_nothing_is_active_that_is_said() -> None:
    (warning,) = say(CommittedState(), "/forget c-0001").warnings
    assert "active: -" in warning


def test_a_rule_that_is_forgotten_twice_is_gone_once() -> None:
    gone = say(started(BAN_EN), "/forget c-0001")
    again = say(gone.state, "/forget c-0001")
    assert again.diff.constraints_released == []
    assert len(again.warnings) == 1


def test_an_amendment_replaces_the_rule_under_a_new_id() -> None:
    before = started(BAN_EN, "Refund at most 20 euros.")
    result = say(before, "change c-0002 to: Refund at most 50 euros.")
    (gone,) = result.diff.constraints_released
    (new,) = result.diff.constraints_added
    assert (gone.id, gone.replaced_by, new.id) == ("c-0002", "c-0003", "c-0003")
    assert texts(result) == [BAN_EN, "Refund at most 50 euros."]
    assert not new.tentative


def test_an_amendment_to_the_same_words_changes_nothing() -> None:
    before = started(BAN_EN)
    assert say(before, f"change c-0001 to: {BAN_EN}").state.pins == before.pins


def test_an_amendment_to_the_words_of_another_rule_leaves_that_one() -> None:
    result = say(started(BAN_EN, BAN_JA), f"change c-0001 to: {BAN_JA}")
    assert [pin.id for pin in result.state.pins] == ["c-0002"]
    assert result.diff.constraints_released[0].replaced_by == "c-0002"


def test_rules_of_a_user_have_their_own_ids_and_keep_their_scope() -> None:
    state = say(CommittedState(), "/rule always Never suggest peanuts.").state
    state = say(state, "/rule Never push.").state
    assert [(pin.id, pin.scope) for pin in state.pins] == [
        ("u-0001", RuleScope.USER),
        ("c-0001", RuleScope.SESSION),
    ]
    amended = say(state, "change u-0001 to: Never suggest nuts.").state
    (user,) = [pin for pin in amended.pins if pin.scope is RuleScope.USER]
    assert (user.id, user.text) == ("u-0002", "Never suggest nuts.")


def test_a_rule_by_command_is_sure_and_keeps_its_condition() -> None:
    said = "Never push. If it is Friday, ask me, and never delete."
    (pin,) = say(CommittedState(), f"/rule {said}").state.pins
    assert (pin.text, pin.tentative) == (said, False)


def test_commands_about_rules_leave_the_goal() -> None:
    before = started(BAN_EN, goal=GOAL)
    assert say(before, "/forget c-0001").state.goal_pin == before.goal_pin


@pytest.mark.parametrize("said", ["LIFT c-0001", "please lift c-0001", "Ｃ-0001を解除"])
def test_what_is_nearly_a_command_changes_nothing_and_shows_the_command(said: str) -> None:
    before = started(BAN_EN)
    result = say(before, said, release(said, None))
    assert (result.state.pins, result.state.questions) == (before.pins, [])
    assert "lift c-0001" in result.notes[0] or "c-0001 を解除" in result.notes[0]
