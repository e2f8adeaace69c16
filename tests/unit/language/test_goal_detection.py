"""The user's task, and words that replace it."""

import pytest

from acc_ace.text.rules.goal_detection import detect_goal
from acc_ace.text.rules.rule_detection import detect_rules


@pytest.mark.parametrize(
    "text",
    [
        "Our goal is to restore checkout.",
        "Help me plan a trip to Kyoto.",
        "We need to restore checkout.",
        "Could you help us migrate the database?",
        "目標は決済の復旧です。",
        "目標は金曜日までに請求システムを移行することです。",
        "今期の目標は、離職率を5%以下にすることです。",
        "目標は障害を二度と起こさないことです。",
        "障害の原因を調査してほしい。",
    ],
)
def test_a_stated_task_is_a_goal_but_no_change_of_one(text: str) -> None:
    goal = detect_goal(f"{text}")
    assert goal is not None
    assert goal.text == goal.quote == text
    assert not goal.explicit


@pytest.mark.parametrize(
    "text",
    [
        "New goal: find the leak.",
        "Let's switch to the billing bug.",
        "From now on the goal is to cut costs.",
        "目標をコスト削減に変更します。",
        "目標を来月の移行に変更します。",
        "目標：月末までに棚卸しを完了すること",
    ],
)
def test_outright_words_change_the_goal_even_after_a_stated_one(text: str) -> None:
    goal = detect_goal(f"We need to restore checkout.\n{text}")
    assert goal is not None
    assert goal.text == text
    assert goal.explicit


@pytest.mark.parametrize(
    "text",
    [
        "Hello!",
        "What is our goal?",
        "Never restart db-01",
        "Bob says our goal is to win",
        "おはよう",
        "",
    ],
)
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
    assert found.text == found.quote == goal


@pytest.mark.parametrize(
    "text",
    [
        "目標は金曜日までに請求システムを移行することです。",
        "今期の目標は、離職率を5%以下にすることです。",
        "目標は障害を二度と起こさないことです。",
        "目標：月末までに棚卸しを完了すること",
        "目標を来月の移行に変更します。",
    ],
)
def test_a_goal_with_a_deadline_or_a_limit_is_no_rule(text: str) -> None:
    assert detect_rules(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "目標は移行の完了で、深夜の再起動は禁止です。",
        "目標は金曜日までの移行ですが、本番は再起動しないでください。",
        "目的は問わず、個人情報の持ち出しは禁止です。",
        "目標達成のため、必ず毎日報告してください。",
    ],
)
def test_a_rule_beside_a_goal_stays_a_rule(text: str) -> None:
    assert len(detect_rules(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "ゴールは変わらないので本番には触らないでください。",
        "目標を達成するまで本番の設定を変更しないでください。",
        "目標を変更する場合は必ず事前に承認を取ってください。",
        "目標を勝手に変更しないでください。",
        "目標は絶対に変更しないでください。",
        "目標は変更しないこと。",
        "目標は変えるな。",
        "目標は変更に承認が必要です。",
        "目標は毎回確認してください。",
        "目標は必ず毎週確認すること。",
        "目標は必ず私に相談してから変更すること。",
        "目標は必ず部長の承認を得ること。",
        "目標は必ず達成すること。",
        "目標は、変更前に必ず理由を説明すること。",
        "目標を障害が起きたら復旧に変更してください。",
        "目標を勝手に変更することは禁止です。",
        "目標は当面凍結します。",
        "目標を超えたら必ず手動に切り替えてください。",
        "今期の目標を変えるときは必ず私に確認してください。",
        "移行の目的を確認せずに設定を変更してはいけません。",
        "目的を問わず設定の変更は禁止です。",
        "ミッションを終えるまで設定は変更禁止です。",
    ],
)
def test_a_rule_that_begins_with_the_goal_is_a_rule_and_no_goal(text: str) -> None:
    [rule] = detect_rules(text)
    assert rule.text == text
    assert detect_goal(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "今後の目標をコスト削減に変更してください。",
        "目標を金曜日までに移行を終えることに変更してください。",
        "では、目標を今週中の復旧に切り替えましょう。",
        "目標を月曜の朝9時までの復旧に変更します。",
        "目標を必ず金曜までに移行することに変更してください。",
        "目標を障害が起きたら5分で復旧することに変更してください。",
        "目標を常に稼働率99%以上を保つことに変更します。",
    ],
)
def test_a_goal_that_is_changed_on_request_is_no_rule(text: str) -> None:
    assert detect_rules(text) == []
    goal = detect_goal(text)
    assert goal is not None
    assert goal.explicit


@pytest.mark.parametrize(
    "text",
    [
        "目標は金曜日までに移行を終えなくてはなりません。",
        "目標は必ず金曜日までに移行を終えることです。",
        "目標は納期厳守です。",
        "目標は部長の承認を得ることです。",
        "目標は、必ず金曜日までに移行を完了すること。",
        "目標は、必ず金曜日までに設定を変更すること。",
        "目標：必ず月末までに棚卸しを完了すること",
    ],
)
def test_a_goal_that_sounds_like_a_duty_is_the_goal(text: str) -> None:
    assert detect_rules(text) == []
    assert detect_goal(text) is not None


def test_a_sentence_may_change_the_goal_and_state_a_rule() -> None:
    text = "目標をコスト削減に変更するので本番には触らないでください。"
    assert len(detect_rules(text)) == 1
    goal = detect_goal(text)
    assert goal is not None
    assert goal.explicit
