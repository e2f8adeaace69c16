"""Something of a user in every table there is, and what the tables say of that."""

import re
import sqlite3
import zlib
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from google.adk.artifacts import BaseArtifactService
from google.adk.events import Event, EventActions
from google.adk.sessions import BaseSessionService
from google.genai import types

from acc_ace import Container
from acc_ace.adk.artifact_services import open_artifacts
from acc_ace.adk.turn_parts import TurnParts
from acc_ace.core.schemas.trace import ModelCall, RequestPart, TurnTrace
from acc_ace.memory.artifact_store import Embedder
from acc_ace.models.prices import load_prices
from acc_ace.storage.create_stores import create_stores
from acc_ace.turn.ports import Ccm
from acc_ace.turn.spending import Spending
from config import Settings
from schemas.base import Authority, PlaybookScope, SessionKey, Tenant
from schemas.commit import ConstraintPin, RuleScope
from schemas.report import TokenUse
from tests.contract.playbooks import add, commit
from tests.contract.values import artifact, entry, interaction, record
from tests.fakes import residue_postgres as postgres_residue
from tests.fakes import residue_sqlite as sqlite_residue
from tests.fakes.clock import START, FixedClock
from tests.fakes.filled import filled
from tests.fakes.residue_scan import TENANTS, USER_COLUMNS, Table

_TOOL_START = """
    INSERT INTO tool_starts (app, user_id, session, turn, call_id, name, args, started_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""

UNTIL_SNAPSHOT = 64
"""Lessons after which a playbook has a snapshot."""

_MARK = re.compile(r"zq[a-z]+zq")


def mark(name: str) -> str:
    """A word that stands nowhere else."""
    return f"zq{name}zq"


def marks(text: str) -> set[str]:
    """The words of `mark` in a text."""
    return set(_MARK.findall(text))


def opened(settings: Settings, embedder: Embedder) -> Container:
    """A container whose texts get vectors."""
    clock = FixedClock()
    files = open_artifacts(settings)
    stores = create_stores(settings, clock, embedder, files=files)
    return Container(
        settings=settings,
        clock=clock,
        artifacts=stores.artifacts,
        evidence=stores.evidence,
        journal=stores.journal,
        playbooks=stores.playbooks,
        lock=stores.lock,
        directory=stores.directory,
        tool_starts=stores.tool_starts,
        user_rules=stores.user_rules,
        ccm_records=stores.ccm_records,
        spending=Spending(stores.spending, load_prices(), clock, ceiling=None),
        traces=stores.traces,
        database=stores.database,
        unit_of_work=stores.unit_of_work,
        erasure=stores.erasure,
        files=files,
        close=stores.close,
        parts=TurnParts(),
    )


async def fill(
    container: Container, sessions: BaseSessionService, key: SessionKey, *, lessons: int = 1
) -> None:
    """Let every store keep something of a user."""
    await container.journal.append(key, entry(1, mark("state")), expected_version=0)
    await container.evidence.record(key, interaction(1, mark("turn")))
    await container.artifacts.add([artifact("a1", f"{mark('note')} kitten", tenant=key.tenant)])
    await filled(container)
    await container.directory.open(key, at=START)
    await container.directory.offloaded(key, at=START, notes=[mark("noted")])
    work = container.unit_of_work()
    work.add(lambda rows: rows.run(_TOOL_START, (*key, 1, "call-1", "restart", "{}", 0.0)))
    rule = ConstraintPin(
        id="u-0001",
        text=mark("rule"),
        authority=Authority.USER,
        origin_turn=1,
        quote=mark("rule"),
        scope=RuleScope.USER,
    )
    work.add(container.user_rules.change_write(key.tenant, added=[rule], removed=[]))
    work.add(container.ccm_records.add_write(key.tenant, Ccm(mark("compressor"), "here:1"), "nS"))
    await work.commit()
    used = {"generator": {mark("model"): TokenUse(input=9, calls=1)}}
    use = container.spending.prices.priced("run-1", 1, used)
    await container.spending.store.add(key, use, day=START.date())
    await _fill_traces(container, key)
    await _fill_chat(sessions, key)
    await _fill_playbook(container, key.tenant, lessons)
    assert isinstance(container.files, BaseArtifactService)
    await container.files.save_artifact(
        app_name=key.app,
        user_id=key.user,
        session_id=key.session,
        filename="me.txt",
        artifact=types.Part(text=mark("file")),
    )


async def _fill_traces(container: Container, key: SessionKey) -> None:
    asked = ModelCall(
        stage="generator",
        model="m",
        parts=(RequestPart(kind="state", text=mark("request")),),
        reply=mark("reply"),
        tokens=TokenUse(),
        seconds=0.1,
    )
    trace = TurnTrace(turn=1, invocation_id="i-1", run=f"run-{key.app}-1", calls=(asked,))
    work = container.unit_of_work()
    work.add(container.traces.put_write(key, trace))
    await work.commit()


async def _fill_chat(sessions: BaseSessionService, key: SessionKey) -> None:
    state = {"note": mark("sessionstate"), "user:phone": mark("userstate")}
    session = await sessions.create_session(
        app_name=key.app, user_id=key.user, session_id=key.session, state=state
    )
    undone = types.Content(role="user", parts=[types.Part(text=mark("undone"))])
    said = types.Content(role="user", parts=[types.Part(text=mark("event"))])
    call = types.FunctionCall(id=mark("call"), name="wait", args={})
    asked = types.Content(role="model", parts=[types.Part(function_call=call)])
    undo = EventActions(rewind_before_invocation_id="i-0")
    await sessions.append_event(session, Event(author="user", invocation_id="i-0", content=undone))
    await sessions.append_event(session, Event(author="user", invocation_id="u-0", actions=undo))
    await sessions.append_event(session, Event(author="user", invocation_id="i-1", content=said))
    await sessions.append_event(
        session,
        Event(
            author="helper",
            invocation_id="i-1",
            content=asked,
            long_running_tool_ids={mark("call")},
            actions=EventActions(state_delta={"later": mark("laterstate")}),
        ),
    )


async def _fill_playbook(container: Container, tenant: Tenant, lessons: int) -> None:
    """A playbook of the user's own, with a branch and a bullet that was removed; a shared one."""
    own = PlaybookScope(*tenant)
    await add(container, mark("removed"), mark("bullet"), scope=own, user=tenant.user)
    current = (await container.playbooks.load(own)).playbook
    gone = current.bullets[0]
    await commit(
        container,
        current.remove_bullet(gone.id),
        record("REMOVE", before=gone, user=tenant.user),
        scope=own,
        commit_id="feedback-1",
    )
    for number in range(lessons):
        await add(container, f"{mark('lesson')} {number}", scope=own, user=tenant.user)
    await add(container, mark("shared"), scope=PlaybookScope(tenant.app), user=tenant.user)


