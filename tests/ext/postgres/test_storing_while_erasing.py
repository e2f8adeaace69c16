"""What is stored while its user is being erased is stored after it."""

import asyncio

import psycopg

from acc_ace.ext.postgres.schema import SCHEMA
from acc_ace.storage.create_stores import Stores
from tests.contract.values import KEY, artifact
from tests.ext.postgres.waiting import somebody_waits
from tests.fakes.postgres_server import PostgresServer


async def test_an_artifact_is_stored_though_its_user_is_erased_meanwhile(
    postgres: PostgresServer, url: str, stores: Stores
) -> None:
    await stores.artifacts.add([artifact("old", "a cat")])
    with psycopg.connect(url) as erasing:
        erasing.execute(f"SET search_path = {SCHEMA}".encode())
        erasing.execute("SELECT FROM tenants FOR UPDATE")
        storing = asyncio.create_task(stores.artifacts.add([artifact("new", "a car")]))
        await somebody_waits(postgres, url, storing)
        erasing.execute("DELETE FROM artifacts")
        erasing.execute("DELETE FROM tenants")
        erasing.commit()
    await storing
    assert await stores.artifacts.get(KEY.tenant, "old") is None
    assert await stores.artifacts.get(KEY.tenant, "new") == artifact("new", "a car")
    assert await stores.artifacts.count(KEY.tenant) == 1
