"""Is a run the same in every process, to the last byte of its snapshots?

    python -m bench.survivor_identity [--processes 3] [--seeds 20] [--from 0] [--ticks 50]

Each process has stores and a hash seed of its own, and lives `--ticks` ticks of each seed through
the whole pipeline on the embedded models, life after life where one dies sooner. Compared are the
snapshots as JSON lines, without the two values of the clock: `at` and `seconds` (CPU). Exits with
1 when processes differ, and names the seeds and the first ticks in which they do.
"""

import argparse
import asyncio
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Final

from acc_ace.config import Settings
from acc_ace.ext.survivor.loop import LoopOptions
from bench.survivor_lives import run_episodes

CLOCK: Final = {"at", "seconds"}


async def lived(seed: int, ticks: int) -> list[str]:
    """The stripped lines of the first ticks of a seed."""
    lines = list[str]()
    with tempfile.TemporaryDirectory() as folder:
        options = LoopOptions(seed=seed, episodes=ticks, ticks=ticks)
        async with aclosing(run_episodes(Settings(data_dir=Path(folder)), options)) as run:
            async for snapshot in run:
                lines.append(json.dumps(snapshot.model_dump(mode="json", exclude=CLOCK)))
                if len(lines) == ticks:
                    break
    return lines


def child(seeds: range, ticks: int) -> None:
    """Print the hash of each tick of each seed, a seed a line."""
    for seed in seeds:
        lines = asyncio.run(lived(seed, ticks))
        print(*(hashlib.sha256(line.encode()).hexdigest() for line in lines))


def printed_by(number: int, seeds: range, ticks: int) -> str:
    """What a process with a hash seed of its own prints. Raises CalledProcessError."""
    which = ("--from", str(seeds.start), "--seeds", str(len(seeds)))
    arguments = ("--child", *which, "--ticks", str(ticks))
    done = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-m", "bench.survivor_identity", *arguments],
        env={**os.environ, "PYTHONHASHSEED": str(number)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def difference(seed: int, runs: Sequence[Sequence[str]]) -> str:
    """The first tick of a seed that differs; '' where none does."""
    counts = sorted({len(run) for run in runs})
    if len(counts) > 1:
        return f"seed {seed}: {counts} ticks"
    at = next(
        (tick for tick, hashes in enumerate(zip(*runs, strict=True)) if len({*hashes}) > 1), None
    )
    return "" if at is None else f"seed {seed}: from tick {at + 1}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Live in one process after another, and compare. 1 when they differ."""
    chosen = _options(arguments)
    seeds = range(chosen.first, chosen.first + chosen.seeds)
    if chosen.child:
        child(seeds, chosen.ticks)
        return 0
    printed = [printed_by(number, seeds, chosen.ticks) for number in range(chosen.processes)]
    found = [[line.split() for line in text.splitlines()] for text in printed]
    different = [difference(*one) for one in zip(seeds, zip(*found, strict=True), strict=True)]
    ticks = sum(map(len, found[0]))
    print(f"{len(found)} processes, {len(found[0])} seeds, {ticks:,} ticks in each")
    for text in printed:
        print("sha256", hashlib.sha256(text.encode()).hexdigest())
    print(*filter(None, different), "DIFFERENT" if any(different) else "identical", sep="\n")
    return 1 if any(different) else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.survivor_identity")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    parser.add_argument("--ticks", type=int, default=50)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
