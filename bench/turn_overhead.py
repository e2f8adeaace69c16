"""Own overhead per turn, bytes kept per turn and prompt tokens, beside transcript replay.

    python -m bench.turn_overhead [--turns 1000] [--json]

Everything but model time: both contenders use a model that answers at once. CPU time is of this
process; what counts is each contender's own ratio between late and early turns.
"""

import argparse
import asyncio
import json
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.core.schemas.base import SessionKey
from bench.workload import InstantLlm, inputs

WINDOW = 20
"""Turns from each mark on (at the end: up to it) whose median is taken."""

Turn = Callable[[str], Awaitable[None]]


@dataclass(frozen=True)
class Series:
    """What one contender cost at each mark."""

    name: str
    cpu_ms: dict[int, float]
    bytes_per_turn: dict[int, float]
    prompt_tokens: dict[int, dict[str, int]]

    @property
    def cpu_ratio(self) -> float:
        """CPU time of the last mark over the first."""
        first, *_, last = self.cpu_ms.values()
        return last / first


async def measure(name: str, turn: Turn, llm: InstantLlm, folder: Path, marks: list[int]) -> Series:
    """Run turns up to the last mark and look at cost around each."""
    cpu: list[float] = []
    sizes: dict[int, int] = {}
    tokens: dict[int, dict[str, int]] = {}
    for number, text in enumerate(islice(inputs(), marks[-1]), start=1):
        started = time.process_time()
        await turn(text)
        cpu.append((time.process_time() - started) * 1_000)
        if number in {*marks, *(mark // 2 for mark in marks)}:
            sizes[number] = _kept(folder)
        if number in marks:
            tokens[number] = dict(llm.prompt_tokens)
    return Series(
        name,
        {mark: statistics.median(_window(cpu, mark)) for mark in marks},
        {mark: _growth(sizes, mark) for mark in marks[1:]},
        tokens,
    )


def acc_ace_turn(folder: Path, llm: InstantLlm) -> Turn:
    """Our whole turn on SQLite, learning included."""
    container = build_container(Settings(data_dir=folder, store="sqlite", learn_on="every"))
    conversation = Conversation(container, models=dict.fromkeys(ROLES, llm))
    key = SessionKey(APP_NAME, "bench", "s1")

    async def turn(text: str) -> None:
        await conversation.turn(key, text)

    return turn


def replay_turn(folder: Path, llm: InstantLlm) -> Turn:
    """A plain LlmAgent whose session replays the transcript."""
    folder.mkdir(parents=True, exist_ok=True)
    agent = LlmAgent(name="plain", model=llm, instruction="You are an operations assistant.")
    sessions = SqliteSessionService(str(folder / "sessions.db"))
    runner = Runner(app_name="plain", agent=agent, session_service=sessions)
    made = False

    async def turn(text: str) -> None:
        nonlocal made
        if not made:
            await sessions.create_session(app_name="plain", user_id="bench", session_id="s1")
            made = True
        message = types.Content(role="user", parts=[types.Part(text=text)])
        async for _ in runner.run_async(
            user_id="bench", session_id="s1", new_message=message, run_config=RunConfig()
        ):
            pass

    return turn


async def run(marks: list[int]) -> list[Series]:
    """Both contenders, one after the other, in this process."""
    results = []
    for name, make in (("acc_ace", acc_ace_turn), ("adk replay", replay_turn)):
        with tempfile.TemporaryDirectory() as folder:
            llm = InstantLlm()
            path = Path(folder)
            results.append(await measure(name, make(path, llm), llm, path, marks))
    return results


def show(results: list[Series], marks: list[int]) -> None:
    """Print the tables."""
    for series in results:
        print(f"\n{series.name}: last/first CPU ratio {series.cpu_ratio:.2f}")
        print("  turn   CPU ms   bytes/turn   prompt tokens by stage")
        for mark in marks:
            kept = series.bytes_per_turn.get(mark)
            size = f"{kept:10.0f}" if kept is not None else " " * 10
            print(f"  {mark:5d} {series.cpu_ms[mark]:7.1f}   {size}   {series.prompt_tokens[mark]}")


def _kept(folder: Path) -> int:
    """Bytes in the databases of a folder, their write-ahead logs written back first."""
    total = 0
    for path in folder.glob("*.db"):
        with closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA wal_checkpoint(PASSIVE)")
            [[pages]] = database.execute("PRAGMA page_count")
            [[size]] = database.execute("PRAGMA page_size")
        total += pages * size
    return total


def _window(values: list[float], mark: int) -> list[float]:
    start = max(0, min(mark - 1, len(values) - WINDOW))
    return values[start : start + WINDOW]


def _growth(sizes: dict[int, int], mark: int) -> float:
    """Bytes that a turn adds on disk, over the last half of the turns before the mark."""
    begin = mark // 2
    return (sizes[mark] - sizes[begin]) / (mark - begin)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=1_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    marks = sorted({10, min(100, options.turns), options.turns})
    results = asyncio.run(run(marks))
    if options.json:
        json.dump([{**asdict(s), "cpu_ratio": s.cpu_ratio} for s in results], sys.stdout)
    else:
        show(results, marks)


if __name__ == "__main__":
    main()
