"""A server that cannot be used: a clear error that names it and the fix, and no password."""

import asyncio
from typing import Any

import psycopg
import pytest

from acc_ace.cli.checks.installation import Status
from acc_ace.cli.checks.storage import check_databases
from acc_ace.errors import ConfigError, ConflictError, CorruptStoreError, InputError, StoreError
from acc_ace.ext.postgres.artifact_writes import PostgresArtifactIndex
from acc_ace.ext.postgres.database import PostgresDatabase
from acc_ace.ext.postgres.schema import Connection
from acc_ace.storage.create_stores import Stores, create_stores
from acc_ace.storage.playbooks.sql_playbook import SqlPlaybookStore
from acc_ace.storage.sql_artifacts import SqlArtifactStore
from acc_ace.storage.sql_database import SqlUnitOfWork
from acc_ace.storage.sql_evidence import SqlEvidenceStore
from acc_ace.storage.sql_journal import SqlJournal
from acc_ace.storage.sql_rows import on_connection
from config import Settings
from schemas.base import PlaybookScope, SessionKey
from schemas.playbook import Playbook
from tests.contract.values import KEY, artifact, asking, entry, interaction, record
from tests.ext.postgres.conftest import open_for
from tests.fakes.clock import FixedClock
from tests.fakes.postgres_server import PostgresServer


async def error_at(url: str, **settings: Any) -> str:
    """What the first use of a database says, and that it keeps its password to itself."""
    stores = open_for(url, **({"database_wait_s": 0.0} | settings))
    with pytest.raises(StoreError) as caught:
        await stores.journal.head(KEY)
    await stores.close()
    return str(caught.value)


def test_a_missing_or_broken_url_names_the_setting() -> None:
    for settings, message in [
        (Settings(store="postgres"), "needs ACC_ACE_DATABASE_URL"),
        (Settings(store="postgres", database_url="mysql://x:hush@h/d"), "is not a PostgreSQL URL"),
    ]:
        with pytest.raises(ConfigError, match=message) as caught:
            create_stores(settings, FixedClock())
        assert "hush" not in str(caught.value)


def test_opening_does_no_io() -> None:
    open_for("postgresql://nobody@127.0.0.1:1/nothing")


async def test_a_server_that_is_not_there_is_named() -> None:
    text = await error_at("postgresql://me:hush@127.0.0.1:1/mine")
    assert text.startswith("PostgreSQL at 127.0.0.1:1/mine cannot be reached; start it, or correct")
    assert "hush" not in text


async def test_a_wrong_password_is_told_without_waiting(postgres: PostgresServer) -> None:
    text = await error_at(postgres.url(password="hush-hush"), database_wait_s=60.0)
    assert "refuses the password; check user and password in ACC_ACE_DATABASE_URL" in text
    assert "hush-hush" not in text


async def test_a_database_that_does_not_exist_is_named(postgres: PostgresServer) -> None:
    text = await error_at(postgres.url("nowhere"), database_wait_s=60.0)
    assert "nowhere has no such database or user; create it, or correct" in text


async def test_a_database_of_another_encoding_is_refused(postgres: PostgresServer) -> None:
    url = postgres.new_database("ENCODING 'SQL_ASCII' TEMPLATE template0")
    assert "create the database with ENCODING 'UTF8'" in await error_at(url)


async def test_a_database_of_a_newer_program_is_left_alone(
    postgres: PostgresServer, url: str, stores: Stores
) -> None:
    await stores.journal.append(KEY, entry(1), expected_version=0)
    postgres.execute("INSERT INTO acc_ace.migrations VALUES (199)", url=url)
    assert "schema version 199, this program knows up to" in await error_at(url)


async def test_a_user_without_rights_is_told_what_to_grant(
    postgres: PostgresServer, url: str, stores: Stores
) -> None:
    await stores.journal.append(KEY, entry(1), expected_version=0)
    postgres.execute("DROP ROLE IF EXISTS guest")
    postgres.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    text = await error_at(url.replace(f"test:{postgres.password}", "guest:guest"))
    assert "denies the user this operation; grant access to the schema acc_ace" in text


