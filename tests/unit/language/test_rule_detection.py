"""What counts as a rule, and whose words count."""

import pytest

from acc_ace.text.rules.rule_detection import detect_rules


def texts(text: str) -> list[str]:
    return [span.text for span in detect_rules(text)]


@pytest.mark.parametrize(
    "text",
    [
        "Prod is frozen until Monday",
        "監査の結果は口外無用です",
        "Restarts are off-limits during business hours",
        "Keep customer names out of tickets",
        "営業時間内は再起動禁止",
        "顧客名は伏せてください",
        "Only Aiko may approve a failover",
        "Budget cap is $500",
        "From now on answer in Japanese",
        "Could you please never email the client?",
        "As I said, never restart the primary.",
        "この資料は外部に出さないでもらえますか？",
    ],
)
def test_an_implicit_or_polite_rule_is_found(text: str) -> None:
    assert texts(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "It must have been the cache",
        "彼は必ず遅れて来る",
        "Bob said never to restart it",
        "Never mind",
        "I can't wait",
        "You should try the ramen place",
        "restart db-01 now",
        "show me the logs",
        "db-01を再起動してください",
        "The restart ban is lifted.",
        "The deployment freeze is to be lifted.",
        "Both restrictions are to be dropped on Monday.",
        "デプロイの凍結は解除される予定です。",
        "You may restart db-01 again.",
        "再起動禁止は解除します。",
    ],
)
def test_a_trap_is_no_rule(text: str) -> None:
    assert texts(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "The deployment freeze is not to be lifted.",
        "The freeze must never be lifted without approval.",
        "Restarts are to be avoided.",
        "All deploys are to be announced.",
    ],
)
def test_a_duty_about_a_rule_or_a_deed_is_one(text: str) -> None:
    assert texts(text) == [text]


def test_two_rules_in_a_sentence_are_two_spans_of_it() -> None:
    sentence = "Don't restart in business hours, and never delete backups."
    spans = detect_rules(f"Hello there. {sentence}")
    assert [span.text for span in spans] == [
        "Don't restart in business hours",
        "never delete backups.",
    ]
    assert {span.sentence for span in spans} == {sentence}


def test_a_one_off_order_beside_a_rule_is_left_out() -> None:
    assert texts("Restart web-1 now, but never restart db-01.") == ["never restart db-01."]


@pytest.mark.parametrize(
    "text",
    [
        "> Never restart db-01.",
        "```\nNever restart db-01.\n```",
        "The runbook says:\nNever restart db-01.",
        "2026-01-01 10:00:00 Never restart db-01.",
        "system: Never restart db-01.",
        'Bob\'s note reads "Never restart db-01." in red.',
    ],
)
def test_pasted_and_quoted_words_lay_no_rule(text: str) -> None:
    assert texts(text) == []


def test_the_speaker_is_heard_again_after_the_pasted_text() -> None:
    assert texts("The log says:\nall fine\n\nNever restart db-01.") == ["Never restart db-01."]


def test_an_announced_list_of_own_rules_counts() -> None:
    assert (
        len(texts("Please follow these rules:\n- Never restart db-01\n- Always cite sources")) == 2
    )


def test_hidden_and_full_width_characters_do_not_hide_a_rule() -> None:
    hidden = "Ne\u200bver restart db-01."
    assert texts(hidden) == [hidden]
    assert texts("Ｎｅｖｅｒ　ｒｅｓｔａｒｔ　ｄｂ－０１．") == [
        "Ｎｅｖｅｒ　ｒｅｓｔａｒｔ　ｄｂ－０１．"
    ]


def test_a_plan_in_a_second_clause_does_not_make_the_first_a_rule() -> None:
    said = "The checkout service returns 503 because db-01 is full, and we need to restore it."
    assert detect_rules(said) == []


@pytest.mark.parametrize(
    "text",
    [
        "Never, ever push to main.",
        "Never, never share the root password.",
        "Don't ever, ever merge on Fridays.",
        "No more than three retries per request.",
        "At no more than five requests per second.",
        "Not more than two deploys a day.",
        "No fewer than two reviewers per change.",
        "No more than 200 words, please.",
        "The staging key stays secret.",
        "The roadmap stays under wraps.",
        "The signing token is to stay secret.",
        "The customer list remains hidden.",
    ],
)
def test_emphasis_a_scoped_limit_and_what_stays_secret_are_rules(text: str) -> None:
    assert texts(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "Never, ever give up!",
        "Never, ever have I seen such a mess.",
        "No more than a week to go!",
        "No more than five minutes on foot.",
        "No more than three people came.",
        "It's no more than a rumour.",
        "No more than an hour a day left for it.",
        "She stays hidden in her room.",
        "The shop stays open until nine.",
    ],
)
def test_emphasis_and_amounts_in_chat_are_no_rules(text: str) -> None:
    assert texts(text) == []
