"""A session of 10,000 turns: CPU time and bytes of a turn, beside ADK's session services.

    python -m bench.session_curve [--turns 10000] [--only NAME ...] [--json]

Two kinds of contenders:

- Session services on the path of `adk web`, with the same events: load the session as the Runner
  does (`get_session` with `config=None`), append the user's event, append the answer with the
  state. Ours take every turn for real. ADK's read the whole past at each turn, so they are filled
  with copies of a turn's rows up to shortly before each mark, and measured there.
- `endpoint`: the whole turn of `/v1` with models that answer at once, learning included, on SQLite;
  `endpoint, PostgreSQL` the same there.

Bytes are what the process read and wrote through the kernel (`rchar`, `wchar` of /proc/self/io),
from the page cache or not; SQLite does all its I/O so. PostgreSQL does its own in another
process: read are the 8 kB blocks that its backend touched, written is its write-ahead log.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.session_contenders import CONTENDERS, Contender

WINDOW = 200
"""Turns before each mark whose median CPU time and mean bytes are taken; half of all at most.

Enough for several checkpoints of SQLite's write-ahead log, which would else be seen or not.
"""

SHORT_WINDOW = 20
SHORTEST_WINDOW = 3
"""The same for contenders that are filled; the latter where a turn takes seconds."""

SHORTEST_FROM = 1_000


@dataclass(frozen=True)
class Point:
    """What a turn costs around a mark."""

    turn: int
    cpu_ms: float
    read_kb: float
    written_kb: float


async def curve(contender: Contender, marks: list[int]) -> list[Point]:
    """Take turns up to the last mark; what they cost around each."""
    points: list[Point] = []
    done = 0
    for mark in marks:
        window = WINDOW
        if contender.fill is not None:
            window = SHORTEST_WINDOW if mark > SHORTEST_FROM else SHORT_WINDOW
        # Never the very first turns: they open databases.
        window = min(mark // 2, window)
        begin = max(done, mark - window)
        real = begin - done if contender.fill is None else min(1, begin - done)
        for number in range(done, done + real):
            await contender.turn(number)
        if contender.fill is not None:
            contender.fill(begin - done - real)
        points.append(await _measured(contender, begin, mark))
        done = mark
    return points


async def _measured(contender: Contender, begin: int, mark: int) -> Point:
    cpu: list[float] = []
    read, written = await contender.io()
    for number in range(begin, mark):
        started = time.process_time()
        await contender.turn(number)
        cpu.append((time.process_time() - started) * 1_000)
    read_after, written_after = await contender.io()
    turns = mark - begin
    return Point(
        turn=mark,
        cpu_ms=round(statistics.median(cpu), 2),
        read_kb=round((read_after - read) / turns / 1_024, 1),
        written_kb=round((written_after - written) / turns / 1_024, 1),
    )


async def run(names: list[str], marks: list[int]) -> dict[str, list[Point]]:
    """The contenders one after the other, in this process."""
    results = {}
    for name in names:
        # A task of its own: what ours tell ADK about ids must not reach ADK's services.
        results[name] = await asyncio.create_task(_curve_of(name, marks))
        show(name, results[name])
    return results


async def _curve_of(name: str, marks: list[int]) -> list[Point]:
    with tempfile.TemporaryDirectory(prefix="acc-ace-bench-") as folder:
        async with CONTENDERS[name](Path(folder)) as contender:
            return await curve(contender, marks)


def show(name: str, points: list[Point]) -> None:
    """Print the line of a contender as a table's, and how late turns compare to early ones."""
    cells = [f"{p.cpu_ms} / {p.read_kb} / {p.written_kb}" for p in points]
    ratio = points[-1].cpu_ms / points[0].cpu_ms
    print(f"| {name} | {' | '.join(cells)} | {ratio:.2f} |", flush=True)


def marks_to(turns: int) -> list[int]:
    """20, 100, 1,000, 10,000: those below the last turn, and that."""
    return sorted({mark for mark in (20, 100, 1_000, 10_000) if mark < turns} | {turns})


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--only", help=f"some of: {', '.join(CONTENDERS)}", action="append")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    marks = marks_to(options.turns)
    print(f"| CPU ms / kB read / kB written | {' | '.join(map(str, marks))} | last ÷ first |")
    results = asyncio.run(run(options.only or list(CONTENDERS), marks))
    if options.json:
        reported = {name: [asdict(point) for point in points] for name, points in results.items()}
        json.dump(reported, sys.stdout)


if __name__ == "__main__":
    main()
