"""DBOS's connections to PostgreSQL, with a time limit on every statement."""

from typing import Any

from dbos import DBOSClient
from sqlalchemy import Engine, create_engine, event

from acc_ace.ext.postgres.connection import BoundedConnection

_SESSION = "SET idle_in_transaction_session_timeout = '60s'"
"""As in DBOS's own connections: a frozen process does not hold its locks for ever."""


def bounded_engine(
    url: str, server: str, *, connections: int, longest_s: float, network: dict[str, Any]
) -> Engine:
    """A pool of connections to `server`, each closed after `longest_s` seconds of silence.

    `url` is the server's URL for SQLAlchemy. Does no I/O. The caller disposes of it, not DBOS.
    """
    engine = create_engine(url, pool_size=connections, max_overflow=0, pool_pre_ping=True)

    def connect(*given: Any) -> BoundedConnection:  # noqa: ANN401 - SQLAlchemy's
        _dialect, _record, _, parameters = given
        connection = BoundedConnection.connect(
            server, autocommit=True, context=parameters.get("context"), **network
        )
        connection.longest_s = longest_s
        try:
            connection.execute(_SESSION)
            connection.autocommit = False
        except BaseException:
            connection.close()
            raise
        return connection

    event.listen(engine, "do_connect", connect)
    return engine


class BoundedClient(DBOSClient):
    """A DBOSClient that owns its engine."""

    def __init__(self, engine: Engine, **options: Any) -> None:  # noqa: ANN401 - DBOS's
        """Blocks. Raises what SQLAlchemy does."""
        self._own = engine
        try:
            super().__init__(system_database_engine=engine, **options)
        except BaseException:
            engine.dispose()
            raise

    def destroy(self) -> None:
        """Close the connections."""
        super().destroy()
        self._own.dispose()
