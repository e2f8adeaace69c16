"""`acc-ace memory import | list | show | remove`: documents in a user's memory."""

import asyncio
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress, TaskID

from acc_ace.bootstrap import build_container
from acc_ace.cli.names import APP_NAME, DEFAULT_USER, checked_name, require_app
from acc_ace.cli.options import App
from acc_ace.cli.output import json_line, printable, stderr_console, stdout_console, when
from acc_ace.config import load_settings
from acc_ace.container import Container
from acc_ace.core.schemas.artifact import Artifact, DocumentForm, ImportedDocument
from acc_ace.core.schemas.base import Tenant
from acc_ace.errors import AccAceError, ConflictError, InputError, NotFoundError, SessionBusyError
from acc_ace.ext.documents.document_catalog import list_documents, read_document, remove_document
from acc_ace.ext.documents.document_files import DocumentFile, FolderAtFault, document_files
from acc_ace.ext.documents.document_import import import_document

_PAGE = 100


app = typer.Typer(rich_markup_mode=None)

_Json = Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")]
_User = Annotated[str, typer.Option("--user", help="User whose memory to use.")]


@app.command("import")
def import_files(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Text, Markdown or JSONL files, or folders."),
    ],
    *,
    app_name: App = APP_NAME,
    user: _User = DEFAULT_USER,
    form: Annotated[
        str | None, typer.Option("--format", help="text or jsonl (default: by file suffix).")
    ] = None,
    encoding: Annotated[
        str, typer.Option(help="Encoding of files without a byte order mark, e.g. cp932.")
    ] = "utf-8",
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Replace undecodable bytes with U+FFFD.")
    ] = False,
    as_json: _Json = False,
) -> None:
    """Import documents into a user's memory. Re-importing is idempotent."""
    tenant = Tenant(app_name, checked_name(user, "--user"))
    files = document_files(paths, form=_form(form), encoding=encoding, lenient=lenient)
    with _opened(app_name) as (runner, container):
        try:
            failed = runner.run(_import_all(container, tenant, files, as_json=as_json))
        except KeyboardInterrupt:
            stderr_console().print("stopped; run the same command again to resume")
            raise
    # One failed document does not stop the others.
    if failed:
        raise InputError(f"{failed} documents could not be imported; see above")


def _form(form: str | None) -> DocumentForm | None:
    try:
        return DocumentForm(form) if form is not None else None
    except ValueError as error:
        raise InputError(f"--format is 'text' or 'jsonl', not '{printable(form or '')}'") from error


async def _import_all(
    container: Container,
    tenant: Tenant,
    files: Iterator[DocumentFile | FolderAtFault],
    *,
    as_json: bool,
) -> int:
    """Import the documents one by one; returns how many failed."""
    failed = 0
    console = stderr_console()
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        for file in files:
            if isinstance(file, FolderAtFault):
                failed += 1
                _report_failed(file.name, file.error, as_json=as_json)
                continue
            name = printable(file.name).replace("\n", " ")
            task = progress.add_task(name, total=None)
            try:
                done = await import_document(container, tenant, file, reported=_bar(progress, task))
            except (InputError, ConflictError, SessionBusyError) as error:
                failed += 1
                _report_failed(file.name, error, as_json=as_json)
            else:
                _report_imported(done, as_json=as_json)
            finally:
                progress.remove_task(task)
    return failed


@app.command("list")
def list_stored(
    app_name: App = APP_NAME, user: _User = DEFAULT_USER, as_json: _Json = False
) -> None:
    """List the documents in a user's memory."""
    tenant = Tenant(app_name, checked_name(user, "--user"))
    with _opened(app_name) as (runner, container):
        runner.run(_list(container, tenant, as_json=as_json))


async def _list(container: Container, tenant: Tenant, *, as_json: bool) -> None:
    console, after, is_any = stdout_console(), None, False
    while True:
        page, after = await list_documents(container, tenant, limit=_PAGE, after=after)
        for document in page:
            is_any = True
            if as_json:
                print(json_line(document.model_dump(mode="json")))
                continue
            state = "" if document.complete else " · incomplete, import it again"
            console.print(
                f"{printable(document.name)} · {_counted(document.parts)} · "
                f"{when(document.imported_at)} · sha256 {document.digest[:12]}{state}",
                soft_wrap=True,
            )
        if after is None:
            break
    if not is_any and not as_json:
        console.print("no documents; add some with `acc-ace memory import FILE`")


