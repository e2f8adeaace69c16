"""Playbooks in PostgreSQL."""

from core.adapters.clock import SystemClock
from core.adapters.postgres_database import PostgresDatabase
from core.adapters.postgres_rows import PostgresRows
from core.adapters.postgres_schema import Connection
from core.adapters.sql_playbook import SqlPlaybookStore
from core.ports.clock import Clock
from core.ports.playbook_follower import PlaybookFollower


class PostgresPlaybookStore(SqlPlaybookStore[Connection]):
    """A PlaybookStore in a PostgresDatabase."""

    def __init__(
        self,
        database: PostgresDatabase,
        clock: Clock | None = None,
        *,
        follower: PlaybookFollower | None = None,
    ) -> None:
        super().__init__(database, PostgresRows, clock or SystemClock(), follower=follower)
