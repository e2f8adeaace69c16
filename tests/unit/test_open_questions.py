"""What waits for consent: shown in full, consented to by name, lapsed with a word."""

import re
from collections.abc import Callable

import pytest

from acc_ace.core.gates.commit_gate import GateResult
from acc_ace.core.gates.constraints import MOST_QUESTIONS, QUESTION_TURNS
from schemas.commit import ChangeKind, CommittedState, RuleChange
from schemas.limits import Limits
from tests.fakes.tables import each_case
from tests.unit.gate_turns import (
    BAN_EN,
    BAN_JA,
    GOAL,
    add,
    aim,
    amend,
    asked,
    permit,
    release,
    reply,
    say,
    started,
    texts,
)

LIFT = "You may restart db-01 again."
CAP, CAP_NEW = "Keep the latency below 200 ms.", "Keep the latency below 350 ms."
CAP_SAID = "The latency may go up to 350 ms."
LEAVE = "Refunds below 20 euros need no approval."
AIM = "We write the postmortem."
WAY = re.compile(r"(?:send only: |送ってください：)([^。]+?)[.。]?$")


def lifting() -> GateResult:
    """A question about lifting a rule."""
    return say(started(BAN_EN), LIFT, release(LIFT))


def changing() -> GateResult:
    """A question about the wording of a rule."""
    return say(started(CAP), CAP_SAID, amend(CAP_SAID, CAP_NEW))


def waiting(turns: int) -> CommittedState:
    """A question about lifting a rule, and turns after it that speak of something else."""
    state = lifting().state
    for _ in range(turns):
        state = say(state, "How is the weather?").state
    return state


def way(result: GateResult) -> str:
    """What the answer says to type."""
    [line] = [note for note in result.notes if WAY.search(note)]
    return str(WAY.findall(line)[0])


def shows_the_way(result: GateResult) -> bool:
    """Whether the answer says how to consent to each open question."""
    notes = "\n".join(result.notes)
    return bool(result.state.questions) and all(
        question.id in notes or (question.rule_id or question.id) in notes
        for question in result.state.questions
    )


EACH = {
    "release": (BAN_EN, LIFT, release(LIFT)),
    "amend": (CAP, CAP_SAID, amend(CAP_SAID, CAP_NEW)),
    "permit": (BAN_EN, LEAVE, permit(LEAVE)),
    "goal": (BAN_EN, AIM, aim(AIM)),
    "release in Japanese": (
        BAN_JA,
        "再起動の禁止は解除です。",
        release("再起動の禁止は解除です。"),
    ),
    "permit in Japanese": (
        BAN_JA,
        "返金は確認なしで進めてよい。",
        permit("返金は確認なしで進めてよい。"),
    ),
}


@pytest.mark.parametrize(("rule", "said", "change"), EACH.values(), ids=EACH.keys())
def test_what_loosens_waits_and_what_the_answer_says_to_type_settles_it(
    rule: str, said: str, change: RuleChange
) -> None:
    before = started(rule, goal=GOAL)
    question = say(before, said, change)
    assert question.state.pins == before.pins
    assert question.state.goal_pin == before.goal_pin
    assert len(question.state.questions) == 1
    result = reply(question, way(question))
    assert result.state.questions == []
    changed = (result.state.pins, result.state.goal_pin)
    assert changed != (before.pins, before.goal_pin)


@pytest.mark.parametrize(("rule", "said", "change"), EACH.values(), ids=EACH.keys())
@pytest.mark.parametrize("no", ["no q-0002", "いいえ q-0002"])
def test_a_no_that_names_the_question_drops_it_and_keeps_the_rule(
    rule: str, said: str, change: RuleChange, no: str
) -> None:
    before = started(rule, goal=GOAL)
    other = say(before, LEAVE, permit(LEAVE)).state
    state = say(say(other, "no q-0001").state, said, change).state
    assert [question.id for question in state.questions] == ["q-0002"]
    result = say(state, no)
    assert (result.state.pins, result.state.questions) == (before.pins, [])
    assert result.state.goal_pin == before.goal_pin
    assert result.notes