async def test_a_standby_is_told_from_the_primary(
    postgres: PostgresServer, url: str, stores: Stores
) -> None:
    await stores.journal.append(KEY, entry(1), expected_version=0)
    name = url.rpartition("/")[2]
    postgres.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    other = open_for(url)
    with pytest.raises(StoreError, match="is a read-only standby; point ACC_ACE_DATABASE"):
        await other.journal.append(KEY, entry(2), expected_version=1)
    assert await other.journal.head(KEY) == entry(1)
    await other.close()
    postgres.execute(
        f"BEGIN READ WRITE; ALTER DATABASE {name} RESET default_transaction_read_only; COMMIT"
    )


async def test_a_full_house_says_which_setting_to_lower(postgres: PostgresServer, url: str) -> None:
    name = url.rpartition("/")[2]
    postgres.execute("DROP ROLE IF EXISTS single")
    postgres.execute("CREATE ROLE single LOGIN PASSWORD 'single' CONNECTION LIMIT 1")
    postgres.execute(f"GRANT CREATE ON DATABASE {name} TO single")
    limited = url.replace(f"test:{postgres.password}", "single:single")
    with psycopg.connect(limited):
        assert "has no connection left for this user; raise its limit or lower" in await error_at(
            limited
        )


async def test_a_process_keeps_its_budget_of_connections(
    postgres: PostgresServer, url: str
) -> None:
    stores = open_for(url, database_connections=3)
    keys = [SessionKey("shop", "aiko", f"s-{number}") for number in range(40)]
    await asyncio.gather(
        *(stores.journal.append(key, entry(1), expected_version=0) for key in keys)
    )
    async with stores.lock.hold(KEY, wait_s=0):
        assert 1 < _connected(postgres, url) <= 3 + 1
    await stores.close()
    assert _connected(postgres, url) == 0


def _connected(postgres: PostgresServer, url: str) -> int:
    rows = postgres.execute(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE application_name = 'acc-ace' AND datname = current_database()",
        url=url,
    )
    return int(rows[0][0])


async def test_altered_rows_are_damage(postgres: PostgresServer, url: str, stores: Stores) -> None:
    await stores.journal.append(KEY, entry(1, "last good"), expected_version=0)
    await stores.evidence.record(KEY, interaction(1))
    await stores.artifacts.add([artifact("a-1", "checkout")])
    added = Playbook().add_bullet("rules", "true")
    scope = PlaybookScope("shop")
    await stores.playbooks.commit(
        scope, added.playbook, [record("ADD", after=added.bullet)], expected_version=0
    )
    for statement in (
        "UPDATE acc_ace.journal SET body = replace(body, 'last good', 'forged')",
        "UPDATE acc_ace.interactions SET body = '{}'",
        "UPDATE acc_ace.artifacts SET body = 'junk'",
        "UPDATE acc_ace.playbook_bullets SET body = replace(body, 'true', 'false')",
    ):
        postgres.execute(statement, url=url)
    other = open_for(url)
    with pytest.raises(CorruptStoreError, match="journal of session 's-1', version 1"):
        await other.journal.head(KEY)
    with pytest.raises(CorruptStoreError, match="evidence of session 's-1'"):
        await other.evidence.last(KEY)
    with pytest.raises(CorruptStoreError, match="artifact 'a-1'"):
        await other.artifacts.recall(asking("checkout"))
    with pytest.raises(CorruptStoreError, match="version 1: its bullets do not match"):
        await other.playbooks.load(scope)
    await other.close()


@pytest.mark.parametrize("session", ["\ud83d", "nul \x00"])
async def test_a_key_that_cannot_be_stored_is_bad_input(stores: Stores, session: str) -> None:
    with pytest.raises(InputError, match="cannot be stored"):
        await stores.journal.head(SessionKey("shop", "aiko", session))


async def test_closed_stores_say_so(stores: Stores) -> None:
    await stores.close()
    await stores.close()
    with pytest.raises(StoreError, match="was closed"):
        await stores.journal.head(KEY)
    with pytest.raises(StoreError, match="was closed"):
        async with stores.lock.hold(KEY, wait_s=0):
            pytest.fail("closed")


class LostAnswers(PostgresDatabase):
    """A database whose connection breaks once, right after a transaction was committed."""

    lose = False

    def _attempt(self, work: Any, begin: str, deadline: float) -> Any:
        result = super()._attempt(work, begin, deadline)
        if self.lose and "READ ONLY" not in begin:
            self.lose = False
            raise psycopg.OperationalError("the connection is lost")
        return result


