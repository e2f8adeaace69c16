"""A search reads a bounded number of rows, however many hold a word or stand in between."""

import time

import pytest

from acc_ace.core.schemas.base import SessionKey
from tests.contract.values import KEY, OTHER_USER, artifact, asking
from tests.ext.postgres.conftest import open_for
from tests.fakes.clock import START
from tests.fakes.postgres_server import PostgresServer

MANY = 60_000
RECALLS = 8
"""More than a connection plans anew: after that the server may take one plan for all values."""

MOST_READ = 4_500
"""Rows of the eight blocks of 512 that are looked through at once, and what is returned."""

FEW_READ = 1_500
"""Of a word that most rows hold: a block or two, and what is returned."""

_COPIES = """
    WITH copied AS (
        INSERT INTO acc_ace.artifacts (tenant, artifact_id, session, kind, turn, created_at, length,
                                       speaker, asks, terms, lexemes, body)
        SELECT tenant, artifact_id || '-' || n, session, kind, turn, created_at, length,
               speaker, asks, terms, lexemes,
               replace(body, '"' || artifact_id || '"', '"' || artifact_id || '-' || n || '"')
          FROM acc_ace.artifacts, generate_series(1, {number}) AS n
         WHERE artifact_id = '{artifact_id}' ORDER BY n
        RETURNING tenant, id, length
    ), added AS (
        SELECT tenant, count(*) AS documents, sum(length) AS terms, max(id) AS newest
          FROM copied GROUP BY tenant
    )
    UPDATE acc_ace.tenants SET documents = tenants.documents + added.documents,
           terms = tenants.terms + added.terms, newest = added.newest
      FROM added WHERE id = added.tenant
"""
_READ = """
    SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables
     WHERE relname = 'artifacts'
"""
_CONNECTED = """
    SELECT count(*) FROM pg_stat_activity
     WHERE application_name = 'acc-ace' AND datname = current_database()
"""


def copy(server: PostgresServer, url: str, artifact_id: str, number: int) -> None:
    """Store so many more artifacts that say the same, as quickly as the server can."""
    server.execute(_COPIES.format(artifact_id=artifact_id, number=number), url=url)


async def rows_read(
    server: PostgresServer, url: str, key: SessionKey, word: str, *, also: str = ""
) -> int:
    """Rows of artifacts that a recall reads on average; it must find only what holds the word."""
    server.execute("VACUUM ANALYZE acc_ace.artifacts", url=url)
    stores = open_for(url)
    await stores.artifacts.recall(asking(word, key=key))
    await stores.close()
    before = _read_by_all(server, url)
    stores = open_for(url)
    for _ in range(RECALLS):
        found = await stores.artifacts.recall(asking(f"{word} {also}", key=key, limit=3))
        assert len(found.candidates) == 3
        assert all(word in candidate.artifact.content for candidate in found.candidates)
    await stores.close()
    return (_read_by_all(server, url) - before) // RECALLS


def _read_by_all(server: PostgresServer, url: str) -> int:
    """Rows read so far. A connection tells the server of its own when it ends."""
    deadline = time.monotonic() + 30
    while server.execute(_CONNECTED, url=url) != [(0,)]:
        assert time.monotonic() < deadline, "a closed connection is still there"
    return int(server.execute(_READ, url=url)[0][0])


async def store(url: str, *, texts: dict[str, str], key: SessionKey = KEY) -> None:
    stores = open_for(url)
    await stores.artifacts.add([artifact(n, text, tenant=key.tenant) for n, text in texts.items()])
    await stores.close()


async def test_of_a_word_that_every_row_holds_few_rows_are_read(
    postgres: PostgresServer, url: str
) -> None:
    await store(url, texts={"old": "The pump of the hall."})
    copy(postgres, url, "old", MANY)
    assert await rows_read(postgres, url, KEY, "pump") < FEW_READ


@pytest.mark.soak
async def test_of_a_word_that_began_late_only_the_newest_rows_are_read(
    postgres: PostgresServer, url: str
) -> None:
    await store(url, texts={"old": "An invoice was paid."})
    copy(postgres, url, "old", MANY)
    await store(url, texts={"new": "The pump of the hall."})
    copy(postgres, url, "new", MANY // 3)
    assert await rows_read(postgres, url, KEY, "pump") < MOST_READ


@pytest.mark.soak
async def test_of_a_word_that_ended_early_only_the_newest_rows_are_read(
    postgres: PostgresServer, url: str
) -> None:
    await store(url, texts={"old": "The pump of the hall."})
    copy(postgres, url, "old", MANY // 3)
    await store(url, texts={"new": "An invoice was paid."})
    copy(postgres, url, "new", MANY)
    assert await rows_read(postgres, url, KEY, "pump") < MOST_READ


@pytest.mark.soak
@pytest.mark.parametrize("word", ["pump", "invoice"])
async def test_what_others_stored_in_between_is_not_read(
    postgres: PostgresServer, url: str, word: str
) -> None:
    await store(url, texts={"old": "The pump of the hall."})
    copy(postgres, url, "old", 800)
    await store(url, texts={"bread": "Bread and butter."}, key=OTHER_USER)
    copy(postgres, url, "bread", MANY)
    await store(url, texts={"new": "An invoice was paid."})
    copy(postgres, url, "new", 800)
    assert await rows_read(postgres, url, KEY, word) < MOST_READ


@pytest.mark.soak
async def test_many_rare_words_and_a_time_read_no_more(postgres: PostgresServer, url: str) -> None:
    await store(url, texts={"new": "The pump of the hall."})
    copy(postgres, url, "new", 5)
    await store(url, texts={"old": "An invoice was paid."})
    copy(postgres, url, "old", MANY)
    also = f"valve gasket flange bearing rotor shaft seal, on {START:%Y-%m-%d}"
    assert await rows_read(postgres, url, KEY, "pump", also=also) < MOST_READ


@pytest.mark.soak
async def test_of_a_word_that_became_common_since_it_was_counted_few_rows_are_read(
    postgres: PostgresServer, url: str
) -> None:
    await store(url, texts={"old": "An invoice was paid.", "new": "The pump of the hall."})
    copy(postgres, url, "old", MANY)
    stores = open_for(url)
    await stores.artifacts.recall(asking("pump"))
    copy(postgres, url, "new", MANY // 11)
    postgres.execute("VACUUM ANALYZE acc_ace.artifacts", url=url)
    before = int(postgres.execute(_READ, url=url)[0][0])
    for _ in range(RECALLS):
        await stores.artifacts.recall(asking("pump"))
    await stores.close()
    assert (_read_by_all(postgres, url) - before) // RECALLS < MOST_READ
