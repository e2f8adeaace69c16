"""A commit is on the server's disk before an answer is shown, whatever the server's default."""

import pytest

from acc_ace.ext.postgres.database import PostgresDatabase
from acc_ace.storage.sql_rows import Rows
from tests.fakes.postgres_server import PostgresServer


@pytest.mark.parametrize(
    ("default", "ours"), [("off", "on"), ("on", "on"), ("remote_write", "remote_write")]
)
async def test_our_connections_wait_for_the_disk(
    postgres: PostgresServer, url: str, default: str, ours: str
) -> None:
    name = url.rpartition("/")[2]
    postgres.execute(f"ALTER DATABASE {name} SET synchronous_commit = {default}")
    database = PostgresDatabase(url)
    assert await database.read(_synchronous_commit) == ours
    assert await database.write(_synchronous_commit) == ours
    with database.connect() as own:
        assert own.execute("SHOW synchronous_commit").fetchone() == (ours,)
    await database.close()


def _synchronous_commit(rows: Rows) -> object:
    row = rows.one("SELECT current_setting('synchronous_commit')")
    assert row is not None
    return row[0]
