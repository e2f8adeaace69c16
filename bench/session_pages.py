"""Which tables and indexes a turn writes to, in pages of SQLite's write-ahead log.

    python -m bench.session_pages [--turns 10000] [--only "ours, SQLite" | --only endpoint]

Before each mark the log of every file is emptied and kept from being so again for a while; then
its frames tell each page that was written. `log` is pages a turn written to the log; `file` is
pages a turn that checkpoints copy to the file, one for all the frames of a page between two.
Both, times 4 kB, are what `bench.session_curve` counts. Needs an SQLite with `dbstat`.
"""

import argparse
import asyncio
import sqlite3
import struct
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from bench.session_contenders import CONTENDERS, Contender
from bench.session_curve import marks_to

WINDOW = 100
"""Turns before each mark whose pages are counted; half of all at most."""

CHECKPOINT_FRAMES = 1_000
"""SQLite's `wal_autocheckpoint`."""

_LOG_HEADER, _FRAME_HEADER = 32, 24


class Written(NamedTuple):
    """Pages that a turn wrote of one table or index."""

    log: float
    file: float


class _Watched(NamedTuple):
    path: Path
    reader: sqlite3.Connection


async def pages(
    contender: Contender, folder: Path, marks: Sequence[int]
) -> list[dict[str, Written]]:
    """Take turns up to the last mark; pages a turn wrote before each, by "file table"."""
    found: list[dict[str, Written]] = []
    done = 0
    for mark in marks:
        begin = max(done, mark - min(mark // 2, WINDOW))
        for number in range(done, begin):
            await contender.turn(number)
        watched = _watch(folder)
        for number in range(begin, mark):
            await contender.turn(number)
        found.append({})
        for one in watched:
            found[-1].update(_written(one, mark - begin))
        done = mark
    return found


def _watch(folder: Path) -> list[_Watched]:
    """Empty the log of each file, and open a reader, which keeps what follows in the log."""
    watched = []
    for path in sorted(folder.rglob("*.db")):
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sqlite_master").fetchall()
        watched.append(_Watched(path, reader))
    return watched


def _written(watched: _Watched, turns: int) -> dict[str, Written]:
    watched.reader.close()
    numbers = list(_frames(watched.path.with_name(f"{watched.path.name}-wal")))
    with closing(sqlite3.connect(watched.path)) as connection:
        names = dict(connection.execute("SELECT pageno, name FROM dbstat").fetchall())
    log = Counter(_name(watched.path, names, number) for number in numbers)
    file: Counter[str] = Counter()
    for first in range(0, len(numbers), CHECKPOINT_FRAMES):
        between = set(numbers[first : first + CHECKPOINT_FRAMES])
        file.update(_name(watched.path, names, number) for number in between)
    return {name: Written(log[name] / turns, file[name] / turns) for name in log}


def _name(path: Path, names: dict[int, str], number: int) -> str:
    return f"{path.stem} {names.get(number, '(free)')}"


def _frames(log: Path) -> Iterator[int]:
    """Page numbers in a write-ahead log, in the order in which they were written."""
    with log.open("rb") as file:
        header = file.read(_LOG_HEADER)
        if len(header) < _LOG_HEADER:
            return
        size, salt = struct.unpack(">8xI", header[:12])[0], header[16:24]
        while len(frame := file.read(_FRAME_HEADER)) == _FRAME_HEADER and frame[8:16] == salt:
            yield struct.unpack(">I", frame[:4])[0]
            file.seek(size, 1)


async def run(name: str, marks: Sequence[int]) -> list[dict[str, Written]]:
    """The pages that a contender writes, at each mark."""
    with tempfile.TemporaryDirectory(prefix="acc-ace-bench-") as directory:
        folder = Path(directory)
        async with CONTENDERS[name](folder) as contender:
            return await pages(contender, folder, marks)


def show(marks: Sequence[int], found: Sequence[dict[str, Written]]) -> None:
    """Print a table: what was written most at the last mark comes first."""
    print(f"| Pages a turn, log + file | {' | '.join(map(str, marks))} |")
    print("|---|" + "---|" * len(marks))
    none = Written(0, 0)
    totals = [Written(*map(sum, zip(*each.values(), strict=True))) for each in found]
    _show("total", totals)
    names = {name for each in found for name in each}
    for name in sorted(names, key=lambda name: -sum(found[-1].get(name, none))):
        _show(name, [each.get(name, none) for each in found])


def _show(name: str, cells: Sequence[Written]) -> None:
    print(f"| {name} | {' | '.join(f'{cell.log:.2f} + {cell.file:.2f}' for cell in cells)} |")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--only", choices=("ours, SQLite", "endpoint"), default="endpoint")
    options = parser.parse_args()
    marks = marks_to(options.turns)
    show(marks, asyncio.run(run(options.only, marks)))


if __name__ == "__main__":
    main()
