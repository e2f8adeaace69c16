"""The turn from which bounded memory costs fewer prompt tokens than replaying the transcript.

    python -m bench.break_even [--turns 300] [--json]

Each contender holds the same conversation with a model that answers at once. A turn costs the
estimated tokens of all its requests, learning included. A cached token costs a quarter: a request
is cached as far as it equals the role's request of the turn before, if that is at least
`CACHE_MINIMUM` tokens. Replay grows by the same amount each turn, so turns beyond the measured ones
are extrapolated from the last third of them.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from collections.abc import AsyncGenerator, Sequence
from itertools import accumulate, islice
from pathlib import Path
from typing import NamedTuple

from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from pydantic import Field

from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.models.response_shape import role_of
from acc_ace.schemas.base import MemoryName, SessionKey
from acc_ace.text.tokens import estimate_tokens
from bench.turn_overhead import Turn, replay_turn
from bench.workload import InstantLlm, inputs, request_text

CACHED_PRICE = 0.25
"""Price of a cached prompt token, as a share of the full price."""

CACHE_MINIMUM = 1_024
"""Tokens that a shared prefix needs to be cached; providers set 1,024 or more."""

HORIZON = 5_000
"""Turns that the extrapolation goes to."""


class TurnCost(NamedTuple):
    """Prompt tokens of one turn."""

    full: float
    cached: float
    """The same with cached prefixes at `CACHED_PRICE`."""


class Contender(NamedTuple):
    """A name and what each turn cost."""

    name: str
    costs: list[TurnCost]


class BreakEven(NamedTuple):
    """First turns from which ours is cheaper; None beyond the horizon."""

    per_turn: int | None
    cumulative: int | None


class CountingLlm(InstantLlm):
    """Adds up what the requests of a turn cost."""

    full: float = 0.0
    cached: float = 0.0
    before: dict[str, str] = Field(default_factory=dict)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Count the request, then answer."""
        role, text = role_of(llm_request) or "generator", request_text(llm_request)
        tokens = estimate_tokens(text)
        shared = estimate_tokens(text[: _shared_chars(self.before.get(role, ""), text)])
        saved = shared * (1 - CACHED_PRICE) if shared >= CACHE_MINIMUM else 0.0
        self.full += tokens
        self.cached += tokens - saved
        self.before[role] = text
        async for response in super().generate_content_async(llm_request, stream):
            yield response

    def take(self) -> TurnCost:
        """Cost since the last call."""
        cost = TurnCost(self.full, self.cached)
        self.full = self.cached = 0.0
        return cost


def _shared_chars(before: str, now: str) -> int:
    """Length of the common prefix."""
    for at, (old, new) in enumerate(zip(before, now, strict=False)):
        if old != new:
            return at
    return min(len(before), len(now))


def our_turn(folder: Path, llm: InstantLlm, memory: MemoryName) -> Turn:
    """A turn of our app with one of its memory strategies."""
    container = build_container(Settings(data_dir=folder, store="sqlite"))
    conversation = Conversation(container, models=dict.fromkeys(ROLES, llm))
    key = SessionKey(APP_NAME, "bench", "s1")

    async def turn(text: str) -> None:
        await conversation.turn(key, text, memory=memory)

    return turn


async def contenders(turns: int) -> list[Contender]:
    """Ours first, then what it is compared with."""
    results = []
    for name in ("acc", "memory=replay", "plain ADK agent"):
        with tempfile.TemporaryDirectory() as folder:
            llm, path = CountingLlm(), Path(folder)
            if name == "plain ADK agent":
                turn = replay_turn(path, llm)
            else:
                turn = our_turn(path, llm, "acc" if name == "acc" else "replay")
            costs = []
            for text in islice(inputs(), turns):
                await turn(text)
                costs.append(llm.take())
            results.append(Contender(name, costs))
    return results


def extended(costs: Sequence[float]) -> list[float]:
    """The costs up to the horizon, growing as over the last third of those measured."""
    third = len(costs) // 3
    early, late = costs[-2 * third : -third], costs[-third:]
    growth = (statistics.fmean(late) - statistics.fmean(early)) / third
    middle = statistics.fmean(late)
    offset = (third + 1) / 2
    return [*costs, *(middle + growth * (offset + n) for n in range(HORIZON - len(costs)))]


def break_even(ours: Sequence[float], other: Sequence[float]) -> BreakEven:
    """Where the other's cost passes ours for good, per turn and summed up."""
    mine, theirs = extended(ours), extended(other)
    return BreakEven(
        _cheaper_from(mine, theirs),
        _cheaper_from(list(accumulate(mine)), list(accumulate(theirs))),
    )


def _cheaper_from(mine: Sequence[float], theirs: Sequence[float]) -> int | None:
    """The turn after the last one in which mine costs as much or more."""
    dearer = [turn for turn, (a, b) in enumerate(zip(mine, theirs, strict=True), 1) if a >= b]
    first = dearer[-1] + 1 if dearer else 1
    return first if first <= HORIZON else None


def table(results: list[Contender]) -> list[dict[str, str | int | None]]:
    """One row for each contender and price."""
    ours, *others = results
    rows: list[dict[str, str | int | None]] = []
    for price in TurnCost._fields:
        for other in others:
            even = break_even(
                [getattr(cost, price) for cost in ours.costs],
                [getattr(cost, price) for cost in other.costs],
            )
            rows.append({"compared_with": other.name, "price": price, **even._asdict()})
    return rows


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = asyncio.run(contenders(options.turns))
    rows = table(results)
    if options.json:
        json.dump(rows, sys.stdout)
        return
    for name, costs in results:
        marks = {t: costs[t - 1] for t in (1, 10, 50, 100, options.turns) if t <= options.turns}
        shown = ", ".join(f"{t}: {c.full:,.0f} / {c.cached:,.0f}" for t, c in marks.items())
        print(f"{name}, tokens at full price / with cached prefixes at turn {shown}")
    for row in rows:
        print(
            f"{row['price']:6} cheaper than {row['compared_with']}: per turn from turn "
            f"{row['per_turn']}, in total from turn {row['cumulative']}"
        )


if __name__ == "__main__":
    main()
