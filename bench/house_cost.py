"""What a turn costs: CPU time of our own, and bytes that it writes.

Bytes written are those handed to the kernel (`wchar` of /proc/self/io): database pages, the
write-ahead log, exported files. What stays of them is the growth of the files.
"""

import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import yaml
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.sessions import Session
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from bench.house_product import ROOT, open_plugin, open_turns
from bench.house_workload import ChangingLlm, inputs
from bench.workload import InstantLlm
from bench.workload import inputs as steady_inputs

MARKED_TURNS = 20
"""Turns up to a mark whose mean is taken; half of all at most."""


class Cpu(NamedTuple):
    """Median process CPU time of a turn, in milliseconds, of turns 20 to 50."""

    incident_ms: float
    steady_ms: float


class Written(NamedTuple):
    """Mean cost of a turn up to a mark, in bytes."""

    turn: int
    written: float
    sessions_written: float
    """Written while ADK's session service stored something; 0 where it is not ADK's."""
    databases_grew: float
    files_grew: float


async def own_cpu() -> Cpu:
    """The bundled incident and the workload of `bench.turn_overhead`, 50 turns of each."""
    return Cpu(await _median_cpu(_incident()), await _median_cpu(steady_inputs()))


async def _median_cpu(texts: Iterator[str]) -> float:
    cpu = []
    with tempfile.TemporaryDirectory() as folder:
        opened = open_turns(Path(folder), InstantLlm())
        async with opened.closing:
            for text in islice(texts, 50):
                started = time.process_time()
                await opened.turn(text)
                cpu.append((time.process_time() - started) * 1_000)
    return statistics.median(cpu[19:])


def _incident() -> Iterator[str]:
    """The inputs of the bundled conversation of 50 turns."""
    reported = yaml.safe_load((ROOT / "examples" / "incident_en.yaml").read_text(encoding="utf-8"))
    return (turn["input"] for turn in reported["turns"])


async def app_bytes(marks: list[int]) -> list[Written]:
    """Bytes of the app's turns at each mark."""
    with tempfile.TemporaryDirectory() as name:
        folder, llm = Path(name), ChangingLlm(points_at_rules=True)
        meter = _Meter(marks, folder)
        opened = open_turns(folder, llm)
        async with opened.closing:
            for number, text in enumerate(islice(inputs(), marks[-1]), start=1):
                llm.turn = number
                meter.before(number)
                await opened.turn(text)
                meter.after(number)
    return meter.found


async def plugin_bytes(marks: list[int]) -> list[Written]:
    """Bytes of the turns of another agent with our plugin, on ADK's SqliteSessionService."""
    with tempfile.TemporaryDirectory() as name:
        folder, llm = Path(name), ChangingLlm(points_at_rules=True)
        ours = folder / "memory"
        ours.mkdir()
        sessions = MeteredSessions(str(folder / "sessions.db"))
        meter = _Meter(marks, folder, sessions)
        opened = open_plugin(ours, llm)
        agent = LlmAgent(name="desk", model=llm, instruction="You are an operations assistant.")
        app = App(name="desk", root_agent=agent, plugins=[opened.plugin])
        runner = Runner(app=app, session_service=sessions)
        await sessions.create_session(app_name="desk", user_id="u", session_id="s")
        async with opened.closing:
            for number, text in enumerate(islice(inputs(), marks[-1]), start=1):
                llm.turn = number
                meter.before(number)
                message = types.Content(role="user", parts=[types.Part(text=text)])
                async for _ in runner.run_async(user_id="u", session_id="s", new_message=message):
                    pass
                meter.after(number)
    return meter.found


class MeteredSessions(SqliteSessionService):
    """ADK's service, which counts the bytes that the process writes while it is at work.

    Loading counts too: SQLite sorts a session's events in a temporary file when they are many.
    """

    written = 0

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        """Load, and count."""
        with self._metered():
            return await super().get_session(
                app_name=app_name, user_id=user_id, session_id=session_id, config=config
            )

    async def append_event(self, session: Session, event: Event) -> Event:
        """Append, and count."""
        with self._metered():
            return await super().append_event(session, event)

    @contextmanager
    def _metered(self) -> Iterator[None]:
        before = written_bytes()
        yield
        self.written += written_bytes() - before


class _Meter:
    """Means over the turns up to each mark."""

    def __init__(
        self, marks: list[int], folder: Path, sessions: MeteredSessions | None = None
    ) -> None:
        self.found: list[Written] = []
        self._spans = {mark: min(MARKED_TURNS, mark // 2) for mark in marks}
        self._folder = folder
        self._sessions = sessions
        self._begun: dict[int, tuple[int, ...]] = {}

    def before(self, turn: int) -> None:
        """A turn begins: the first of a mark's, perhaps."""
        for mark, turns in self._spans.items():
            if turn == mark - turns + 1:
                # Files first: what this writes is of the turns before.
                sizes = self._sizes()
                self._begun[mark] = (*self._written(), *sizes)

    def after(self, turn: int) -> None:
        """A turn has ended: a mark, perhaps."""
        if turn not in self._spans:
            return
        sizes = self._sizes()
        started, ended, turns = self._begun[turn], (*self._written(), *sizes), self._spans[turn]
        means = [(now - then) / turns for then, now in zip(started, ended, strict=True)]
        self.found.append(Written(turn, *means))

    def _written(self) -> tuple[int, int]:
        return written_bytes(), self._sessions.written if self._sessions else 0

    def _sizes(self) -> tuple[int, int]:
        paths = [path for path in self._folder.rglob("*") if path.is_file()]
        databases = [path for path in paths if path.suffix in {".db", ".sqlite"}]
        # A database's log and journal bear its name and an ending.
        names = tuple(path.name for path in databases)
        others = [path for path in paths if not path.name.startswith(names)]
        return (
            sum(_used_bytes(path) for path in databases),
            sum(path.stat().st_size for path in others),
        )


def written_bytes() -> int:
    """Bytes that this process has handed to the kernel so far."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["wchar"])


def _used_bytes(path: Path) -> int:
    """Size of a database without its free pages, its write-ahead log written back first.

    So that each mark has the cost of its own checkpoints, no more and no less.
    """
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        [[pages]] = database.execute("PRAGMA page_count")
        [[free]] = database.execute("PRAGMA freelist_count")
        [[size]] = database.execute("PRAGMA page_size")
    return int((pages - free) * size)