async def test_a_commit_whose_answer_was_lost_is_found_and_not_repeated(url: str) -> None:
    database = LostAnswers(url)
    journal, books = SqlJournal(database), SqlPlaybookStore(database)
    artifacts = SqlArtifactStore(database, PostgresArtifactIndex())
    added = Playbook().add_bullet("rules", "true")
    scope = PlaybookScope("shop")
    database.lose = True
    await journal.append(KEY, entry(1), expected_version=0)
    database.lose = True
    stored = await books.commit(
        scope, added.playbook, [record("ADD", after=added.bullet)], expected_version=0
    )
    database.lose = True
    await artifacts.add([artifact("a", "checkout is slow"), artifact("b", "checkout")])
    assert len(await journal.history(KEY)) == 1
    assert await books.load(scope) == stored
    assert len(await books.deltas(scope)) == 1
    assert await artifacts.count(KEY.tenant) == 2
    assert await database.read(on_connection(_totals)) == (2, 4)
    with pytest.raises(ConflictError):
        await journal.append(KEY, entry(1), expected_version=0)
    await database.close()


def _totals(connection: Connection) -> Any:
    return connection.execute("SELECT documents, terms FROM tenants").fetchone()


async def test_totals_of_a_tenant_follow_every_change(url: str) -> None:
    database = PostgresDatabase(url)
    artifacts = SqlArtifactStore(database, PostgresArtifactIndex())
    turns = [artifact(f"t{n}", "checkout is slow", session="s-1", turn=n, at=n) for n in (1, 2, 3)]
    await artifacts.add([*turns, artifact("doc", "two words")])
    assert await database.read(on_connection(_totals)) == (4, 11)
    await artifacts.add([artifact("doc", "one")])
    assert await database.read(on_connection(_totals)) == (4, 10)
    await artifacts.retire(KEY, 1)
    assert await database.read(on_connection(_totals)) == (2, 4)
    await artifacts.erase(KEY.tenant, "s-1")
    assert await database.read(on_connection(_totals)) == (1, 1)
    await database.close()


async def test_erasing_a_user_leaves_no_row_of_theirs(
    postgres: PostgresServer, url: str, stores: Stores
) -> None:
    await stores.journal.append(KEY, entry(1, "zyzzyva"), expected_version=0)
    await stores.evidence.record(KEY, interaction(1, "zyzzyva"))
    await stores.artifacts.add([artifact("a", "zyzzyva")])
    for store in (stores.journal, stores.evidence, stores.artifacts, stores.playbooks):
        await store.erase(KEY.tenant)
    tables = postgres.execute(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'acc_ace'", url=url
    )
    found = [
        name
        for (name,) in tables
        if postgres.execute(
            f"SELECT FROM acc_ace.{name} AS row WHERE row::text ~ 'zyzzyva'",
            url=url,
        )
    ]
    assert found == []


def test_doctor_tells_of_a_server_that_answers_and_of_one_that_does_not(url: str) -> None:
    [well] = check_databases(Settings(store="postgres", database_url=url))
    assert well.status is Status.OK
    assert "answers" in well.detail
    away = Settings(store="postgres", database_url="postgresql://me:hush@127.0.0.1:1/mine")
    for settings, words in [(away, "cannot be reached"), (Settings(store="postgres"), "needs ACC")]:
        [ill] = check_databases(settings)
        assert ill.status is Status.PROBLEM
        assert words in ill.detail
        assert "hush" not in ill.detail + ill.fix


async def test_a_unit_of_work_whose_answer_was_lost_is_committed_once(url: str) -> None:
    database = LostAnswers(url)
    journal, evidence = SqlJournal(database), SqlEvidenceStore(database)
    await database.check()
    database.lose = True
    write = journal.append_write(KEY, entry(1), expected_version=0)
    await SqlUnitOfWork(database, write, evidence.record_write(KEY, interaction(1))).commit()
    assert not database.lose
    assert list(await journal.history(KEY)) == [entry(1)]
    assert await evidence.last(KEY) == interaction(1)
    await database.close()
