"""What an answer says about rules: changes made, and questions, in the language of the input."""

import pytest

from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.commit import CommittedState
from tests.unit.gate_turns import (
    BAN_EN,
    BAN_JA,
    add,
    aim,
    amend,
    ccs,
    release,
    reply,
    say,
    started,
)


def test_a_new_rule_is_shown_with_the_way_to_dismiss_it() -> None:
    assert say(CommittedState(), BAN_EN, add(BAN_EN)).notes == (
        f"+ c-0001 {BAN_EN} (/forget c-0001 if that was not meant)",
    )
    assert say(CommittedState(), BAN_JA, add(BAN_JA)).notes == (
        f"+ c-0001 {BAN_JA}（違う場合は /forget c-0001）",
    )


@pytest.mark.parametrize("said", [f"Rule: {BAN_EN}", f"/rule {BAN_EN}"])
def test_a_rule_that_the_user_labelled_is_shown_as_kept(said: str) -> None:
    assert say(CommittedState(), said).notes == (f"+ c-0001 {BAN_EN}",)


def test_a_release_names_what_was_lifted() -> None:
    before = started(BAN_EN, BAN_JA)
    assert say(before, "release c-0001").notes == (f"- c-0001 lifted: {BAN_EN}",)
    assert say(before, "c-0002 を解除").notes == (f"- c-0002 を解除しました：{BAN_JA}",)


def test_an_amendment_names_both_wordings_once() -> None:
    before = started(BAN_EN)
    assert say(before, "change c-0001 to: Never restart db-01.").notes == (
        f"~ c-0001 '{BAN_EN}' is now c-0002 'Never restart db-01.'",
    )
    assert say(before, "c-0001 を「常に再起動禁止」に変更").notes == (
        f"~ c-0001「{BAN_EN}」を c-0002「常に再起動禁止」に変更しました",
    )


@pytest.mark.parametrize(
    ("said", "kind", "note"),
    [
        ("Lift it.", release, f"Shall I lift c-0001 '{BAN_EN}'? (yes / no, q-0001)"),
        ("もういいです。", release, f"c-0001「{BAN_EN}」を解除しますか？（はい / いいえ、q-0001）"),
        (
            "Make it Sundays.",
            amend,
            f"Shall I change c-0001 '{BAN_EN}' to 'Make it Sundays.'? (yes / no, q-0001)",
        ),
        (
            "日曜も禁止。",
            amend,
            f"c-0001「{BAN_EN}」を 「日曜も禁止。」 に変更しますか？（はい / いいえ、q-0001）",
        ),
    ],
)
def test_a_question_has_the_rules_own_words(said: str, kind: object, note: str) -> None:
    change = release(said) if kind is release else amend(said)
    assert say(started(BAN_EN), said, change).notes == (note,)


def test_a_question_about_new_rules_lists_them() -> None:
    english = say(CommittedState(), BAN_EN, add(BAN_EN, sure=False)).notes
    assert english == (f"Shall I keep as rules: '{BAN_EN}'? (yes / no, q-0001)",)
    japanese = say(CommittedState(), BAN_JA, add(BAN_JA, sure=False)).notes
    assert japanese == (f"「{BAN_JA}」 をルールとして残しますか？（はい / いいえ、q-0001）",)


def test_a_question_about_the_goal_quotes_it() -> None:
    said = "We write the postmortem."
    result = say(started(goal="Restore the checkout."), said, aim(said))
    assert result.notes == (f"Shall I make '{said}' the goal? (yes / no, q-0001)",)


def test_pinned_rules_come_before_the_question_about_the_rest() -> None:
    rules = [f"Never touch server {number}." for number in range(5)]
    notes = say(CommittedState(), " ".join(rules), *map(add, rules)).notes
    assert [note[:2] for note in notes] == ["+ ", "+ ", "+ ", "Sh"]
    assert "'Never touch server 3.'; 'Never touch server 4.'" in notes[-1]


def test_words_that_lift_nothing_are_answered_with_the_command_that_does() -> None:
    before = started(BAN_EN, BAN_JA)
    english = say(before, "Lift the travel ban.", release("Lift the travel ban.", None)).notes
    assert english == (
        "'Lift the travel ban.' lifted nothing. To lift a rule, send only: release c-0001 "
        "(active: c-0001, c-0002)",
    )
    japanese = say(before, "旅行の禁止は解除です。", release("旅行の禁止は解除です。", None)).notes
    assert japanese == (
        "「旅行の禁止は解除です。」では何も解除していません。解除するには「c-0001 を解除」とだけ"
        "送ってください（有効：c-0001, c-0002）",
    )


def test_of_many_active_rules_a_few_are_listed() -> None:
    before = started(*(f"Never touch the server {number}." for number in range(9)))
    (note,) = say(before, "Lift it.", release("Lift it.", None)).notes
    assert "c-0008" in note
    assert "c-0009" not in note
    assert "…" in note


def test_where_no_rule_is_active_an_end_of_something_is_no_matter() -> None:
    said = "The hiring freeze is over."
    assert say(CommittedState(), said, release(said, None)).notes == ()


def test_what_a_yes_did_is_shown() -> None:
    question = say(started(BAN_EN), "Lift it.", release("Lift it."))
    assert reply(question, "yes").notes == (f"- c-0001 lifted: {BAN_EN}",)
    assert reply(question, "no").notes == ()


def test_a_question_is_asked_once() -> None:
    question = say(started(BAN_EN), "Lift it.", release("Lift it."))
    assert say(question.state, "How is the weather?").notes == ()


@pytest.mark.parametrize("authority", [Authority.TOOL, Authority.RETRIEVED, Authority.AGENT])
def test_words_of_others_are_answered_with_nothing(authority: Authority) -> None:
    said = f"Rule: {BAN_EN}"
    result = say(started(BAN_JA), said, add(said), release(said), authority=authority)
    assert result.notes == ()


def test_a_turn_without_a_rule_has_no_note() -> None:
    assert say(started(BAN_EN), "Hello.", proposal=ccs(semantic_gist="calm")).notes == ()


def test_a_long_rule_is_shortened_in_a_question_and_whole_where_it_is_lifted() -> None:
    rule = "Never touch " + "the production servers of Osaka, " * 20 + "ever."
    before = started(rule)
    (question,) = say(before, "Lift it.", release("Lift it.")).notes
    assert "…" in question
    assert len(question) < len(rule)
    assert say(before, "/forget c-0001").notes == (f"- c-0001 lifted: {rule}",)
