"""What an answer says about rules, in the language of the input."""

import pytest

from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.commit import CommittedState, RuleChange
from acc_ace.core.schemas.limits import Limits
from tests.unit.gate_turns import (
    BAN_EN,
    BAN_JA,
    GOAL,
    add,
    aim,
    amend,
    ccs,
    permit,
    release,
    reply,
    say,
    started,
    texts,
)

LIFT = "You may restart db-01 again."


@pytest.mark.parametrize(
    ("rule", "shown", "back"),
    [
        (BAN_EN, "In force: c-0001", "no c-0001"),
        (BAN_JA, "有効になりました：c-0001", "c-0001 を取り消し"),
    ],
)
def test_a_new_rule_is_shown_with_the_way_to_take_it_back(rule: str, shown: str, back: str) -> None:
    result = say(CommittedState(), rule, add(rule))
    (note,) = result.notes
    assert note.startswith(shown)
    assert rule in note
    assert back in note
    assert texts(reply(result, back)) == []


@pytest.mark.parametrize("said", [f"Rule: {BAN_EN}", f"/rule {BAN_EN}"])
def test_a_rule_that_the_user_labelled_is_shown_as_in_force(said: str) -> None:
    (note,) = say(CommittedState(), said).notes
    assert note == f"In force: c-0001 {BAN_EN}"


@pytest.mark.parametrize(
    ("rule", "lift", "small", "late", "known"),
    [
        (BAN_EN, LIFT, "Fine weather.", "yes q-0001", "q-0001"),
        (BAN_JA, "営業時間内の再起動禁止を解除します。", "よい天気です。", "はい q-0001", "q-0001"),
    ],
)
def test_a_consent_to_what_has_lapsed_is_told_that_it_changed_nothing(
    rule: str, lift: str, small: str, late: str, known: str
) -> None:
    result = say(started(rule), lift, release(lift))
    for _ in range(4):
        result = reply(result, small)
    for again in (late, f"drop {known}"):
        result = reply(result, again)
        (note,) = result.notes
        assert known in note
        assert texts(result) == [rule]


@pytest.mark.parametrize(
    ("said", "language"),
    [("lift c-0009", "Nothing was changed"), ("c-0009 を解除", "何も変更していません")],
)
def test_a_command_about_no_rule_in_force_says_so_in_its_language(said: str, language: str) -> None:
    result = say(started(BAN_EN), said)
    (note,) = result.notes
    assert (note.startswith(language), "c-0009" in note, "c-0001" in note) == (True, True, True)


def test_a_command_about_what_the_system_set_says_that_it_is_not_the_users() -> None:
    before = say(CommittedState(), f"Rule: {BAN_EN}", authority=Authority.SYSTEM).state
    (note,) = say(before, "lift c-0001").notes
    assert "c-0001 has system authority" in note


PENDING = "Never refund more than 20 euros."


@pytest.mark.parametrize(
    "said",
    [
        "yes q-0001, yes q-0002",
        "keep q-1 and drop q-2",
        "yes q-0001\nyes q-0002",
        "yes, lift the restart rule and restart db-01 now",
        "はい q-0001、はい q-0002",
    ],
)
def test_a_consent_beside_something_else_changes_nothing_and_the_way_is_shown(said: str) -> None:
    more = "Refunds may be higher again."
    asked = say(started(BAN_EN, PENDING), LIFT, release(LIFT)).state
    asked = say(asked, more, release(more, "c-0002")).state
    result = say(asked, said)
    assert texts(result) == [BAN_EN, PENDING]
    notes = "\n".join(result.notes)
    assert "Nothing was changed" in notes or "何も変更していません" in notes
    assert "lift c-0001" in notes or "c-0001 を解除" in notes


def test_a_rule_that_is_lifted_as_its_question_lapses_is_said_once() -> None:
    result = say(started(BAN_EN), LIFT, release(LIFT))
    for _ in range(3):
        result = reply(result, "It is a fine day.")
    assert reply(result, "lift c-0001").notes == (f"Lifted: c-0001 {BAN_EN}",)


def test_a_release_names_what_was_lifted() -> None:
    before = started(BAN_EN, BAN_JA)
    (english,) = say(before, "lift c-0001").notes
    assert ("c-0001" in english, BAN_EN in english) == (True, True)
    (japanese,) = say(before, "c-0002 を解除").notes
    assert ("c-0002" in japanese, BAN_JA in japanese, "解除" in japanese) == (True, True, True)


@pytest.mark.parametrize(
    ("said", "new"),
    [
        ("change c-0001 to: Never restart db-01.", "Never restart db-01."),
        ("c-0001 を「常に再起動禁止」に変更", "常に再起動禁止"),
    ],
)
def test_an_amendment_names_both_wordings_once(said: str, new: str) -> None:
    (note,) = say(started(BAN_EN), said).notes
    assert note.index(BAN_EN) < note.index("c-0002") < note.rindex(new)


