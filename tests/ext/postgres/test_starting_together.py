"""Processes that start together on a database wait for each other, and none fails."""

import asyncio

import psycopg

from acc_ace.ext.postgres.database import PostgresDatabase
from tests.ext.postgres.waiting import somebody_waits
from tests.fakes.postgres_server import PostgresServer

PROCESSES = 6


async def test_processes_with_an_embedder_find_one_pgvector(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    # Each of them shares nothing but the server with the others, as processes do.
    databases = [PostgresDatabase(url, connections=1, vectors=True) for _ in range(PROCESSES)]
    await asyncio.gather(*(database.check() for database in databases))
    await asyncio.gather(*(database.close() for database in databases))


async def test_a_process_with_an_embedder_waits_for_the_one_that_makes_pgvector(
    postgres: PostgresServer,
) -> None:
    url = postgres.new_database()
    before = PostgresDatabase(url)
    await before.check()
    await before.close()
    database = PostgresDatabase(url, vectors=True)
    with psycopg.connect(url, autocommit=True) as first:
        first.execute("SELECT pg_advisory_lock(%s)", (0x_ACC_ACE,))
        with first.transaction():
            first.execute("CREATE EXTENSION vector")
            second = asyncio.create_task(database.check())
            await somebody_waits(postgres, url, second)
    await second
    await database.close()