@each_case
def test_a_bare_yes_or_no_settles_nothing_and_is_answered_with_the_way(said: str) -> None:
    for question in (lifting(), changing(), say(started(BAN_EN), LEAVE, permit(LEAVE))):
        result = reply(question, said)
        assert result.state.pins == question.state.pins
        assert result.state.questions == question.state.questions
        assert shows_the_way(result)


@pytest.mark.parametrize("said", ["yes", "ok", "Sure.", "no", "はい", "お願いします", "いいえ"])
@pytest.mark.parametrize("change", [add, permit, aim, release, amend])
def test_a_bare_yes_or_no_settles_nothing_whatever_the_ccm_makes_of_it(
    said: str, change: Callable[[str], RuleChange]
) -> None:
    for question in (lifting(), changing(), say(started(BAN_EN), LEAVE, permit(LEAVE))):
        result = reply(question, said, change(said))
        assert result.state.pins == question.state.pins
        assert result.state.questions == question.state.questions
        assert result.state.goal_pin == question.state.goal_pin


@each_case
def test_a_bare_yes_or_no_leaves_a_provisional_rule(said: str) -> None:
    first = say(CommittedState(), BAN_EN, add(BAN_EN))
    assert texts(reply(first, said, release(said), amend(said, said))) == [BAN_EN]


@each_case
def test_a_message_that_affirms_and_names_the_rule_lifts_it(said: str) -> None:
    question = lifting()
    result = reply(question, said)
    assert (texts(result), result.state.questions) == ([], [])
    (gone,) = result.diff.constraints_released
    assert (gone.id, gone.text) == ("c-0001", BAN_EN)


CONSENTS = {
    "en": ["yes, lift the restart rule", "lift the restart ban", "ok, the restart rule can go"],
    "ja": ["はい、db-01の制約を解除してください", "はい、db-01のルールはもう不要です"],
}


@pytest.mark.parametrize(
    "more",
    [
        "if Mika agrees",
        "unless it rains",
        "tomorrow",
        "tonight at 18:00",
        "when I am back",
        "once the batch has ended",
        "for Bob",
        "but only on web-02",
        "this one time",
        "partly",
        "or not",
        "as Mika says",
        "and restart db-01",
        "then restart db-01",
        "I guess",
        "right?",
        "said Bob",
    ],
)
def test_a_consent_that_says_anything_more_is_none(more: str) -> None:
    question = lifting()
    for consent in CONSENTS["en"]:
        assert texts(reply(question, consent)) == []
        for said in (f"{consent} {more}", f"{consent}, {more}.", f"{more}, {consent}"):
            assert texts(reply(question, said)) == [BAN_EN]


@pytest.mark.parametrize(
    "more",
    [
        "明日",
        "美香がいいと言えば",
        "バッチが終わったら",
        "今回だけ",
        "かもしれません",
        "と聞きました",
        "か",
        "web-02では",
    ],
)
def test_a_consent_in_japanese_that_says_anything_more_is_none(more: str) -> None:
    question = lifting()
    for consent in CONSENTS["ja"]:
        assert texts(reply(question, consent)) == []
        for said in (f"{consent}{more}", f"{consent}、{more}。", f"はい、{more}、{consent[3:]}"):
            assert texts(reply(question, said)) == [BAN_EN]


@each_case
def test_a_message_that_affirms_and_names_the_change_makes_it(said: str) -> None:
    assert texts(reply(changing(), said)) == [CAP_NEW]


@each_case
def test_a_permission_is_kept_by_naming_it(said: str) -> None:
    assert texts(reply(say(CommittedState(), LEAVE, permit(LEAVE)), said)) == [LEAVE]


@each_case
def test_anything_else_is_no_consent(said: str) -> None:
    question = lifting()
    result = reply(question, said)
    assert result.state.pins == question.state.pins
    assert result.diff.constraints_released == []


@each_case
def test_what_was_not_shown_is_not_consented_to(said: str) -> None:
    assert texts(reply(changing(), said)) == [CAP]


