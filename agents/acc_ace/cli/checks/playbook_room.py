"""Check how full the playbooks are, and what was archived to make room. Read-only."""

import asyncio
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import quote

from acc_ace.cli.checks.installation import CheckResult, note, ok
from acc_ace.config import Settings
from acc_ace.core.playbook.curation.curation_record import MAKES_ROOM, OVER_BUDGET
from acc_ace.errors import ConfigError, StoreError
from acc_ace.hooks import STORES, only
from acc_ace.storage.sql_rows import Rows
from acc_ace.storage.sqlite.database import DATABASE_FILE

_BULLETS = (
    "SELECT p.id, p.app, p.user_id, count(b.bullet_id) FROM playbooks p "
    "LEFT JOIN playbook_bullets b ON b.playbook = p.id WHERE p.branch = '' "
    "GROUP BY p.id, p.app, p.user_id ORDER BY p.app, p.user_id"
)
_ARCHIVED = (
    "SELECT playbook, body FROM playbook_deltas WHERE kind = 'ARCHIVE' AND standing "
    "ORDER BY playbook, seq DESC LIMIT 10000"
)
_FIX = (
    "see 'acc-ace playbook stats'; restore what is missed, pin it, or raise "
    "ACC_ACE_LIMITS__PLAYBOOK_BULLETS and …PLAYBOOK_TOKENS"
)


def check_playbooks(settings: Settings) -> Iterator[CheckResult]:
    """Whether bullets were archived to make room. Database errors have their own finding."""
    try:
        bullets, archived = _read(settings)
    except (sqlite3.Error, StoreError, ConfigError):
        return
    left = Counter(
        playbook
        for playbook, body in archived
        if json.loads(body).get("reason") in {MAKES_ROOM, OVER_BUDGET}
    )
    most = settings.limits.playbook_bullets
    for playbook, app, user, count in bullets:
        of = f"{app}, user {user}" if user else app
        shown = f"{of}: {count} of at most {most} lessons"
        made_room = left[playbook]
        if made_room:
            yield note("playbook", f"{shown}; it was full: {made_room} left to make room", _FIX)
        else:
            yield ok("playbook", shown)


def _read(settings: Settings) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Rows of playbooks with bullet counts, and rows of archived bullets."""
    if settings.store == "postgres":
        return asyncio.run(_read_postgres(settings))
    path = settings.data_dir.absolute() / DATABASE_FILE
    if settings.store == "memory" or not path.is_file():
        return [], []
    with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection:
        return connection.execute(_BULLETS).fetchall(), connection.execute(_ARCHIVED).fetchall()


async def _read_postgres(
    settings: Settings,
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    def both(rows: Rows) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        return rows.all(_BULLETS), rows.all(_ARCHIVED)

    stores = only(STORES, "ACC_ACE_STORE=postgres")
    database = stores.open_database(settings.model_copy(update={"database_wait_s": 0.0}))
    try:
        return await database.read(both)
    finally:
        await database.close()
