"""`acc-ace memory export` and `restore`: whole users in one file, and back into any database."""

import asyncio
import json
import sys
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Final, TextIO

import typer

from acc_ace.adk.artifact_services import FileArtifacts
from acc_ace.adk.user_data_service import apps_of_user, shown_only
from acc_ace.bootstrap import build_container
from acc_ace.cli.names import APP_NAME, checked_name
from acc_ace.cli.output import create_private_file, json_line, stderr_console, stdout_console
from acc_ace.cli.user_commands import AppOption, named, where
from acc_ace.config import load_settings
from acc_ace.container import Container
from acc_ace.core.schemas.base import PlaybookScope, Tenant
from acc_ace.errors import ConfigError, InputError, StoreError
from acc_ace.storage.private_files import make_directory
from acc_ace.storage.prompt_history import PromptHistory, history_path
from acc_ace.storage.sql_artifacts import SqlArtifactStore
from acc_ace.storage.sql_database import VERSION
from acc_ace.storage.sql_rows import Rows
from acc_ace.storage.transfer_rows import Record, RowWriter, exists, read_rows, scopes_of

_FORMAT: Final = 1
_CHUNK: Final = 1_000_000
"""Bytes of a file in one line."""

_END: Final = {"kind": "end"}
_FRAME: Final = {"export", "user", "app", "sum", "end"}
"""Hold nothing of a user."""
_FILES: Final = {"file", "typed"}
_SHOWN: Final = {"lesson", "learning_job"}
"""Shown to the user, and restored with the app's playbook or not at all."""


app = typer.Typer(rich_markup_mode=None)


@app.command("export")
def export_users(
    user: Annotated[
        str | None,
        typer.Option(help="User whose data to export (default: all, with what apps share)."),
    ] = None,
    app_name: AppOption = None,
    out: Annotated[
        Path | None, typer.Option(help="New file to write; - for stdout (the default).")
    ] = None,
) -> None:
    """Export everything stored about users as JSON Lines, which 'restore' reads."""
    user = None if user is None else checked_name(user, "--user")
    only = None if app_name is None else checked_name(app_name, "--app")
    is_file = out is not None and str(out) != "-"
    with _target(out if is_file else None) as file:
        lines = _Lines(file)
        asyncio.run(_export(lines, user, only))
    whose = "all users" if user is None else f"user {user}"
    if is_file:
        stdout_console().print(f"{lines.count} records about {whose} written to {out}")
    if lines.is_empty:
        reported = f"nothing is stored about {whose} in {named(only)}, in {where(load_settings())}"
        stderr_console().print(reported, soft_wrap=True)


@app.command("restore")
def restore_users(
    file: Annotated[Path, typer.Argument(help="File that 'export' wrote.")],
) -> None:
    """Restore the users of an export, all or none; one who has data here is not touched."""
    try:
        scopes = _checked(file)
        asyncio.run(_restore(file, scopes))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{file} was changed by hand: {type(error).__name__} {error}") from error
    users = sum(scope.user is not None for scope in scopes)
    stdout_console().print(f"{users} users of {len({scope.app for scope in scopes})} apps restored")


class _Lines:
    """Records as lines of a file, counted and summed."""

    def __init__(self, file: TextIO) -> None:
        self._file, self._sum = file, sha256()
        self.count, self.is_empty = 0, True

    def put(self, record: Record) -> None:
        line = json_line(record) + "\n"
        self._file.write(line)
        self._sum.update(line.encode("utf-8", "backslashreplace"))
        self.count += 1
        self.is_empty = self.is_empty and record["kind"] in _FRAME

    def end(self) -> None:
        """Write how many lines there are, and their checksum."""
        self.put({"kind": "sum", "lines": self.count, "sha256": self._sum.hexdigest()})
        self.put(_END)


def _target(out: Path | None) -> AbstractContextManager[TextIO]:
    return nullcontext(sys.stdout) if out is None else create_private_file(out, whole=True)


@asynccontextmanager
async def _opened() -> AsyncIterator[Container]:
    container = build_container(load_settings())
    try:
        yield container
    finally:
        await container.close()


async def _export(lines: _Lines, user: str | None, only: str | None) -> None:
    async with _opened() as container:
        program = version("acc-ace")
        lines.put({"kind": "export", "format": _FORMAT, "schema": VERSION, "program": program})
        if user is None:
            scopes = await container.database.read(scopes_of)
        else:
            scopes = [PlaybookScope(app, user) for app in await apps_of_user(container, user)]
        for scope in scopes:
            if only in {None, scope.app}:
                await _export_scope(container, scope, lines)
                if user is not None:
                    async for record in shown_only(container, Tenant(scope.app, user)):
                        lines.put(record)
        lines.end()


