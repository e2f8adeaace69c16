"""Begun tool calls in a SQL database."""

import json
from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from pydantic_core import to_jsonable_python

from acc_ace.schemas.base import SessionKey
from acc_ace.schemas.interaction import ToolStart
from acc_ace.storage.sql_database import Database
from acc_ace.storage.sql_rows import Rows
from acc_ace.storage.tenant_rows import ensure_tenant
from acc_ace.unit_of_work import Write

_KEY = "app = ? AND user_id = ? AND session = ?"
_INSERT = """
    INSERT INTO tool_starts (app, user_id, session, turn, call_id, name, args, started_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (app, user_id, session, call_id) DO UPDATE
       SET turn = excluded.turn, name = excluded.name, args = excluded.args,
           started_at = excluded.started_at
"""
_SELECT = f"""
    SELECT call_id, name, args, turn, started_at FROM tool_starts
     WHERE {_KEY} ORDER BY started_at, call_id
"""  # noqa: S608 - a constant


class SqlToolStarts:
    """ToolStarts in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def start(self, key: SessionKey, start: ToolStart) -> None:
        """Note a call, durably; the same call id again replaces it."""
        args = to_jsonable_python(
            start.args, serialize_unknown=True, inf_nan_mode="null", bytes_mode="base64"
        )
        row = (
            *key,
            start.turn,
            start.call_id,
            start.name,
            json.dumps(args),
            start.started_at.timestamp(),
        )

        def work(rows: Rows) -> None:
            ensure_tenant(rows, key.tenant)
            rows.run(_INSERT, row)

        await self._database.write(work)

    async def unsettled(self, key: SessionKey) -> Sequence[ToolStart]:
        """The calls of the session that no commit has settled, in the order of their start."""
        found = await self._database.read(lambda rows: rows.all(_SELECT, key))
        return [
            ToolStart(
                call_id=call_id,
                name=name,
                args=json.loads(args),
                turn=turn,
                started_at=datetime.fromtimestamp(started_at, UTC),
            )
            for call_id, name, args, turn, started_at in found
        ]

    def settle_write(self, key: SessionKey, call_ids: Collection[str]) -> Write:
        """Forget calls whose outcome is part of the same unit of work."""
        values = [(*key, call_id) for call_id in sorted(call_ids)]

        def write(rows: Rows) -> None:
            rows.many(f"DELETE FROM tool_starts WHERE {_KEY} AND call_id = ?", values)  # noqa: S608

        return write

    async def erase(self, key: SessionKey) -> int:
        """Forget all calls of a session; how many."""
        return await self._database.write(
            lambda rows: rows.run(f"DELETE FROM tool_starts WHERE {_KEY}", key)  # noqa: S608
        )
