"""A turn that is killed at any point leaves CCS_{t-1} without a trace, or CCS_t with all of it.

One session is driven in each way that a user has, on each database, by processes that are killed.
"""

import asyncio
import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.durability.forks import Forks
from tests.durability.slow_model import SlowModel, slow_model
from tests.durability.turn_child import OURS
from tests.durability.turn_kills import Child, Cli, Place, Served, Way, kill_turns
from tests.durability.turn_problems import Left, look
from tests.fakes.extensions import require

WAYS: dict[str, Way] = {
    "cli": Cli(),
    "v1": Served(ours=True),
    "api_server": Served(ours=False),
    "plugin": Child("plugin"),
    "conversation": Child("conversation"),
    # The plugin over ADK's own sessions: the claim covers journal and evidence.
    "foreign": Child("foreign"),
}
KILLS = 10
"""Of each way on each database: 120 in all."""

EXAMPLES = [("v1", "postgres"), ("plugin", "sqlite")]
"""One way into the server and one into an agent; the soak takes every way on each database."""


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    made = Forks(tmp_path_factory.mktemp("forks"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def model() -> Iterator[SlowModel]:
    require("openai_compatible")
    with slow_model() as made:
        yield made


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path, model: SlowModel, store: str) -> Place:
    if store == "sqlite":
        return Place(tmp_path, model)
    return Place(tmp_path, model, request.getfixturevalue("postgres").clean_database())


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.node.name)


@pytest.mark.soak
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
@pytest.mark.parametrize("way", WAYS)
def test_killed_turns_leave_whole_sessions(
    way: str, forks: Forks, place: Place, rng: random.Random
) -> None:
    toll = kill_turns(WAYS[way], forks, place, KILLS, rng)
    print(f"{way}: {toll}")
    assert toll.kills == KILLS
    assert toll.uncommitted + toll.unanswered >= KILLS / 2
    assert toll.in_tool >= KILLS / 4
    assert toll.turns >= KILLS / 2


@pytest.mark.parametrize(("way", "store"), EXAMPLES)
def test_some_killed_turns_leave_whole_sessions(
    way: str, forks: Forks, place: Place, rng: random.Random
) -> None:
    toll = kill_turns(WAYS[way], forks, place, 2, rng)
    assert toll.kills == 2
    assert toll.uncommitted >= toll.in_tool >= 1


@pytest.mark.soak
@pytest.mark.parametrize("store", ["sqlite"])
def test_what_half_a_turn_would_leave_is_found(
    forks: Forks, place: Place, rng: random.Random, store: str, tmp_path: Path
) -> None:
    assert kill_turns(WAYS["conversation"], forks, place, 3, rng).turns
    shutil.copytree(tmp_path / "data", tmp_path / "whole")
    for statement, problem in (
        ("DELETE FROM adk_events WHERE seq = (SELECT max(seq) FROM adk_events)", "events "),
        (
            "DELETE FROM interactions WHERE outcome = 'answered' AND turn = 1",
            "evidence and journal",
        ),
        ("DELETE FROM journal WHERE version = 1", "versions and turns"),
        ("DELETE FROM artifacts WHERE artifact_id LIKE 'turn:%'", "turn 1 has no artifact"),
        (
            "UPDATE artifacts SET body = replace(body, '\"turn\":1', '\"turn\":99')",
            "artifact turn:",
        ),
        (_A_CALL, "after "),
    ):
        shutil.rmtree(tmp_path / "data")
        shutil.copytree(tmp_path / "whole", tmp_path / "data")
        with closing(sqlite3.connect(tmp_path / "data" / "memory.db")) as connection, connection:
            assert connection.execute(statement).rowcount > 0
        left = asyncio.run(look(place.settings, OURS, place.acts, Left(), ours=True))
        assert any(found.startswith(problem) for found in left.problems), (statement, left.problems)
    place.acts.write_text(place.acts.read_text(encoding="utf-8") + "db-77\n", encoding="utf-8")
    left = asyncio.run(look(place.settings, OURS, place.acts, Left(), ours=True))
    assert "db-77 was restarted without a note" in left.problems


_A_CALL = """
    INSERT INTO tool_starts VALUES
    ('acc_ace', 'user', 'kills', 1, 'c-1', 'restart', '{"server": "db-0"}', 0)
"""
