"""pgvector: needed with an embedder, not without; its absence is told before anything is asked."""

import pytest

from acc_ace.config import Settings
from acc_ace.errors import StoreError
from acc_ace.storage.create_stores import create_stores
from tests.contract.values import KEY, artifact, asking
from tests.ext.postgres.conftest import open_for
from tests.fakes.clock import FixedClock
from tests.fakes.filled import filled
from tests.fakes.postgres_server import PostgresServer
from tests.fakes.word_embedder import TopicEmbedder

EMBEDDER = {"model": "test/topics"}


@pytest.fixture
async def limited(postgres: PostgresServer) -> str:
    """A migrated database without pgvector, as a user who may not create extensions."""
    url = postgres.new_database()
    stores = open_for(url)
    await stores.journal.head(KEY)
    await stores.close()
    for statement in (
        "DROP EXTENSION IF EXISTS vector",
        "DROP OWNED BY limited CASCADE" if _has_role(postgres) else "CREATE ROLE limited LOGIN",
        "ALTER ROLE limited PASSWORD 'limited'",
        "GRANT ALL ON SCHEMA acc_ace TO limited",
        "GRANT ALL ON ALL TABLES IN SCHEMA acc_ace TO limited",
        "GRANT ALL ON ALL SEQUENCES IN SCHEMA acc_ace TO limited",
    ):
        postgres.execute(statement, url=url)
    user, _, rest = url.removeprefix("postgresql://").partition("@")
    assert user
    return f"postgresql://limited:limited@{rest}"


def _has_role(postgres: PostgresServer) -> bool:
    return bool(postgres.execute("SELECT 1 FROM pg_roles WHERE rolname = 'limited'"))


async def test_a_server_without_pgvector_is_refused_with_what_to_run(limited: str) -> None:
    settings = Settings(store="postgres", database_url=limited, embedder=EMBEDDER)
    stores = create_stores(settings, FixedClock(), TopicEmbedder())
    with pytest.raises(StoreError, match="CREATE EXTENSION vector") as caught:
        await stores.journal.head(KEY)
    assert "ACC_ACE_EMBEDDER__MODEL" in str(caught.value)
    await stores.close()


async def test_without_an_embedder_pgvector_is_not_needed(limited: str) -> None:
    stores = open_for(limited)
    await stores.artifacts.add([artifact("pet", "a kitten")])
    found = await stores.artifacts.recall(asking("kitten"))
    assert [item.artifact.artifact_id for item in found.candidates] == ["pet"]
    await stores.close()


async def test_what_was_stored_before_there_was_an_embedder_is_embedded(
    postgres: PostgresServer,
) -> None:
    url = postgres.clean_database()
    before = open_for(url)
    await before.artifacts.add([artifact("pet", "a kitten"), artifact("car", "a car", at=1)])
    await before.close()
    settings = Settings(store="postgres", database_url=url, embedder=EMBEDDER)
    stores = create_stores(settings, FixedClock(), TopicEmbedder())
    await filled(stores)
    found = await stores.artifacts.recall(asking("feline"))
    assert found.candidates[0].artifact.artifact_id == "pet"
    await stores.artifacts.erase(KEY.tenant)
    left = postgres.execute("SELECT count(*) FROM acc_ace.artifact_vectors_64", url=url)
    assert left == [(0,)]
    await stores.close()
