"""A word that was asked for before many artifacts held it: the newest of them are looked at."""

import pytest

from acc_ace.storage.create_stores import Stores
from tests.contract.values import KEY, artifact, asking, turn
from tests.ext.postgres.test_rows_read import copy, store
from tests.fakes.postgres_server import PostgresServer

INVOICE = "An invoice was paid."
PUMP = "The pump of the hall."
MORE_THAN_LOOKED_AT = 800
BEST = artifact("best", "Pump, pump.", at=9_000)


async def first(stores: Stores) -> str:
    found = await stores.artifacts.recall(asking("pump", limit=1))
    return found.candidates[0].artifact.artifact_id


@pytest.mark.parametrize("known", [1, 700])
async def test_the_best_is_found_behind_more_than_a_search_looks_at(
    postgres: PostgresServer, url: str, stores: Stores, known: int
) -> None:
    await store(url, texts={"old": INVOICE, "known": PUMP, "new": PUMP})
    copy(postgres, url, "old", 9_000)
    copy(postgres, url, "known", known)
    assert await first(stores) != BEST.artifact_id
    copy(postgres, url, "new", MORE_THAN_LOOKED_AT)
    await stores.artifacts.add([BEST])
    assert await first(stores) == BEST.artifact_id


async def test_it_is_found_when_as_much_was_undone_meanwhile(
    postgres: PostgresServer, url: str, stores: Stores
) -> None:
    await store(url, texts={"old": INVOICE, "new": PUMP})
    await stores.artifacts.add([turn(2, INVOICE)])
    copy(postgres, url, "old", 1_000)
    copy(postgres, url, f"{KEY.session}-t2", MORE_THAN_LOOKED_AT)
    assert await first(stores) != BEST.artifact_id
    assert await stores.artifacts.retire(KEY, 1) > MORE_THAN_LOOKED_AT
    copy(postgres, url, "new", MORE_THAN_LOOKED_AT)
    await stores.artifacts.add([BEST])
    assert await first(stores) == BEST.artifact_id
