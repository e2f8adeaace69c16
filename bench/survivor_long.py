"""Does a long run stay as it began: CPU, prompts, calls and store of 10,000 ticks of one world?

    python -m bench.survivor_long [--ticks 10000] [--seed 0] [--life 1000]

Life after life of one seed on the embedded models, through the whole pipeline with the settings as
they come. The last 1,000 ticks are compared with ticks 1,001 to 2,000. CPU is the snapshot's, all
of a tick with its learning. Prompt tokens are the input tokens of the spending store: `both calls`
are the compressor's and one of the thinker's; `of the turn` counts the second plan too that a risk
flag asks for, learning neither. `--life` is the most ticks of a life. Exits with 1 when a bound is
missed. Takes about twelve minutes of one core.
"""

import argparse
import asyncio
import math
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from statistics import mean, median
from typing import Final, NamedTuple

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.container import Container
from acc_ace.ext.survivor.loop import LoopOptions, Survivor
from acc_ace.ext.survivor.survival import LoopSnapshot

WINDOW: Final = 1_000
GROWTH, PROMPT, CALLS = 1.10, 3_500, 2.3
"""Bounds: last ticks over early ones, p99 tokens of both calls, calls a tick with learning."""

LEARNING: Final = ("reflector", "curator")


class Tick(NamedTuple):
    """What one tick took."""

    episode: int
    seconds: float
    calls: int
    compressor: int
    thinker: float
    turn: int
    learning: int

    @property
    def both_calls(self) -> float:
        """The compressor's prompt and one of the thinker's."""
        return self.compressor + self.thinker


class Footprint(NamedTuple):
    """What a run holds after so many ticks, in bytes."""

    ticks: int
    store: int
    memory: int


async def tick_of(container: Container, options: LoopOptions, snapshot: LoopSnapshot) -> Tick:
    """The tick of a snapshot, with its prompts from the spending store."""
    key, asked, plans = options.key(snapshot.episode), Counter[str](), 1
    for use in await container.spending.store.uses(key, turns=1, before=snapshot.tick + 1):
        assert use.turn == snapshot.tick
        asked[use.stage] += use.tokens.input
        if use.stage == "generator":
            plans = use.tokens.calls
    return Tick(
        episode=snapshot.episode,
        seconds=snapshot.seconds,
        calls=snapshot.calls,
        compressor=asked["compressor"],
        thinker=asked["generator"] / plans,
        turn=asked["compressor"] + asked["generator"],
        learning=sum(asked[role] for role in LEARNING),
    )


async def live(options: LoopOptions, most: int) -> tuple[list[Tick], list[Footprint]]:
    """The first ticks of a world, and the footprint after every thousand."""
    ticks, held = list[Tick](), list[Footprint]()
    with tempfile.TemporaryDirectory() as folder:
        container = build_container(Settings(data_dir=Path(folder)))
        async with aclosing(Survivor(container, options).run()) as run:
            async for snapshot in run:
                ticks.append(await tick_of(container, options, snapshot))
                if len(ticks) % WINDOW == 0:
                    held.append(Footprint(len(ticks), *_footprint(Path(folder))))
                    print(f"{held[-1].ticks:,} ticks, episode {snapshot.episode}", file=sys.stderr)
                if len(ticks) == most:
                    break
        await container.close()
    return ticks, held


def _footprint(folder: Path) -> tuple[int, int]:
    """Bytes on disk, and the most memory so far (Linux reports it in KiB)."""
    stored = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return stored, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1_024


def p99(values: Sequence[float]) -> float:
    """The smallest value that 99 % of all do not exceed."""
    return sorted(values)[math.ceil(0.99 * len(values)) - 1]


def main() -> int:
    """Live the ticks and print what they took. 1 when a bound is missed."""
    chosen = _options()
    options = LoopOptions(seed=chosen.seed, episodes=chosen.ticks, ticks=chosen.life)
    started = time.process_time()
    ticks, held = asyncio.run(live(options, chosen.ticks))
    lives = Counter(tick.episode for tick in ticks)
    print(f"{len(ticks):,} ticks in {len(lives)} lives, the longest of {max(lives.values())} ticks")
    print(f"{time.process_time() - started:.0f} CPU seconds with the bench's own")
    early, late = ticks[WINDOW : 2 * WINDOW], ticks[-WINDOW:]
    rows = {
        "CPU of a tick, median, ms": [1e3 * median(t.seconds for t in w) for w in (early, late)],
        "p99 prompt of both calls": [p99([t.both_calls for t in w]) for w in (early, late)],
        "p99 prompt, compressor": [p99([t.compressor for t in w]) for w in (early, late)],
        "p99 prompt, thinker": [p99([t.thinker for t in w]) for w in (early, late)],
        "p99 prompt of the turn": [p99([t.turn for t in w]) for w in (early, late)],
        "p99 prompt of learning": [p99([t.learning for t in w]) for w in (early, late)],
        "calls a tick, mean": [mean(t.calls for t in w) for w in (early, late)],
    }
    for name, (before, after) in rows.items():
        print(f"{name:>26}: {before:8.2f} then {after:8.2f}, ratio {_ratio(after, before)}")
    for what in held:
        print(f"{what.ticks:>7,} ticks: store {what.store:,} bytes, memory {what.memory:,} bytes")
    both, calls = p99([tick.both_calls for tick in ticks]), mean(tick.calls for tick in ticks)
    print(f"over all ticks: p99 prompt of both calls {both:.0f}, {calls:.2f} calls a tick")
    growth = [after / before for before, after in list(rows.values())[:2]]
    holds = all(ratio <= GROWTH for ratio in growth) and both <= PROMPT and calls <= CALLS
    print("holds" if holds else "MISSED")
    return 0 if holds else 1


def _ratio(after: float, before: float) -> str:
    return f"{after / before:.2f}" if before else "none"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.survivor_long")
    parser.add_argument("--ticks", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--life", type=int, default=1_000)
    chosen = parser.parse_args()
    if chosen.ticks < 3 * WINDOW:
        parser.error(f"--ticks are {3 * WINDOW:,} or more")
    return chosen


if __name__ == "__main__":
    sys.exit(main())
