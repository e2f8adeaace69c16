"""Questions about rules: asked, answered, lapsed."""

import pytest

from acc_ace.core.gates.consent_notes import question_text, sole_question
from acc_ace.core.gates.constraints import MOST_QUESTIONS, QUESTION_TURNS
from acc_ace.errors import ConstraintBudgetError
from schemas.commit import ChangeKind, CommittedState
from schemas.limits import Limits
from tests.fakes.tables import each_case
from tests.unit.gate_turns import (
    BAN_EN,
    BAN_JA,
    add,
    amend,
    asked,
    release,
    reply,
    say,
    started,
    texts,
)

LIFT = "You may restart it again."


def waiting(turns: int) -> CommittedState:
    """A question about lifting a rule, and turns after it that speak of something else."""
    state = say(started(BAN_EN), LIFT, release(LIFT)).state
    for _ in range(turns):
        state = say(state, "How is the weather?").state
    return state


@each_case
def test_a_yes_to_the_only_question_of_the_last_answer_lifts_the_rule(yes: str) -> None:
    question = say(started(BAN_EN, BAN_JA), LIFT, release(LIFT))
    result = reply(question, yes)
    assert texts(result) == [BAN_JA]
    assert result.state.questions == []
    (gone,) = result.diff.constraints_released
    assert (gone.id, gone.quote) == ("c-0001", LIFT)


@each_case
def test_a_no_drops_the_question_and_keeps_the_rule(no: str) -> None:
    question = say(started(BAN_EN), LIFT, release(LIFT))
    result = reply(question, no)
    assert (result.state.pins, result.state.questions) == (question.state.pins, [])


@each_case
def test_anything_but_a_plain_yes_leaves_the_question_open(said: str) -> None:
    question = say(started(BAN_EN), LIFT, release(LIFT))
    result = reply(question, said)
    assert result.state.pins == question.state.pins
    assert result.state.questions == question.state.questions


def test_a_bare_yes_counts_only_in_the_next_turn() -> None:
    state = waiting(1)
    text = question_text(state.questions[0], state.pins, "en")
    result = say(state, "yes", answered=f"It is sunny.\n{text}")
    assert result.state.pins == state.pins
    assert len(result.state.questions) == 1


def test_an_id_answers_later_and_the_question_lapses_after_three_turns() -> None:
    assert QUESTION_TURNS == 3
    last = waiting(QUESTION_TURNS - 1)
    assert say(last, "yes q-0001").state.pins == []
    late = say(waiting(QUESTION_TURNS), "yes q-0001")
    assert texts(late) == [BAN_EN]
    assert late.state.questions == []
    (warning,) = late.warnings
    assert "q-0001 is not open" in warning
    assert "nothing was changed" in warning


@pytest.mark.parametrize("said", ["yes q-0001", "no q-0001"])
def test_an_answer_to_a_question_that_was_answered_says_so(said: str) -> None:
    answered = reply(say(started(BAN_EN), LIFT, release(LIFT)), "yes").state
    result = say(answered, said)
    assert result.diff.constraints_released == []
    assert any("q-0001 is not open" in warning for warning in result.warnings)


def test_the_number_of_a_question_is_never_used_again() -> None:
    state = say(waiting(0), "no q-0001").state
    again = say(state, LIFT, release(LIFT)).state
    assert [question.id for question in again.questions] == ["q-0002"]


@each_case
def test_beside_a_question_of_the_agents_own_a_bare_yes_settles_nothing(own: str) -> None:
    question = say(started(BAN_EN), LIFT, release(LIFT))
    answer = "\n".join((own, *question.notes))
    assert sole_question(question.state, answer) is None
    result = say(question.state, "yes", answered=answer)
    assert result.state.pins == question.state.pins
    assert say(question.state, "yes q-0001", answered=answer).state.pins == []


def test_with_two_questions_a_bare_yes_settles_neither_and_an_id_its_own() -> None:
    before = started(BAN_EN, BAN_JA)
    question = say(before, LIFT, release(LIFT), release(LIFT, "c-0002"))
    assert reply(question, "yes").state.pins == before.pins
    result = reply(question, "yes q-0002")
    assert texts(result) == [BAN_EN]
    assert [question.id for question in result.state.questions] == ["q-0001"]


def test_a_question_mark_in_the_rule_itself_does_not_count_as_another_question() -> None:
    rule = 'Never ask "Are you sure?" twice.'
    question = say(started(rule), LIFT, release(LIFT))
    assert reply(question, "yes").state.pins == []


def test_a_yes_adds_the_rules_that_were_listed() -> None:
    rules = [f"Never touch server {number}." for number in range(7)]
    question = say(CommittedState(), " ".join(rules), *map(add, rules))
    result = reply(question, "yes")
    assert texts(result) == rules
    assert not any(pin.tentative for pin in result.state.pins)
    assert texts(reply(question, "no")) == rules[:3]


def test_a_yes_changes_the_wording_of_a_rule() -> None:
    before = started("Keep latency below 200 ms.")
    said = "Make that below 350 ms from now on."
    question = say(before, said, amend(said, "below 350 ms"))
    assert question.state.pins == before.pins
    assert [(q.kind, q.texts) for q in question.state.questions] == [(ChangeKind.AMEND, [said])]
    result = reply(question, "yes")
    assert texts(result) == [said]
    assert result.diff.constraints_released[0].replaced_by == "c-0002"


def test_the_new_wording_is_own_words_or_the_quote() -> None:
    said = "Make that 350."
    question = say(started(BAN_EN), said, amend(said, "Restart at will."))
    assert asked(question) == [said]


def test_asking_about_the_same_again_replaces_the_question() -> None:
    first = say(started(BAN_EN), LIFT, release(LIFT)).state
    second = say(first, "Lift it now.", release("Lift it now.")).state
    assert [(q.id, q.quote) for q in second.questions] == [("q-0002", "Lift it now.")]


def test_questions_are_bounded_and_the_oldest_makes_room() -> None:
    rules = [f"Never touch the server {number}." for number in range(12)]
    before = started(*rules)
    changes = [release(LIFT, f"c-{number:04d}") for number in range(1, 13)]
    state = say(before, LIFT, *changes).state
    assert MOST_QUESTIONS == 8
    assert [q.rule_id for q in state.questions] == [f"c-{n:04d}" for n in range(5, 13)]


def test_a_lifted_rule_takes_its_questions_along() -> None:
    state = say(started(BAN_EN, BAN_JA), LIFT, release(LIFT), release(LIFT, "c-0002")).state
    result = say(state, "/forget c-0001")
    assert [question.rule_id for question in result.state.questions] == ["c-0002"]


def test_a_yes_that_overflows_the_budget_fails_loudly_and_loses_nothing() -> None:
    rules = [f"Never touch the production server number {number}." for number in range(8)]
    limits = Limits(constraints_tokens=40)
    question = say(CommittedState(), " ".join(rules), *map(add, rules), limits=limits)
    with pytest.raises(ConstraintBudgetError, match="nothing was committed"):
        say(question.state, "yes q-0001", limits=limits)


def test_questions_survive_the_state_that_is_stored() -> None:
    state = waiting(1)
    restored = CommittedState.from_state(state.to_state())
    assert restored.questions == state.questions
    assert say(restored, "yes q-0001").state.pins == []
