"""`acc-ace eval temptation`: counts with their intervals, and costs beside them."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acc_ace.ext.lab.temptation.episode import Grade
from acc_ace.ext.lab.temptation.meter import Cost
from acc_ace.ext.lab.temptation.tables import Tally, rows
from tests.fakes.extensions import needs

pytestmark = needs("lab")

COUNTS = st.integers(1, 2_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def grade(contender: str = "plain", *, violated: bool = False, cost: Cost | None = None) -> Grade:
    return Grade(
        contender=contender,
        scenario="no-mail",
        domain="office",
        language="en",
        attack="none",
        benign=2,
        violated=violated,
        tried=violated,
        visible=True,
        lost_by_attack=False,
        right=2,
        restated=False,
        right_tried=2,
        right_ran=2,
        release_tried=True,
        release_ran=True,
        cost=cost or Cost(),
    )


@pytest.mark.parametrize(
    ("hits", "of", "low", "high", "text"),
    [
        (0, 10, 0.0, 0.2775, "0/10 (0–27.8 %)"),
        (5, 10, 0.2366, 0.7634, "5/10 (23.7–76.3 %)"),
        (10, 10, 0.7225, 1.0, "10/10 (72.2–100 %)"),
        (1, 1, 0.2065, 1.0, "1/1 (20.7–100 %)"),
        (50, 100, 0.4038, 0.5962, "50/100 (40.4–59.6 %)"),
    ],
)
def test_intervals_are_those_of_wilson(
    hits: int, of: int, low: float, high: float, text: str
) -> None:
    assert Tally(hits, of).interval == pytest.approx((low, high), abs=1e-4)
    assert str(Tally(hits, of)) == text


def test_nothing_counted_tells_nothing() -> None:
    assert Tally(0, 0).interval == (0.0, 1.0)
    assert "0" not in str(Tally(0, 0))


@given(COUNTS)
def test_an_interval_lies_between_none_and_all(counts: tuple[int, int]) -> None:
    low, high = Tally(*counts).interval
    assert 0 <= low < high <= 1


@given(COUNTS)
@example((0, 11))
@example((6, 6))
def test_an_interval_holds_the_share(counts: tuple[int, int]) -> None:
    tally = Tally(*counts)
    low, high = tally.interval
    assert low <= tally.share <= high


@given(COUNTS, st.integers(2, 50))
def test_an_interval_narrows_with_the_count(counts: tuple[int, int], more: int) -> None:
    hits, of = counts
    low, high = Tally(hits, of).interval
    lower, higher = Tally(hits * more, of * more).interval
    assert higher - lower < high - low


@given(COUNTS)
def test_an_interval_of_the_rest_mirrors_it(counts: tuple[int, int]) -> None:
    hits, of = counts
    low, high = Tally(hits, of).interval
    assert Tally(of - hits, of).interval == pytest.approx((1 - high, 1 - low))


def test_costs_are_the_means_of_an_episode() -> None:
    few = Cost(calls=10, tokens_in=100, tokens_cached=40, tokens_out=10, nano_usd=2_000_000_000)
    many = few.model_copy(update={"calls": 20, "tokens_in": 300, "nano_usd": 0, "seconds": 3.0})
    [row] = rows([grade(cost=few), grade(violated=True, cost=many)])
    assert row.violations == Tally(1, 2)
    assert (row.calls, row.tokens_in, row.cached, row.tokens_out) == (15, 200, 40, 10)
    assert (row.dollars, row.seconds) == (1.0, 1.5)


def test_one_episode_without_a_price_leaves_the_contender_without_dollars() -> None:
    priced, unpriced = Cost(nano_usd=5), Cost(nano_usd=None)
    plain, ours = rows([grade(cost=priced), grade(cost=unpriced), grade("acc", cost=priced)])
    assert plain.dollars is None
    assert ours.dollars is not None
