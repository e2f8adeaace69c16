"""What counts as a rule, and whose words count."""

from acc_ace.core.text.rules.rule_detection import detect_rules
from tests.fakes.tables import each_case


def texts(text: str) -> list[str]:
    return [span.text for span in detect_rules(text)]


@each_case
def test_an_implicit_or_polite_rule_is_found(text: str) -> None:
    assert texts(text) == [text]


@each_case
def test_a_trap_is_no_rule(text: str) -> None:
    assert texts(text) == []


@each_case
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


@each_case
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


@each_case
def test_emphasis_a_scoped_limit_and_what_stays_secret_are_rules(text: str) -> None:
    assert texts(text) == [text]


@each_case
def test_emphasis_and_amounts_in_chat_are_no_rules(text: str) -> None:
    assert texts(text) == []
