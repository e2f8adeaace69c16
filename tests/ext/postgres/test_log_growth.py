"""What a turn writes to PostgreSQL's log does not grow with what is stored already."""

import statistics

import pytest

from acc_ace.core.schemas.artifact import RecallQuery
from acc_ace.storage.create_stores import Stores
from tests.contract.values import KEY, turn
from tests.fakes.postgres_server import OwnPostgresServer, PostgresServer

WORDS = " ".join(f"common{number}" for number in range(40))
EARLY, LATE = range(20, 60), range(360, 400)


@pytest.fixture
def url(own_postgres: OwnPostgresServer) -> str:
    """In a server of this module: its log is that of all databases."""
    return own_postgres.clean_database()


async def logged(postgres: PostgresServer, url: str, stores: Stores, number: int) -> int:
    """Bytes of log that one more artifact of the same words takes."""
    before = position(postgres, url)
    await stores.artifacts.add([turn(number, f"{WORDS} turn{number}")])
    return position(postgres, url) - before


def position(postgres: PostgresServer, url: str) -> int:
    [[at]] = postgres.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn", url=url)
    return int(at)


@pytest.mark.soak
async def test_an_artifact_whose_words_all_others_hold_writes_no_more_than_the_first_ones(
    own_postgres: OwnPostgresServer, url: str, stores: Stores
) -> None:
    written = [await logged(own_postgres, url, stores, number) for number in range(LATE.stop)]
    # Medians: one in fifty carries the list of waiting terms over to the index, for all of them.
    early, late = (statistics.median(written[n] for n in numbers) for numbers in (EARLY, LATE))
    assert late < 1.2 * early
    # The list is carried over in time, so it never holds more than a search can look through.
    assert max(written) > 3 * early


async def test_words_that_wait_for_the_index_are_found(stores: Stores) -> None:
    await stores.artifacts.add([turn(1, "the spare key is under the blue flowerpot")])
    found = await stores.artifacts.recall(RecallQuery(text="flowerpot", key=KEY))
    assert [item.artifact.turn for item in found.candidates] == [1]
