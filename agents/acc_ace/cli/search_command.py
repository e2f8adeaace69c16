"""`acc-ace memory search`."""

import asyncio
from typing import Annotated

import typer

from acc_ace.bootstrap import build_container
from acc_ace.cli.names import DEFAULT_USER, checked_name, require_app
from acc_ace.cli.options import APP_NAME, App
from acc_ace.cli.output import json_line, printable, stderr_console, stdout_console
from acc_ace.config import load_settings
from acc_ace.core.schemas.artifact import MemoryHit, MemoryHits
from acc_ace.core.schemas.base import Tenant
from acc_ace.memory.memory_search import HITS, MOST_HITS, search_memory

app = typer.Typer(rich_markup_mode=None)


@app.command("search")
def search(
    query: Annotated[str, typer.Argument(help="Words to look for.")],
    *,
    app_name: App = APP_NAME,
    user: Annotated[str, typer.Option("--user", help="User whose memory to use.")] = DEFAULT_USER,
    limit: Annotated[int, typer.Option(min=1, max=MOST_HITS, help="Maximum hits.")] = HITS,
    as_json: Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")] = False,
) -> None:
    """Search a user's memory: past turns, tool results and documents, best match first."""
    tenant = Tenant(app_name, checked_name(user, "--user"))
    result = asyncio.run(_hits(tenant, query, limit))
    for warning in result.warnings:
        stderr_console().print(printable(warning), soft_wrap=True)
    for hit in result.hits:
        if as_json:
            print(json_line(hit.model_dump(mode="json")))
        else:
            _print_hit(hit)
    if not result.hits and not as_json:
        stdout_console().print(f"nothing in the memory of user {user} matches")


async def _hits(tenant: Tenant, query: str, limit: int) -> MemoryHits:
    container = build_container(load_settings())
    try:
        await require_app(container.directory, tenant.app)
        return await search_memory(container, tenant, query, limit=limit)
    finally:
        await container.close()


def _print_hit(hit: MemoryHit) -> None:
    place = f" · session {hit.session}, turn {hit.turn}" if hit.session and hit.turn else ""
    refusal = f" · shown to no model: {hit.refusal}" if hit.refusal else ""
    head = f"{hit.score:.2f} · {hit.day} · {hit.speaker}{place} · [{hit.artifact_id}]{refusal}"
    stdout_console().print(printable(head), style="dim", soft_wrap=True)
    stdout_console().print(f"{printable(hit.text)}\n", soft_wrap=True)