class Database(NamedTuple):
    """The tables of stores, read beside them."""

    settings: Settings

    def counts(self, tenant: Tenant) -> dict[str, int]:
        """How many rows of a user each table has that can have any."""
        return {name: len(rows) for name, rows in self.rows(tenant).items()}

    def rows(self, tenant: Tenant) -> dict[str, list[tuple[Any, ...]]]:
        """The rows of a user, by table: those that name the user, and those that belong to such."""
        if self.settings.store == "postgres":
            return self._of_postgres(tenant)
        found: dict[str, list[tuple[Any, ...]]] = {}
        for path in sorted(self.settings.data_dir.glob("*.db")):
            found |= _of_file(path, tenant)
        return found

    def _of_postgres(self, tenant: Tenant) -> dict[str, list[tuple[Any, ...]]]:
        assert self.settings.database_url is not None
        url = self.settings.database_url.get_secret_value()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"SET search_path = {postgres_residue.SCHEMA}, public".encode())
            tables = postgres_residue.tables_of(connection)
            return {
                name: _plain(connection.execute(query.encode(), _values(tenant)).fetchall())
                for name, query in _queries(tables, ("%(app)s", "%(user)s"))
            }


def _of_file(path: Path, tenant: Tenant) -> dict[str, list[tuple[Any, ...]]]:
    with closing(sqlite3.connect(path)) as connection:
        tables = sqlite_residue.tables_of(connection)
        return {
            f"{path.stem}.{name}": _plain(connection.execute(query, _values(tenant)).fetchall())
            for name, query in _queries(tables, (":app", ":user"))
        }


def _plain(rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The rows with what is compressed in them as text."""
    return [tuple(map(_text, row)) for row in rows]


def _text(value: object) -> object:
    if isinstance(value, bytes) and value.startswith(b"x\x9c"):
        return zlib.decompress(value).decode()
    return value


def _values(tenant: Tenant) -> dict[str, str]:
    return tenant._asdict()


def _queries(tables: Mapping[str, Table], names: tuple[str, str]) -> list[tuple[str, str]]:
    found = [(name, _belongs(table, tables, names)) for name, table in tables.items()]
    return [
        (name, f'SELECT * FROM "{name}" WHERE {condition}')  # noqa: S608 - names of the schema
        for name, condition in found
        if condition
    ]


def _belongs(table: Table, tables: Mapping[str, Table], names: tuple[str, str]) -> str:
    """That a row is a user's: it names the user, or a row that is the user's."""
    app, user = names
    owner = next((name for name in USER_COLUMNS if name in table.columns), None)
    if owner is not None:
        of_app = next((name for name in ("app", "app_name") if name in table.columns), None)
        return f'"{owner}" = {user}' + (f' AND "{of_app}" = {app}' if of_app else "")
    if "tenant" in table.columns and TENANTS in tables:
        of_tenant = _belongs(tables[TENANTS], tables, names)
        return f'tenant IN (SELECT id FROM "{TENANTS}" WHERE {of_tenant})'  # noqa: S608 - names of the schema
    for parent in table.parents:
        above = tables[parent.table]
        condition = _belongs(above, tables, names) if above is not table else ""
        if condition:
            inner = f'SELECT "{parent.references}" FROM "{parent.table}" WHERE {condition}'  # noqa: S608 - names of the schema
            return f'"{parent.column}" IN ({inner})'
    return ""
