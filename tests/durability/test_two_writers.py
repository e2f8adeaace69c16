"""Two processes take turns of one session at the same time: one after the other, each once."""

from pathlib import Path

import pytest

from acc_ace.config import Settings
from acc_ace.conversation import APP_NAME
from acc_ace.core.schemas.base import SessionKey
from acc_ace.storage.create_stores import create_stores
from tests.durability.processes import assert_whole, ended_well, talker
from tests.fakes.clock import FixedClock

OPS = SessionKey(APP_NAME, "ops", "s-1")
TURNS = 4


@pytest.mark.parametrize("store", ["sqlite", pytest.param("postgres", marks=pytest.mark.soak)])
async def test_two_processes_take_turns_of_one_session(
    store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgres").clean_database() if store == "postgres" else ""
    with (
        talker(url, tmp_path, OPS.user, TURNS, OPS.session) as one,
        talker(url, tmp_path, OPS.user, TURNS, OPS.session) as two,
    ):
        printed = ended_well(one, two)
    # Each turn was answered to one of them.
    assert sorted(printed) == [f"answered {OPS.session} {n + 1}" for n in range(2 * TURNS)]
    settings = Settings(store="postgres", database_url=url) if url else Settings(data_dir=tmp_path)
    stores = create_stores(settings, FixedClock())
    await assert_whole(stores, OPS, 2 * TURNS)
    await stores.close()
