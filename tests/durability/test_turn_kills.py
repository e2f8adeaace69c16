"""A turn that is killed at any point leaves CCS_{t-1}, or CCS_t with its answer and evidence.

`ACC_ACE_TEST_KILLS` says how often, over all ways together; one of each by default.
"""

import os
import random
from pathlib import Path

import pytest

from tests.durability.turn_kills import kill_children, kill_cli, kill_servers
from tests.fakes.postgres_server import PostgresServer

WAYS = 7
KILLS = max(1, int(os.environ.get("ACC_ACE_TEST_KILLS", WAYS)) // WAYS)
"""Of each way."""


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.node.name)


@pytest.mark.parametrize("way", ["conversation", "plugin"])
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_killed_turns_leave_whole_sessions(
    request: pytest.FixtureRequest, tmp_path: Path, rng: random.Random, way: str, store: str
) -> None:
    place = str(tmp_path / "data")
    if store == "postgres":
        postgres: PostgresServer = request.getfixturevalue("postgres")
        place = postgres.clean_database()
    assert kill_children(way, place, KILLS, rng) == []


def test_a_script_that_is_killed_and_played_again_takes_each_turn_once(
    tmp_path: Path, rng: random.Random
) -> None:
    assert kill_cli(tmp_path, KILLS, rng) == []


@pytest.mark.parametrize("ours", [True, False], ids=["v1", "api_server"])
def test_killed_servers_leave_whole_sessions(
    tmp_path: Path, rng: random.Random, ours: bool
) -> None:
    assert kill_servers(tmp_path, KILLS, rng, ours=ours) == []