@pytest.mark.parametrize(
    ("said", "change"),
    [
        (LIFT, release(LIFT)),
        ("再起動の制限は解除です。", release("再起動の制限は解除です。")),
        (LIFT, amend(LIFT, "Never restart db-01 on Mondays.")),
    ],
)
def test_a_question_quotes_the_rule_and_says_that_it_is_still_in_force(
    said: str, change: RuleChange
) -> None:
    (note,) = say(started(BAN_EN), said, change).notes
    assert BAN_EN in note
    assert "Still in force" in note or "有効なまま" in note
    assert "send only" in note or "次の文だけを送って" in note


def test_a_question_about_a_permission_quotes_it_and_shows_how_to_keep_it() -> None:
    (english,) = say(CommittedState(), LIFT, permit(LIFT)).notes
    assert LIFT in english
    assert "keep q-0001" in english
    said = "返金は自由に行ってよい。"
    (japanese,) = say(CommittedState(), said, permit(said)).notes
    assert said in japanese
    assert "keep q-0001" in japanese


def test_a_question_about_the_goal_quotes_it() -> None:
    said = "We write the postmortem."
    (note,) = say(started(goal=GOAL), said, aim(said)).notes
    assert said in note
    assert "q-0001" in note


def test_of_a_long_list_the_answer_says_how_many_are_in_force_and_where_they_are() -> None:
    rules = [f"Never touch server {number}." for number in range(30)]
    result = say(CommittedState(), "\n".join(rules), *map(add, rules))
    notes = "\n".join(result.notes)
    assert texts(result) == rules
    assert "30" in notes
    assert "/rules" in notes
    assert len(result.notes) < 30


@pytest.mark.parametrize(
    ("rule_id", "said"), [(None, "Lift the travel ban."), ("c-0099", "旅行の禁止は解除です。")]
)
def test_words_that_lift_nothing_are_answered_with_the_command_that_does(
    rule_id: str | None, said: str
) -> None:
    before = started(BAN_EN, BAN_JA)
    result = say(before, said, release(said, rule_id))
    (note,) = result.notes
    assert result.state.pins == before.pins
    assert said in note
    assert "lift c-0001" in note or "c-0001 を解除" in note


def test_of_many_active_rules_a_few_are_listed() -> None:
    before = started(*(f"Never touch the server {number}." for number in range(9)))
    said = "Lift the travel ban."
    (note,) = say(before, said, release(said, None)).notes
    assert "c-0008" in note
    assert "c-0009" not in note
    assert "…" in note


@pytest.mark.parametrize("said", ["lift c-0001", "yes, lift the restart rule"])
def test_what_a_consent_did_is_shown(said: str) -> None:
    question = say(started(BAN_EN), LIFT, release(LIFT))
    (note,) = reply(question, said).notes
    assert ("c-0001" in note, BAN_EN in note) == (True, True)


@pytest.mark.parametrize("said", ["no q-0001", "no, keep the restart rule"])
def test_what_a_refusal_left_is_said(said: str) -> None:
    question = say(started(BAN_EN), LIFT, release(LIFT))
    result = reply(question, said)
    (note,) = result.notes
    assert (texts(result), result.state.questions) == ([BAN_EN], [])
    assert "c-0001" in note
    assert "othing was changed" in note


def test_what_has_no_room_is_said_not_kept_with_the_reason_and_the_way() -> None:
    limits = Limits(constraints_tokens=32)
    rules = [f"Never touch the production server number {number}." for number in range(4)]
    result = say(CommittedState(), " ".join(rules), *map(add, rules), limits=limits)
    notes = "\n".join(result.notes)
    kept = texts(result)
    assert kept == rules[: len(kept)]
    assert 0 < len(kept) < len(rules)
    for rule in rules[len(kept) :]:
        assert rule in notes
    assert "no room" in notes
    assert "ACC_ACE_LIMITS__CONSTRAINTS_TOKENS" in notes


def test_an_amendment_without_a_new_wording_is_said_with_the_way_to_give_one() -> None:
    said = "Make the restart rule laxer."
    result = say(started(BAN_EN), said, amend(said))
    (note,) = result.notes
    assert result.state.questions == []
    assert said in note
    assert "change c-0001 to:" in note


@pytest.mark.parametrize("authority", [Authority.TOOL, Authority.RETRIEVED, Authority.AGENT])
def test_words_of_others_are_answered_with_nothing(authority: Authority) -> None:
    said = f"Rule: {BAN_EN}"
    result = say(started(BAN_JA), said, add(said), release(said), authority=authority)
    assert result.notes == ()


def test_a_turn_without_a_rule_has_no_note() -> None:
    assert say(started(BAN_EN), "Hello.", proposal=ccs(semantic_gist="calm")).notes == ()


def test_a_long_rule_is_whole_where_it_is_asked_about_and_where_it_is_lifted() -> None:
    rule = "Never touch " + "the production servers of Osaka, " * 20 + "ever."
    said = "The production servers of Osaka may be touched."
    before = started(rule)
    (question,) = say(before, said, release(said)).notes
    assert rule in question
    (lifted,) = say(before, "/forget c-0001").notes
    assert rule in lifted