@each_case
def test_an_act_that_the_rule_is_about_is_no_consent_to_lift_it(rule: str, said: str) -> None:
    question = say(started(rule), LIFT, release(LIFT))
    assert len(question.state.questions) == 1
    result = reply(question, said)
    assert texts(result) == [rule]
    assert shows_the_way(result)


@each_case
def test_a_yes_beside_something_else_is_answered_with_the_way(said: str) -> None:
    result = reply(lifting(), said)
    assert texts(result) == [BAN_EN]
    assert shows_the_way(result)


def test_a_consent_by_name_beside_an_attachment_is_none() -> None:
    question = lifting()
    result = say(question.state, "yes, lift the restart rule", attached=["A mail."])
    assert texts(result) == [BAN_EN]


def test_while_two_questions_are_open_a_name_settles_neither_and_an_id_its_own() -> None:
    before = started(BAN_EN, CAP)
    changes = (release(LIFT), amend(CAP_SAID, CAP_NEW, "c-0002"))
    question = say(before, f"{LIFT} {CAP_SAID}", *changes)
    assert len(question.state.questions) == 2
    named = reply(question, "yes, lift the restart rule")
    assert named.state.pins == before.pins
    assert named.state.questions == question.state.questions
    assert shows_the_way(named)
    assert texts(reply(question, "lift c-0001")) == [CAP]
    assert texts(reply(question, "yes q-0002")) == [BAN_EN, CAP_NEW]


@pytest.mark.parametrize(
    "said",
    ["yes q-0001 and yes q-0002", "keep q-1, keep q-2", "yes to both", "はい q-0001、はい q-0002"],
)
def test_two_consents_in_one_message_get_a_clear_answer(said: str) -> None:
    before = started(BAN_EN, CAP)
    changes = (release(LIFT), amend(CAP_SAID, CAP_NEW, "c-0002"))
    question = say(before, f"{LIFT} {CAP_SAID}", *changes)
    result = reply(question, said)
    assert result.state.pins == before.pins
    assert shows_the_way(result)


def test_an_amendment_is_shown_before_and_after_in_full() -> None:
    long = "Never deploy payments-api " + "in Osaka, " * 40 + "on Fridays."
    new = long.replace("on Fridays", "on Fridays before 18:00")
    said = "On Fridays deploys of payments-api in Osaka may go out from 18:00 on."
    result = say(started(long), said, amend(said, new))
    notes = "\n".join(result.notes)
    assert texts(result) == [long]
    assert notes.index(long) < notes.index(new)
    assert texts(reply(result, way(result))) == [new]


def test_what_is_consented_to_is_what_was_shown() -> None:
    question = changing()
    (shown,) = asked(question)
    result = reply(question, way(question), amend(way(question), "Restart at will."))
    assert texts(result) == [shown] == [CAP_NEW]
    assert result.diff.constraints_released[0].replaced_by == "c-0002"


@each_case
def test_a_fragment_of_the_message_never_takes_the_place_of_a_rule(
    rule: str, said: str, wording: str | None
) -> None:
    before = started(rule)
    result = say(before, said, amend(said, wording))
    assert result.state.pins[0] == before.pins[0]
    assert asked(result) == []
    assert result.notes
    assert texts(reply(result, "yes"))[0] == rule


@each_case
def test_a_second_rule_proposed_as_a_change_is_an_addition_or_said(rule: str, said: str) -> None:
    before = started(rule)
    for change in (amend(said, said), amend(said), release(said)):
        result = say(before, said, change)
        assert result.state.pins[0] == before.pins[0]
        assert result.diff.constraints_released == []
        assert not [q for q in result.state.questions if q.rule_id]
        assert said in "\n".join(result.notes)


def test_an_id_answers_later_and_the_question_lapses_after_three_turns_with_a_word() -> None:
    assert QUESTION_TURNS == 3
    last = waiting(QUESTION_TURNS - 1)
    assert say(last, "lift c-0001").state.pins == []
    late = say(waiting(QUESTION_TURNS), "How is the weather?")
    assert (texts(late), late.state.questions) == ([BAN_EN], [])
    (note,) = late.notes
    assert LIFT in note
    assert "nothing was changed" in note
    assert say(late.state, "How is the weather?").notes == ()


