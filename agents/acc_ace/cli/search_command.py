"""`acc-ace memory search` and `acc-ace memory profile`."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, TypeVar

import typer

from acc_ace.bootstrap import build_container
from acc_ace.cli.names import DEFAULT_USER, checked_name, require_app
from acc_ace.cli.options import APP_NAME, App
from acc_ace.cli.output import json_line, printable, stderr_console, stdout_console
from acc_ace.config import load_settings
from acc_ace.container import Container
from acc_ace.core.schemas.artifact import MemoryHit
from acc_ace.core.schemas.base import Tenant
from acc_ace.core.schemas.profile import UserFact
from acc_ace.memory.memory_search import HITS, MOST_HITS, search_memory
from acc_ace.memory.profile import user_profile

app = typer.Typer(rich_markup_mode=None)

T = TypeVar("T")
_User = Annotated[str, typer.Option("--user", help="User whose memory to use.")]
_Json = Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")]


@app.command("search")
def search(
    query: Annotated[str, typer.Argument(help="Words to look for.")],
    *,
    app_name: App = APP_NAME,
    user: _User = DEFAULT_USER,
    limit: Annotated[int, typer.Option(min=1, max=MOST_HITS, help="Maximum hits.")] = HITS,
    as_json: _Json = False,
) -> None:
    """Search a user's memory: past turns, tool results and documents, best match first."""
    tenant = Tenant(app_name, checked_name(user, "--user"))
    work = partial(search_memory, tenant=tenant, query=query, limit=limit)
    result = asyncio.run(_read(tenant, work))
    for warning in result.warnings:
        stderr_console().print(printable(warning), soft_wrap=True)
    for hit in result.hits:
        if as_json:
            print(json_line(hit.model_dump(mode="json")))
        else:
            _print_hit(hit)
    if not result.hits and not as_json:
        stdout_console().print(f"nothing in the memory of user {user} matches")


@app.command("profile")
def profile(
    *, app_name: App = APP_NAME, user: _User = DEFAULT_USER, as_json: _Json = False
) -> None:
    """Show what a user said about themself, newest first; 'forget ID' deletes a fact."""
    tenant = Tenant(app_name, checked_name(user, "--user"))
    facts = asyncio.run(_read(tenant, partial(user_profile, tenant=tenant))).facts
    for fact in facts:
        if as_json:
            print(json_line(fact.model_dump(mode="json")))
        else:
            _print_fact(fact)
    if not facts and not as_json:
        stdout_console().print(f"nothing is known of user {user}")


async def _read(tenant: Tenant, work: Callable[[Container], Awaitable[T]]) -> T:
    container = build_container(load_settings())
    try:
        await require_app(container.directory, tenant.app)
        return await work(container)
    finally:
        await container.close()


def _print_fact(fact: UserFact) -> None:
    place = f" · session {fact.session}, turn {fact.turn}" if fact.session else ""
    head = f"{fact.subject} · {fact.day}{place} · [{fact.artifact_id}]"
    stdout_console().print(printable(head), style="dim", soft_wrap=True)
    stdout_console().print(f"{printable(fact.text)}\n", soft_wrap=True)


def _print_hit(hit: MemoryHit) -> None:
    place = f" · session {hit.session}, turn {hit.turn}" if hit.session and hit.turn else ""
    refusal = f" · shown to no model: {hit.refusal}" if hit.refusal else ""
    head = f"{hit.score:.2f} · {hit.day} · {hit.speaker}{place} · [{hit.artifact_id}]{refusal}"
    stdout_console().print(printable(head), style="dim", soft_wrap=True)
    stdout_console().print(f"{printable(hit.text)}\n", soft_wrap=True)
