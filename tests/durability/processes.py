"""Start talkers as processes, and look at what they left in the database."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from acc_ace.storage.create_stores import Stores
from bench.journal_check import journal_problems
from schemas.base import SessionKey
from schemas.commit import JournalEntry
from schemas.interaction import Interaction
from tests.e2e.processes import ROOT, environment

END_S = 120.0


@contextmanager
def talker(
    url: str, folder: Path, user: str, turns: int, *sessions: str
) -> Iterator["subprocess.Popen[str]"]:
    """A talker over the database, until the context ends; what it prints can be read.

    Without a URL the database is an SQLite file in the folder.
    """
    process = subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "tests.durability.talker", user, str(turns), *sessions],
        cwd=ROOT,
        env=environment(
            folder,
            ACC_ACE_STORE="postgres" if url else "sqlite",
            **({"ACC_ACE_DATABASE_URL": url} if url else {}),
            # A server that recovers on a busy machine takes its time.
            ACC_ACE_DATABASE_WAIT_S="90",
            PYTHONWARNINGS="ignore",
        ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def output_of(process: "subprocess.Popen[str]") -> IO[str]:
    """What the talker prints, line by line."""
    assert process.stdout is not None
    return process.stdout


async def history(stores: Stores, key: SessionKey) -> Sequence[JournalEntry]:
    """A whole journal, oldest entry first."""
    return list(reversed(await stores.journal.history(key, limit=10_000)))


async def evidence(stores: Stores, key: SessionKey) -> Sequence[Interaction]:
    """All evidence of a session, oldest first."""
    return list(reversed(await stores.evidence.list(key, limit=10_000)))


async def assert_whole(stores: Stores, key: SessionKey, turns: int) -> None:
    """Every turn stands once in the journal and once in the evidence, and the rule survived."""
    entries = await history(stores, key)
    assert journal_problems(entries) == []
    assert entries[-1].state.turn == turns
    answered = [item.turn for item in await evidence(stores, key) if item.decision is not None]
    assert answered == list(range(1, turns + 1))
    assert len(entries[-1].state.pins) == 1


def ended_well(*processes: "subprocess.Popen[str]") -> list[str]:
    """Wait for talkers to end, and give what they still printed; fails with their complaints."""
    lines: list[str] = []
    for process in processes:
        # Not `communicate`, which passes over what an earlier `readline` took in advance.
        lines += output_of(process).read().splitlines()
        complaints = process.stderr.read() if process.stderr else ""
        assert process.wait(timeout=END_S) == 0, complaints[-4_000:]
    return lines
