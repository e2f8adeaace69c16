"""Evidence in PostgreSQL."""

from core.adapters.postgres_database import PostgresDatabase
from core.adapters.postgres_rows import PostgresRows
from core.adapters.postgres_schema import Connection
from core.adapters.sql_evidence import SqlEvidenceStore


class PostgresEvidenceStore(SqlEvidenceStore[Connection]):
    """An EvidenceStore in a PostgresDatabase."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database, PostgresRows)
