"""The break-even bench finds the turn from which the other costs more for good."""

from itertools import repeat

from bench.break_even import HORIZON, break_even, extended


def test_a_growing_cost_passes_a_flat_one_per_turn_and_later_in_total() -> None:
    flat, growing = list(repeat(100.0, 30)), [10.0 * turn for turn in range(1, 31)]
    # Turn 11 costs 110 > 100; the sums are equal after 19 turns.
    assert break_even(flat, growing) == (11, 20)


def test_turns_beyond_the_measured_ones_grow_as_the_last_ones_did() -> None:
    costs = extended([10.0 * turn for turn in range(1, 31)])
    assert len(costs) == HORIZON
    assert [round(cost, 6) for cost in costs[30:33]] == [310.0, 320.0, 330.0]


def test_a_cost_that_never_passes_breaks_even_nowhere() -> None:
    assert break_even([5.0] * 9, [4.0] * 9) == (None, None)