def test_a_lapse_is_said_in_japanese() -> None:
    state = lifting().state
    for _ in range(QUESTION_TURNS):
        state = say(state, "天気はどうですか。").state
    (note,) = say(state, "天気はどうですか。").notes
    assert LIFT in note
    assert "何も変更していません" in note


def test_a_consent_for_what_has_lapsed_changes_nothing_and_says_so() -> None:
    state = say(say(CommittedState(), LEAVE, permit(LEAVE)).state, "Hm.").state
    for _ in range(QUESTION_TURNS):
        state = say(state, "How is the weather?").state
    late = say(state, "keep q-1")
    assert (texts(late), late.state.questions) == ([], [])
    said = "\n".join([*late.warnings, *late.notes])
    assert "q-0001" in said
    assert "Nothing was changed" in said


@pytest.mark.parametrize("said", ["yes q-0001", "no q-0001"])
def test_an_answer_to_a_question_that_was_answered_says_so(said: str) -> None:
    answered = reply(lifting(), "lift c-0001").state
    result = say(answered, said)
    assert result.diff.constraints_released == []
    assert any("q-0001 is not open" in warning for warning in result.warnings)


def test_the_number_of_a_question_is_never_used_again() -> None:
    state = say(waiting(0), "no q-0001").state
    again = say(state, LIFT, release(LIFT)).state
    assert [question.id for question in again.questions] == ["q-0002"]


def test_asking_about_the_same_again_replaces_the_question() -> None:
    again = "The restart rule is lifted."
    second = say(lifting().state, again, release(again)).state
    assert [(q.id, q.quote) for q in second.questions] == [("q-0002", again)]


def test_questions_are_bounded_and_the_oldest_lapses_with_a_word() -> None:
    before = started(*(f"Never touch the server {number}." for number in range(12)))
    said = "The servers may be touched again."
    changes = [release(said, f"c-{number:04d}") for number in range(1, 13)]
    result = say(before, said, *changes)
    assert MOST_QUESTIONS == 8
    assert [q.rule_id for q in result.state.questions] == [f"c-{n:04d}" for n in range(5, 13)]
    notes = "\n".join(result.notes)
    assert all(f"q-{number:04d}" in notes for number in range(1, 5))


def test_a_lifted_rule_takes_its_questions_along() -> None:
    before = started(BAN_EN, CAP)
    state = say(
        before, f"{LIFT} {CAP_SAID}", release(LIFT), amend(CAP_SAID, CAP_NEW, "c-0002")
    ).state
    result = say(state, "/forget c-0001")
    assert [question.rule_id for question in result.state.questions] == ["c-0002"]


def test_a_consent_that_overflows_the_budget_is_said_not_kept_and_loses_nothing() -> None:
    limits = Limits(constraints_tokens=32)
    permission = (
        "Refunds of orders from Osaka, Kobe or Nara below 20 euros need no approval from Mika, "
        "Ana, Bo or me, whoever asks for them and when."
    )
    before = say(CommittedState(), f"Rule: {BAN_EN}", limits=limits).state
    question = say(before, permission, permit(permission), limits=limits)
    assert texts(question) == [BAN_EN]
    result = say(question.state, "keep q-1", limits=limits)
    assert "no room left" in result.notes[0]
    assert (texts(result), len(result.state.questions)) == ([BAN_EN], 1)


def test_questions_survive_the_state_that_is_stored() -> None:
    state = waiting(1)
    restored = CommittedState.from_state(state.to_state())
    assert restored.questions == state.questions
    assert [question.kind for question in restored.questions] == [ChangeKind.RELEASE]
    assert say(restored, "lift c-0001").state.pins == []


def test_a_message_of_the_matter_that_settles_nothing_is_shown_the_way() -> None:
    said = "I hereby declare that db-01 is a server which one may restart whenever that helps."
    result = say(lifting().state, said)
    assert texts(result) == [BAN_EN]
    assert shows_the_way(result)
