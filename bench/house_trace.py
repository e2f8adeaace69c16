"""One `/v1` turn, traced: what it calls, what it writes, and where a sentence then stands."""

import asyncio
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

from bench.house_copies import stores_of
from bench.house_product import open_server
from bench.house_profile import Calls, Follower
from bench.house_workload import RULES, ChangingLlm, inputs

_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE", "WITH")


class Traced(NamedTuple):
    """What one turn called and wrote."""

    calls: Calls
    stores: list[str]
    """Where the first rule, said in the turn before, stands after it."""
    writing: list[str]
    """The file of each transaction that changed rows."""
    transactions: int


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
    follower, transactions = Follower(), Transactions()
    follower.watch()
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
            with _traced(follower, transactions):
                await _turn(client, llm, 3, next(said))
        sys.setprofile(None)
        stores = stores_of(RULES[0], Path(folder))
    return Traced(follower.calls(), stores, list(transactions.writing), transactions.count)


def numbers_of_a_turn() -> dict[str, int]:
    """What the turn called, wrote and left, with both engines, by name.

    Each runs in an event loop of its own: a thread of a loop's pool is followed by whoever
    followed when it started, so that the second engine's work in it would not be counted.
    """
    embedded = asyncio.run(third_turn(None))
    scripted = asyncio.run(third_turn(ChangingLlm()))
    each = {"embedded": embedded, "scripted": scripted}
    return {
        **{f"files of a turn, {name}": found.calls.files for name, found in each.items()},
        **{f"functions of a turn, {name}": found.calls.functions for name, found in each.items()},
        **{f"calls between rooms, {name}": found.calls.crossings for name, found in each.items()},
        "stays of a delta": scripted.calls.stays,
        "returns of a delta": scripted.calls.returns,
        "stores with a sentence": max(len(embedded.stores), len(scripted.stores)),
        "transactions that write": len(scripted.writing),
        "transactions": scripted.transactions,
    }


@contextmanager
def _traced(follower: Follower, transactions: Transactions) -> Iterator[None]:
    transactions.begin()
    follower.on = True
    yield
    follower.on = False
    transactions.settle()


async def _turn(client: httpx.AsyncClient, llm: ChangingLlm | None, number: int, text: str) -> None:
    if llm is not None:
        llm.turn = number
    response = await client.post("/v1/sessions/s/turns", json={"input": text}, timeout=120)
    response.raise_for_status()
    # What ends in the background belongs to the turn before it.
    await asyncio.sleep(0.5)
