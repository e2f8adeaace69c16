"""200 concurrent sessions of 20 turns with models that answer at once, over one store.

    python -m bench.load [--store sqlite|postgres] [--url URL] [--processes 2]
                         [--sessions 200] [--turns 20] [--json]

Both stores, one after the other, without `--store`. Starts the given number of processes; each
runs its share of the sessions at the same time. PostgreSQL is the one of `--url`, or the test
suite's own server. At the end every journal is read and checked (`acc_ace.turn.journal`), and
every turn must stand in it exactly once: what does not is a broken promise.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path

from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.container import Container
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.core.schemas.base import SessionKey
from acc_ace.errors import AccAceError
from bench.journal_check import journal_problems
from bench.workload import InstantLlm, inputs


@dataclass(frozen=True)
class Share:
    """What one process runs, and where."""

    settings: dict[str, str]
    number: int
    sessions: int
    turns: int

    def session_keys(self) -> list[SessionKey]:
        """Its sessions, each of a user of its own."""
        return [
            SessionKey(APP_NAME, f"user-{self.number}-{at}", "load") for at in range(self.sessions)
        ]


@dataclass(frozen=True)
class Outcome:
    """What one process saw: the seconds of each turn, the errors, and when it began and ended."""

    seconds: list[float]
    errors: list[str]
    started_at: float = 0.0
    ended_at: float = 0.0


@dataclass(frozen=True)
class Result:
    """One line of the table."""

    store: str
    processes: int
    sessions: int
    turns: int
    wall_s: float
    turns_per_s: float
    p50_ms: float
    p95_ms: float
    errors: int
    broken: int
    problems: list[str]


async def run_share(share: Share) -> Outcome:
    """Run the sessions of one process at the same time."""
    container = build_container(Settings.model_validate(share.settings))
    conversation = Conversation(container, models=dict.fromkeys(ROLES, InstantLlm()))
    outcome = Outcome([], [])
    started_at = time.time()
    async with asyncio.TaskGroup() as group:
        for at, key in enumerate(share.session_keys()):
            texts = list(islice(inputs(seed=at), share.turns))
            group.create_task(_session(conversation, key, texts, outcome))
    ended_at = time.time()
    await conversation.close()
    return replace(outcome, started_at=started_at, ended_at=ended_at)


async def _session(
    conversation: Conversation, key: SessionKey, texts: Sequence[str], outcome: Outcome
) -> None:
    for text in texts:
        started = time.perf_counter()
        try:
            await conversation.turn(key, text)
        except AccAceError as error:
            outcome.errors.append(f"{error.code}: {error}")
        outcome.seconds.append(time.perf_counter() - started)


def measure(store: str, settings: dict[str, str], shares: Sequence[Share]) -> Result:
    """Run all shares, each in a process, then read what they left."""
    children = [_child(share) for share in shares]
    outcomes = [Outcome(**json.loads(child.communicate()[0])) for child in children]
    # From the first turn to the last: starting Python is not what is measured.
    wall = max(each.ended_at for each in outcomes) - min(each.started_at for each in outcomes)
    seconds = sorted(second for outcome in outcomes for second in outcome.seconds)
    errors = [error for outcome in outcomes for error in outcome.errors]
    broken = asyncio.run(problems(settings, shares))
    return Result(
        store=store,
        processes=len(shares),
        sessions=sum(share.sessions for share in shares),
        turns=shares[0].turns,
        wall_s=round(wall, 1),
        turns_per_s=round(len(seconds) / wall, 1),
        p50_ms=round(statistics.median(seconds) * 1_000),
        p95_ms=round(seconds[int(len(seconds) * 0.95)] * 1_000),
        errors=len(errors),
        broken=len(broken),
        problems=[*dict.fromkeys(errors), *broken][:20],
    )


async def problems(settings: dict[str, str], shares: Sequence[Share]) -> list[str]:
    """What is wrong with the journals of all sessions; empty when all is well."""
    container = build_container(Settings.model_validate(settings))
    found = []
    for share in shares:
        for key in share.session_keys():
            found += [f"{key.user}: {text}" for text in await _of_session(container, key, share)]
    await container.close()
    return found


async def _of_session(container: Container, key: SessionKey, share: Share) -> list[str]:
    entries = list(reversed(await container.journal.history(key, limit=10_000)))
    found = journal_problems(entries)
    if len(entries) != share.turns or entries[-1].state.turn != share.turns:
        found.append(f"{len(entries)} entries for {share.turns} turns")
    answered = [item for item in await container.evidence.list(key, limit=10_000) if item.decision]
    if len(answered) != share.turns:
        found.append(f"{len(answered)} turns of evidence for {share.turns} turns")
    return found


def _child(share: Share) -> "subprocess.Popen[str]":
    command = [sys.executable, "-W", "ignore", "-m", "bench.load", "--child"]
    return subprocess.Popen(  # noqa: S603 - our own interpreter
        [*command, json.dumps(asdict(share))], stdout=subprocess.PIPE, text=True
    )


@contextmanager
def _settings(store: str, url: str | None) -> Iterator[dict[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        common = {"store": store, "data_dir": str(Path(folder) / "data")}
        if store != "postgres" or url:
            yield common | ({"database_url": url} if url else {})
            return
        # The server of the tests; its code is there in a checkout, where benchmarks are run.
        from tests.fakes.postgres_server import running_postgres  # noqa: PLC0415

        with running_postgres() as server:
            yield common | {"database_url": server.new_database()}


def main() -> None:
    """Run both stores, or the one asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=["sqlite", "postgres"])
    parser.add_argument("--url", help="PostgreSQL to use, an empty database")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(sys.argv[1:])
    if options.child:
        print(json.dumps(asdict(asyncio.run(run_share(Share(**json.loads(options.child)))))))
        return
    results = []
    for store in [options.store] if options.store else ["sqlite", "postgres"]:
        with _settings(store, options.url) as settings:
            each = options.sessions // options.processes
            shares = [
                Share(settings, number, each, options.turns) for number in range(options.processes)
            ]
            results.append(measure(store, settings, shares))
    if options.json:
        print(json.dumps([asdict(result) for result in results]))
    else:
        _show(results)
    if any(result.problems for result in results):
        sys.exit(1)


def _show(results: Sequence[Result]) -> None:
    first = results[0]
    print(
        f"{first.processes} processes, {first.sessions} sessions x {first.turns} turns\n\n"
        "| Store | Turns | Turns/s | p50 | p95 | Errors | Broken promises |\n"
        "|---|---|---|---|---|---|---|"
    )
    for result in results:
        print(
            f"| {result.store} | {result.sessions * result.turns:,} | {result.turns_per_s} "
            f"| {result.p50_ms / 1_000:.1f} s | {result.p95_ms / 1_000:.1f} s "
            f"| {result.errors} | {result.broken} |"
        )
    for result in results:
        for problem in result.problems:
            print(f"{result.store}: {problem}")


if __name__ == "__main__":
    main()
