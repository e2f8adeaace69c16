"""DBOS's connections to PostgreSQL: none of its statements waits for ever either."""

from typing import Any

from dbos import DBOSClient
from psycopg.abc import AdaptContext
from sqlalchemy import Engine, create_engine, event

from core.adapters.postgres_connection import Address, WatchedConnection

_SESSION = "SET idle_in_transaction_session_timeout = '60s'"
"""As DBOS does where it connects by itself: a frozen process blocks nobody for ever."""


def watched_engine(url: str, address: Address, *, connections: int) -> Engine:
    """A pool of connections that end when the server has gone silent, for SQLAlchemy.

    Does no I/O. Whoever opens it disposes of it: DBOS does not.
    """
    engine = create_engine(url, pool_size=connections, max_overflow=0, pool_pre_ping=True)

    def connect(*given: Any) -> WatchedConnection:  # noqa: ANN401 - SQLAlchemy's
        _dialect, _record, _, parameters = given
        return _connected(address, parameters.get("context"))

    event.listen(engine, "do_connect", connect)
    return engine


class WatchedClient(DBOSClient):
    """A DBOSClient over an engine of its own, closed with it."""

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


def _connected(address: Address, context: AdaptContext | None) -> WatchedConnection:
    connection = address.connect(context=context)
    try:
        # Looked up now: it cannot be when it is needed.
        _ = connection.backend
        connection.asks = True
        connection.execute(_SESSION)
        connection.autocommit = False
    except BaseException:
        connection.close()
        raise
    return connection
