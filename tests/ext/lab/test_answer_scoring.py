"""Claims about scoring an answer against a ground truth."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc_ace.core.text.answer_scoring import score_answer
from tests.fakes.tables import each_case


@each_case
def test_an_answer_scores_what_it_has_right(answer: str, target: str, score: float) -> None:
    assert score_answer(answer, target) == pytest.approx(score)


@given(st.text(max_size=200), st.text(max_size=200))
def test_a_score_is_a_share_whatever_the_texts(answer: str, target: str) -> None:
    assert 0.0 <= score_answer(answer, target) <= 1.0


@given(st.lists(st.sampled_from("ABCD"), min_size=1, max_size=8).map(",".join))
def test_the_target_itself_is_wholly_right(target: str) -> None:
    assert score_answer(target, target) == 1.0
