"""What `bench.session_pages` and `bench.load` show at length, small enough for every run."""

from pathlib import Path

import pytest

from bench.load import Share, measure
from bench.session_pages import run

_TURNS = (40, 160)
_GROWTH = 1.15
"""Trees of an index grow by the logarithm; a turn that wrote what came before would quadruple."""


async def test_a_turn_writes_as_much_late_in_a_session_as_early() -> None:
    early, late = await run("endpoint", _TURNS)
    assert sum(table.log for table in early.values()) > 10
    for what in ("log", "file"):
        before, after = (sum(getattr(table, what) for table in at.values()) for at in (early, late))
        assert after < before * _GROWTH + 1, what


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_two_processes_with_ten_sessions_each_keep_every_promise(
    store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    settings = {"store": store, "data_dir": str(tmp_path)}
    if store == "postgres":
        settings["database_url"] = request.getfixturevalue("postgres").clean_database()
    result = measure(store, settings, [Share(settings, number, 10, 5) for number in range(2)])
    assert (result.errors, result.broken, result.problems) == (0, 0, [])
    assert result.sessions * result.turns == 100
