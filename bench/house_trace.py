"""One `/v1` turn, traced: files of the product that it enters, and transactions that write."""

import asyncio
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import httpx

from bench.house_product import ROOT, open_server
from bench.house_workload import ChangingLlm, inputs

_OTHERS = ("bench", "tests", ".venv")
_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE", "WITH")


class Traced(NamedTuple):
    """What one turn entered and wrote."""

    files: list[str]
    writing: list[str]
    """The file of each transaction that changed rows."""
    transactions: int


class EnteredFiles:
    """Files in which a function was called while it is on, in threads that start after `watch`."""

    def __init__(self) -> None:
        self.on = False
        self.names: set[str] = set()

    def watch(self) -> None:
        """Follow this thread and every one that starts from now on."""
        threading.setprofile(self._called)
        sys.setprofile(self._called)

    def of(self, root: Path) -> list[str]:
        """The product's files among them."""
        paths = [Path(name) for name in self.names if name.startswith(f"{root}/")]
        names = [path.relative_to(root) for path in paths]
        return sorted(str(name) for name in names if name.parts[0] not in _OTHERS)

    def _called(self, frame: FrameType, event: str, _argument: object) -> None:
        if self.on and event == "call":
            self.names.add(frame.f_code.co_filename)


class Transactions:
    """Counts transactions of every connection of sqlite3 that opens after `watch`.

    A transaction writes when rows have changed between its begin and its commit.
    """

    def __init__(self) -> None:
        self.count = 0
        self.writing: list[str] = []
        self._watched: list[_Watched] = []

    def watch(self) -> None:
        """Follow the connections that are made from now on."""
        connect: Callable[..., sqlite3.Connection] = sqlite3.connect

        def watched(database: object, *arguments: object, **named: object) -> sqlite3.Connection:
            connection = connect(database, *arguments, **named)
            follower = _Watched(self, connection, Path(str(database)).name)
            connection.set_trace_callback(follower.statement)
            self._watched.append(follower)
            return connection

        sqlite3.connect = watched  # type: ignore[assignment]

    def begin(self) -> None:
        """Count from here on."""
        self.settle()
        self.count, self.writing = 0, []

    def settle(self) -> None:
        """Count the statements outside of transactions that have just ended."""
        for follower in self._watched:
            follower.settle()


class _Watched:
    """The transactions of one connection, from the statements that it runs."""

    def __init__(self, counts: Transactions, connection: sqlite3.Connection, name: str) -> None:
        self._counts = counts
        self._connection = connection
        self._name = name
        self._started_at: int | None = None
        self._alone_at: int | None = None

    def statement(self, text: str) -> None:
        """A statement is about to run."""
        if text.startswith("--"):
            return
        self.settle()
        verb = text.lstrip().split(None, 1)[0].rstrip(";").upper() if text.strip() else ""
        if verb == "BEGIN":
            self._started_at = self._connection.total_changes
        elif verb in {"COMMIT", "END"} and self._started_at is not None:
            self._ended(self._started_at)
            self._started_at = None
        elif verb == "ROLLBACK":
            self._started_at = None
        elif verb in _WRITES and not self._connection.in_transaction:
            self._alone_at = self._connection.total_changes

    def settle(self) -> None:
        """Count a statement that was a transaction of its own and has run."""
        if self._alone_at is not None:
            self._ended(self._alone_at)
            self._alone_at = None

    def _ended(self, started_at: int) -> None:
        self._counts.count += 1
        try:
            changed = self._connection.total_changes > started_at
        except sqlite3.ProgrammingError:
            changed = True  # Closed since, after a statement that was there to write.
        if changed:
            self._counts.writing.append(self._name)


async def third_turn(llm: ChangingLlm | None) -> Traced:
    """Take three turns over HTTP and trace the last; without a model, with the embedded one."""
    files, transactions = EnteredFiles(), Transactions()
    files.watch()
    transactions.watch()
    with tempfile.TemporaryDirectory() as folder:
        app = open_server(Path(folder), llm)
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client,
        ):
            said = inputs()
            for number in (1, 2):
                await _turn(client, llm, number, next(said))
            with _traced(files, transactions):
                await _turn(client, llm, 3, next(said))
    sys.setprofile(None)
    return Traced(files.of(ROOT), list(transactions.writing), transactions.count)


@contextmanager
def _traced(files: EnteredFiles, transactions: Transactions) -> Iterator[None]:
    transactions.begin()
    files.on = True
    yield
    files.on = False
    transactions.settle()


async def _turn(client: httpx.AsyncClient, llm: ChangingLlm | None, number: int, text: str) -> None:
    if llm is not None:
        llm.turn = number
    response = await client.post("/v1/sessions/s/turns", json={"input": text}, timeout=120)
    response.raise_for_status()
    # What ends in the background belongs to the turn before it.
    await asyncio.sleep(0.5)