async def _export_scope(container: Container, scope: PlaybookScope, lines: _Lines) -> None:
    owner = {} if scope.user is None else {"user": scope.user}
    lines.put({"kind": "user" if owner else "app", "app": scope.app, **owner})
    begun = lines.count

    def work(rows: Rows) -> None:
        if lines.count != begun:
            raise StoreError("the connection to the database was lost meanwhile; export again")
        rows.disable_timeout()
        for record in read_rows(rows, scope):
            lines.put(record)

    await container.database.read(work)
    if scope.user is None:
        return
    async for path, content in container.files.export(Tenant(scope.app, scope.user)):
        for at in range(0, max(len(content), 1), _CHUNK):
            piece = b64encode(content[at : at + _CHUNK]).decode()
            lines.put({"kind": "file", "path": path, "at": at, "base64": piece})
    history = history_path(container.settings.data_dir, scope.user)
    if scope.app == APP_NAME and history.exists():
        for typed in history.read_text(encoding="utf-8", errors="replace").splitlines():
            lines.put({"kind": "typed", "value": typed})


def _checked(file: Path) -> list[PlaybookScope]:
    """The users and apps of an export; raises InputError for one that cannot be restored whole."""
    scopes: list[PlaybookScope] = []
    digest, count = sha256(), 0
    for line, record in _records(file):
        if not count:
            _check_header(file, record)
        if record["kind"] == "sum":
            if record == {"kind": "sum", "lines": count, "sha256": digest.hexdigest()}:
                return scopes
            break
        if record["kind"] in {"user", "app"}:
            scopes.append(_scope(record))
        digest.update(line)
        count += 1
    raise InputError(f"{file} was cut or changed after line {count}; export again, or take a copy")


def _check_header(file: Path, record: Record) -> None:
    if record["kind"] != "export":
        raise InputError(f"{file} is no file of 'acc-ace memory export'")
    if (record.get("format"), record.get("schema")) != (_FORMAT, VERSION):
        raise InputError(
            f"{file} is of format {record.get('format')}, schema {record.get('schema')}; this "
            f"program restores format {_FORMAT}, schema {VERSION}. Restore it with acc-ace "
            f"{record.get('program')}, which wrote it: this program upgrades that database"
        )


def _records(file: Path) -> Iterator[tuple[bytes, Record]]:
    """The lines of a file as they are and as records; raises InputError."""
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    record: Any = json.loads(line)
                except (ValueError, RecursionError):
                    record = None
                if not isinstance(record, dict) or "kind" not in record:
                    raise InputError(f"{file} is damaged: line {number} cannot be read")
                yield line, record
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from error


def _scope(record: Record) -> PlaybookScope:
    names = [record["app"], *([record["user"]] if record["kind"] == "user" else [])]
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"{names} are no names")
    return PlaybookScope(*names)


async def _restore(file: Path, scopes: list[PlaybookScope]) -> None:
    async with _opened() as container:
        files, artifacts = container.files, container.artifacts
        if not isinstance(files, FileArtifacts) or not isinstance(artifacts, SqlArtifactStore):
            raise ConfigError("ACC_ACE_STORE=memory keeps nothing; set it to sqlite or postgres")
        for scope in scopes:
            if scope.user and scope.app in await container.erasure.apps(scope.user):
                raise exists(scope)
        users = [Tenant(scope.app, scope.user) for scope in scopes if scope.user]
        written: list[Tenant] = []

        def work(rows: Rows) -> None:
            _restore_rows(file, rows, artifacts)
            # In the transaction that has taken up each user, who had nothing before.
            written.extend(users)
            _restore_files(file, files, container.settings.data_dir)

        try:
            await container.database.write(work)
        except Exception:
            for tenant in written:
                await files.erase(tenant)
                await PromptHistory(container.settings.data_dir).erase(tenant)
            raise


def _restore_rows(file: Path, rows: Rows, artifacts: SqlArtifactStore[Any]) -> None:
    rows.disable_timeout()
    writer = RowWriter(rows, artifacts)
    for _, record in _records(file):
        if record["kind"] in {"user", "app"}:
            writer.begin(_scope(record))
        elif record["kind"] not in _FRAME | _FILES | _SHOWN:
            writer.add(record)
    writer.end()


def _restore_files(file: Path, files: FileArtifacts, data_dir: Path) -> None:
    tenant = Tenant("", "")
    for _, record in _records(file):
        if record["kind"] == "user":
            tenant = Tenant(record["app"], record["user"])
        elif record["kind"] == "file":
            content = b64decode(record["base64"])
            files.restore(tenant, record["path"], content, at=record["at"])
        elif record["kind"] == "typed" and tenant.app == APP_NAME:
            history = history_path(data_dir, tenant.user)
            make_directory(history.parent)
            history.touch(mode=0o600)
            with history.open("a", encoding="utf-8") as typed:
                typed.write(record["value"] + "\n")
