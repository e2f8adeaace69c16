"""The user's task, and words that replace it."""

import pytest

from acc_ace.core.text.rules.goal_detection import detect_goal
from acc_ace.core.text.rules.rule_detection import detect_rules
from tests.fakes.tables import each_case


@each_case
def test_a_stated_task_is_a_goal_but_no_change_of_one(text: str) -> None:
    goal = detect_goal(f"{text}")
    assert goal is not None
    assert goal.text == text
    assert not goal.explicit


@each_case
def test_outright_words_change_the_goal_even_after_a_stated_one(text: str) -> None:
    goal = detect_goal(f"We need to restore checkout.\n{text}")
    assert goal is not None
    assert goal.text == text
    assert goal.explicit


@each_case
def test_greetings_questions_reports_and_rules_are_no_goal(text: str) -> None:
    assert detect_goal(text) is None


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        (
            "Hello. We move db-01 to a new cluster. Please help me plan it.",
            "We move db-01 to a new cluster. Please help me plan it.",
        ),
        ("決済が止まっています。これを調査してください。",) * 2,
        ("The cache is slow. Help me plan a trip to Kyoto.", "Help me plan a trip to Kyoto."),
        ("Never restart db-01. Help me keep it up.", "Help me keep it up."),
        ("Please help me plan it.",) * 2,
    ],
)
def test_a_task_that_points_back_is_quoted_with_what_it_points_to(text: str, goal: str) -> None:
    found = detect_goal(text)
    assert found is not None
    assert found.text == goal


@each_case
def test_a_goal_with_a_deadline_or_a_limit_is_no_rule(text: str) -> None:
    assert detect_rules(text) == []


@each_case
def test_a_rule_beside_a_goal_stays_a_rule(text: str) -> None:
    assert len(detect_rules(text)) == 1


@each_case
def test_a_rule_that_begins_with_the_goal_is_a_rule_and_no_goal(text: str) -> None:
    [rule] = detect_rules(text)
    assert rule.text == text
    assert detect_goal(text) is None


@each_case
def test_a_goal_that_is_changed_on_request_is_no_rule(text: str) -> None:
    assert detect_rules(text) == []
    goal = detect_goal(text)
    assert goal is not None
    assert goal.explicit


@each_case
def test_a_goal_that_sounds_like_a_duty_is_the_goal(text: str) -> None:
    assert detect_rules(text) == []
    assert detect_goal(text) is not None


def test_a_sentence_may_change_the_goal_and_state_a_rule() -> None:
    text = "目標をコスト削減に変更するので本番には触らないでください。"
    assert len(detect_rules(text)) == 1
    goal = detect_goal(text)
    assert goal is not None
    assert goal.explicit
