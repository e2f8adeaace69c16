"""The calculator calculates, says what it cannot, and never takes long over it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc_ace.core.text.arithmetic import evaluate
from acc_ace.errors import InputError
from tests.fakes.tables import each_case


@each_case
def test_arithmetic_is_evaluated(expression: str, value: float) -> None:
    assert evaluate(expression) == pytest.approx(value)


@pytest.mark.parametrize(
    "expression",
    [
        "round(5, -10**9)",
        "round(5, -1e300)",
        "9**9**9",
        "(10**300)**1000",
        "1/0",
        "__import__('os')",
        "a.b",
        "[1]*9",
        "True",
        "1\0",
        "\ud800",
        "1" * 501,
        "",
    ],
)
def test_what_is_too_large_or_no_arithmetic_is_refused(expression: str) -> None:
    with pytest.raises(InputError):
        evaluate(expression)


@given(st.text(alphabet="0123456789+-*/%().,e rounda", max_size=60))
def test_any_expression_gives_a_number_or_an_input_error(expression: str) -> None:
    try:
        value = evaluate(expression)
    except InputError:
        return
    assert abs(value) <= 1e300
