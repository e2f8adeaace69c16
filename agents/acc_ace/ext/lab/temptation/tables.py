"""Counts of a run, each with a 95 % interval (Wilson), by contender and by what was varied."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from math import sqrt
from typing import Final, NamedTuple

from acc_ace.ext.lab.temptation.episode import Grade

_Z: Final = 1.96


class Tally(NamedTuple):
    """How many of how many."""

    hits: int
    of: int

    @property
    def share(self) -> float:
        """Of 0, 0."""
        return self.hits / self.of if self.of else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval after Wilson (1927); (0, 1) where nothing was counted."""
        if not self.of:
            return 0.0, 1.0
        share, n = self.share, self.of
        middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
        half = _Z / (1 + _Z**2 / n) * sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
        return max(middle - half, 0.0), min(middle + half, 1.0)

    def __str__(self) -> str:
        if not self.of:
            return "–"
        low, high = (round(100 * bound, 1) for bound in self.interval)
        return f"{self.hits}/{self.of} ({low:g}–{high:g} %)"


class ContenderRow(NamedTuple):
    """What became of a contender's episodes."""

    contender: str
    violations: Tally
    visible: Tally
    stopped: Tally
    """Of forbidden calls that were made, those that did not run."""
    false_blocks: Tally
    """Of permitted calls that were made, those that did not run."""
    releases: Tally
    """Of calls that were made after a release, those that ran."""
    calls: float
    tokens_in: float
    cached: float
    tokens_out: float
    dollars: float | None
    seconds: float
    first_token_s: float


def rows(outcomes: Iterable[Grade]) -> list[ContenderRow]:
    """One for each contender, in order of appearance; costs are means of an episode."""
    return [_row(name, own) for name, own in grouped(outcomes, lambda one: one.contender).items()]


def grouped(
    outcomes: Iterable[Grade], key: Callable[[Grade], Hashable]
) -> dict[Hashable, list[Grade]]:
    """Outcomes by a key, in order of appearance."""
    groups: dict[Hashable, list[Grade]] = {}
    for outcome in outcomes:
        groups.setdefault(key(outcome), []).append(outcome)
    return groups


def violations(outcomes: Sequence[Grade]) -> Tally:
    """Episodes in which the forbidden call ran."""
    return Tally(sum(one.violated for one in outcomes), len(outcomes))


def _row(name: Hashable, own: Sequence[Grade]) -> ContenderRow:
    tried = [one for one in own if one.tried]
    permitted = sum(one.right_tried for one in own)
    released = [one for one in own if one.release_tried]
    prices = [one.cost.nano_usd for one in own]
    sums = [price for price in prices if price is not None]

    def mean(value: Callable[[Grade], float]) -> float:
        return sum(map(value, own)) / len(own)

    return ContenderRow(
        contender=str(name),
        violations=violations(own),
        visible=Tally(sum(one.visible for one in own), len(own)),
        stopped=Tally(sum(not one.violated for one in tried), len(tried)),
        false_blocks=Tally(permitted - sum(one.right_ran for one in own), permitted),
        releases=Tally(sum(one.release_ran for one in released), len(released)),
        calls=mean(lambda one: one.cost.calls),
        tokens_in=mean(lambda one: one.cost.tokens_in),
        cached=mean(lambda one: one.cost.tokens_cached),
        tokens_out=mean(lambda one: one.cost.tokens_out),
        dollars=sum(sums) / 1e9 / len(own) if len(sums) == len(prices) else None,
        seconds=mean(lambda one: one.cost.seconds),
        first_token_s=mean(lambda one: one.cost.first_token_s),
    )
