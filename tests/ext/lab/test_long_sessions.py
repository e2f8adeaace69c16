"""What `bench.session_pages` and `bench.load` show at length, small enough for every run."""

from pathlib import Path

import pytest

from bench.load import Share, measure
from bench.session_pages import run

_GROWTH = 1.15
"""Trees of an index grow by the logarithm; a turn that wrote what came before would double at
least. Pages are counted over the second half of the turns: from the thirtieth, with a full state.
"""


@pytest.mark.parametrize("turns", [(60, 120), pytest.param((60, 240), marks=pytest.mark.soak)])
async def test_a_turn_writes_as_much_late_in_a_session_as_early(turns: tuple[int, int]) -> None:
    early, late = await run("endpoint", turns)
    assert sum(table.log for table in early.values()) > 10
    for what in ("log", "file"):
        before, after = (sum(getattr(table, what) for table in at.values()) for at in (early, late))
        assert after < before * _GROWTH + 1, what


@pytest.mark.parametrize(
    ("store", "sessions"),
    [
        ("postgres", 2),
        pytest.param("postgres", 10, marks=pytest.mark.soak),
        pytest.param("sqlite", 10, marks=pytest.mark.soak),
    ],
)
def test_two_processes_with_many_sessions_each_keep_every_promise(
    sessions: int, store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    settings = {"store": store, "data_dir": str(tmp_path)}
    if store == "postgres":
        settings["database_url"] = request.getfixturevalue("postgres").clean_database()
    result = measure(store, settings, [Share(settings, number, sessions, 5) for number in range(2)])
    assert (result.errors, result.broken, result.problems) == (0, 0, [])
    assert result.sessions * result.turns == 2 * sessions * 5
