"""What a user may do in the database: enough to make the schema once."""

from collections.abc import Iterator

import pytest

from acc_ace.errors import StoreError
from acc_ace.ext.postgres.database import PostgresDatabase
from acc_ace.ext.postgres.schema import SCHEMA
from tests.fakes.postgres_server import PostgresServer


@pytest.fixture
def owner(postgres: PostgresServer) -> Iterator[str]:
    """A database, as a user who may do nothing in it yet."""
    url = postgres.new_database()
    postgres.execute("CREATE ROLE app LOGIN PASSWORD 'app'")
    yield url.replace(f"test:{postgres.password}", "app:app")
    postgres.execute(f"DROP DATABASE {_name(url)}")
    postgres.execute("DROP ROLE app")


async def test_a_schema_once_made_needs_no_right_on_the_database(
    postgres: PostgresServer, owner: str
) -> None:
    postgres.execute(f"GRANT CREATE ON DATABASE {_name(owner)} TO app")
    await _check(owner)
    postgres.execute(f"REVOKE CREATE ON DATABASE {_name(owner)} FROM app")
    await _check(owner)


async def test_a_schema_that_was_made_for_the_user_is_enough(
    postgres: PostgresServer, owner: str
) -> None:
    postgres.execute(f"CREATE SCHEMA {SCHEMA} AUTHORIZATION app", url=_as_test(postgres, owner))
    await _check(owner)


async def test_a_user_who_may_not_make_the_schema_is_told_what_to_run(
    postgres: PostgresServer, owner: str
) -> None:
    with pytest.raises(StoreError, match="the user may not create the schema") as caught:
        await _check(owner)
    advice = str(caught.value).rpartition(" run ")[2]
    for statement in advice.split(", or "):
        assert statement in (
            'CREATE SCHEMA acc_ace AUTHORIZATION "app"',
            f'GRANT CREATE ON DATABASE "{_name(owner)}" TO "app"',
        )
        postgres.execute(statement, url=_as_test(postgres, owner))
    await _check(owner)


async def _check(url: str) -> None:
    database = PostgresDatabase(url, wait_s=0)
    try:
        await database.check()
    finally:
        await database.close()


def _name(url: str) -> str:
    return url.rpartition("/")[2]


def _as_test(postgres: PostgresServer, url: str) -> str:
    return url.replace("app:app", f"test:{postgres.password}")
