"""See what the connections to a test's own database are doing; others share the server."""

import asyncio

from tests.fakes.postgres_server import PostgresServer

SESSION_LOCKS = """
    SELECT DISTINCT pid, objid, classid FROM pg_locks
     WHERE locktype = 'advisory' AND granted
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
"""Who holds which session; locks of the workers beside this one are not looked at."""

_WAITING = """
    SELECT pid FROM pg_stat_activity
     WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


async def somebody_waits(server: PostgresServer, url: str, work: "asyncio.Task[object]") -> None:
    """Return once a transaction waits for a lock; fails when the work ends before."""
    while not await asyncio.to_thread(server.execute, _WAITING, url=url):
        assert not work.done(), "it ended without waiting for a lock"
        await asyncio.sleep(0.01)
