"""`acc-ace memory forget`."""

import asyncio
from typing import Annotated

import typer

from acc_ace.bootstrap import build_container
from acc_ace.cli.names import DEFAULT_USER, checked_name, require_app
from acc_ace.cli.options import APP_NAME, App
from acc_ace.cli.output import json_line, printable, stdout_console
from acc_ace.config import load_settings
from acc_ace.core.schemas.artifact import Erased
from acc_ace.core.schemas.base import Tenant
from acc_ace.turn.erasing import erase_artifacts

app = typer.Typer(rich_markup_mode=None)

_LABELS = {
    "removed": "deleted",
    "shortened": "shortened",
    "sessions": "taken out of session",
    "also": "says it too, and stays",
}


@app.command("forget")
def forget(
    ids: Annotated[list[str], typer.Argument(help="Ids of artifacts, as 'search' shows them.")],
    *,
    app_name: App = APP_NAME,
    user: Annotated[str, typer.Option("--user", help="User whose memory to use.")] = DEFAULT_USER,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List only; delete nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")] = False,
) -> None:
    """Delete artifacts of a user's memory, and what rests on them. This cannot be undone."""
    tenant = Tenant(app_name, checked_name(user, "--user"))
    erased = asyncio.run(_erase(tenant, ids, dry_run=dry_run))
    if as_json:
        print(json_line(erased.model_dump(mode="json")))
        return
    for name, label in _LABELS.items():
        for each in getattr(erased, name):
            line = f"{'would be ' * (dry_run and name != 'also')}{label}: {each}"
            stdout_console().print(printable(line), soft_wrap=True)


async def _erase(tenant: Tenant, ids: list[str], *, dry_run: bool) -> Erased:
    container = build_container(load_settings())
    try:
        await require_app(container.directory, tenant.app)
        return await erase_artifacts(container, tenant, ids, dry_run=dry_run)
    finally:
        await container.close()
