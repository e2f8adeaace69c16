"""Background learning keeps its jobs in the database that the stores use, however its URL reads."""

from urllib.parse import quote

import pytest
from sqlalchemy.engine import make_url

from acc_ace.config import Settings
from acc_ace.ext.background.create_learning_queue import open_learning_queue
from acc_ace.ext.background.dbos_database import dbos_database
from acc_ace.ext.postgres.database import PostgresDatabase
from tests.fakes.postgres_server import PostgresServer


def settings_of(url: str) -> Settings:
    return Settings(learning="background", store="postgres", database_url=url)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://database:5432/acc?application_name=acc@shop",
        "postgresql://database:5432/acc?user=aiko@tenant&password=x",
        "postgresql://aiko@database:5432/acc?sslrootcert=/home/me@corp/ca.pem",
        "postgresql://aiko:a?b@database:5432/acc?application_name=acc@shop",
        "postgres://aiko:a%40b@database:5432/acc?application_name=acc%40shop",
    ],
)
def test_an_at_sign_names_the_same_server_for_jobs_and_stores(url: str) -> None:
    jobs = make_url(dbos_database(settings_of(url)).url)
    place = f"{jobs.host}:{jobs.port}/{jobs.database}"
    assert place == "database:5432/acc"
    assert PostgresDatabase(url).server == f"PostgreSQL at {place}"


async def test_jobs_are_kept_with_an_at_sign_in_the_query(postgres: PostgresServer) -> None:
    place = f"127.0.0.1:{postgres.port}/{postgres.new_database().rpartition('/')[2]}"
    login = f"user=test&password={quote(postgres.password)}"
    queue = open_learning_queue(
        settings_of(f"postgresql://{place}?{login}&application_name=acc@shop")
    )
    assert not any((await queue.counts()).values())
    await queue.close()


def test_the_network_is_told_how_long_to_try_also_where_dbos_connects_by_itself() -> None:
    reported = make_url(
        dbos_database(settings_of("postgresql://database/acc?connect_timeout=900")).url
    )
    assert reported.query["connect_timeout"] == "5"
    assert {"keepalives_idle", "tcp_user_timeout"} <= set(reported.query)
