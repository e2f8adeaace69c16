"""Claims about scoring an answer against a ground truth."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc_ace.playbook.learning_plan import score_answer


@pytest.mark.parametrize(
    ("answer", "target", "score"),
    [
        ("0.69", "0.69", 1.0),
        ("The ratio is 0.6901.", "0.69", 1.0),
        ("27,432.79", "27432.79", 1.0),
        ("It was 5, now 8.33", "8.33", 1.0),
        ("８．３３", "8.33", 1.0),
        ("0.7", "0.69", 0.0),
        ("no idea", "0.69", 0.0),
        ("", "0.69", 0.0),
        ("-15000000", "-15000000.0", 1.0),
        ("A,B,C,D", "A,B,C,D", 1.0),
        ("A, b ,X,D", "A,B,C,D", 0.75),
        ("A", "A,B,C,D", 0.25),
        ("B,A", "A,B", 0.0),
        ("Paris.", "paris", 1.0),
        ("", "paris", 0.0),
        ("東京。", "東京", 1.0),
    ],
)
def test_an_answer_scores_what_it_has_right(answer: str, target: str, score: float) -> None:
    assert score_answer(answer, target) == pytest.approx(score)


@given(st.text(max_size=200), st.text(max_size=200))
def test_a_score_is_a_share_whatever_the_texts(answer: str, target: str) -> None:
    assert 0.0 <= score_answer(answer, target) <= 1.0


@given(st.lists(st.sampled_from("ABCD"), min_size=1, max_size=8).map(",".join))
def test_the_target_itself_is_wholly_right(target: str) -> None:
    assert score_answer(target, target) == 1.0