@app.command("show")
def show_stored(
    name: Annotated[str, typer.Argument(help="Document name or artifact id.")],
    app_name: App = APP_NAME,
    user: _User = DEFAULT_USER,
    as_json: _Json = False,
) -> None:
    """Show a stored document, chunk by chunk, or one artifact."""
    tenant = Tenant(app_name, checked_name(user, "--user"))
    with _opened(app_name) as (runner, container), _with_location(tenant):
        runner.run(_show(container, tenant, name, as_json=as_json))


async def _show(container: Container, tenant: Tenant, name: str, *, as_json: bool) -> None:
    artifact = await container.artifacts.get(tenant, name)
    if artifact is not None:
        _print_part(artifact, as_json=as_json)
        return
    after = 0
    while page := await read_document(container, tenant, name, limit=_PAGE, after_part=after):
        for part in page:
            _print_part(part, as_json=as_json)
        after += len(page)


@app.command("remove")
def remove_stored(
    name: Annotated[str, typer.Argument(help="Document name, as shown by `list`.")],
    app_name: App = APP_NAME,
    user: _User = DEFAULT_USER,
    as_json: _Json = False,
) -> None:
    """Delete a document from a user's memory."""
    tenant = Tenant(app_name, checked_name(user, "--user"))
    with _opened(app_name) as (runner, container), _with_location(tenant):
        removed = runner.run(remove_document(container, tenant, name))
    if as_json:
        print(json_line({"name": name, "removed": removed}))
    else:
        stdout_console().print(f"{printable(name)} · removed, {_counted(removed)}", soft_wrap=True)


@contextmanager
def _with_location(tenant: Tenant) -> Iterator[None]:
    """Add to the error of an unknown document how to list this user's documents."""
    try:
        yield
    except NotFoundError as error:
        app = "" if tenant.app == APP_NAME else f" --app {shlex.quote(tenant.app)}"
        command = f"acc-ace memory list{app} --user {shlex.quote(tenant.user)}"
        raise NotFoundError(f"{error}; list them with `{command}`") from error


def _bar(progress: Progress, task: TaskID) -> Callable[[int, int], None]:
    def reported(stored: int, parts: int) -> None:
        progress.update(task, completed=stored, total=parts)

    return reported


def _report_imported(done: ImportedDocument, *, as_json: bool) -> None:
    if as_json:
        print(json_line({**done.model_dump(mode="json"), "status": _status(done)}))
    else:
        stdout_console().print(
            f"{printable(done.name)} · {_counted(done.parts)} · {_status(done)}", soft_wrap=True
        )


def _status(done: ImportedDocument) -> str:
    if done.removed:
        return "replaced"
    return "stored" if done.stored else "unchanged"


def _report_failed(name: str, error: AccAceError, *, as_json: bool) -> None:
    if as_json:
        print(
            json_line({"name": name, "status": "failed", "code": error.code, "error": str(error)})
        )
    else:
        stderr_console().print(f"failed ({error.code}): {printable(str(error))}", soft_wrap=True)


def _print_part(part: Artifact, *, as_json: bool) -> None:
    if as_json:
        print(json_line(part.model_dump(mode="json")))
        return
    console = stdout_console()
    console.print(
        f"[{printable(part.artifact_id)}] {printable(part.source)}", style="dim", soft_wrap=True
    )
    console.print(f"{printable(part.content)}\n", soft_wrap=True)


def _counted(parts: int) -> str:
    return f"{parts} part" if parts == 1 else f"{parts} parts"


@contextmanager
def _opened(app: str) -> Iterator[tuple[asyncio.Runner, Container]]:
    """Open the configured stores, which know the app; close them at the end."""
    container = build_container(load_settings())
    with asyncio.Runner() as runner:
        try:
            runner.run(require_app(container.directory, app))
            yield runner, container
        finally:
            runner.run(_close(container))


async def _close(container: Container) -> None:
    await container.close()
