"""Orders hidden in data."""

from acc_ace.core.text.injection import instruction_like
from tests.fakes.tables import each_case


@each_case
def test_an_order_to_the_reader_is_found(text: str) -> None:
    assert instruction_like(text)


@each_case
def test_ordinary_imperatives_are_not(text: str) -> None:
    assert instruction_like(text) is None


@each_case
def test_words_that_uphold_the_rules_are_no_order_against_them(text: str) -> None:
    assert instruction_like(text) is None


@each_case
def test_a_negation_elsewhere_hides_no_order(text: str) -> None:
    assert instruction_like(text)
