"""`acc-ace playbook branch`: list, create, promote and drop branches."""

from typing import Annotated

import typer

from acc_ace.cli.options import APP_NAME, App
from acc_ace.cli.output import json_line, print_items, stdout_console
from acc_ace.cli.playbook.playbook_tables import branches_view
from acc_ace.cli.playbook.playbook_target import Json, PlaybookTarget, User, with_playbook
from acc_ace.core.playbook.playbook_service import PlaybookService
from acc_ace.core.schemas.playbook import StoredPlaybook
from acc_ace.errors import InputError

branches = typer.Typer(help="Manage playbook branches.", no_args_is_help=True)
app = typer.Typer(rich_markup_mode=None)
app.add_typer(branches, name="branch")

_Name = Annotated[str, typer.Argument(metavar="NAME", help="Branch name.")]


@branches.command("list")
def list_branches(*, app_name: App = APP_NAME, user: User = None, as_json: Json = False) -> None:
    """List the branches."""
    found = with_playbook(
        PlaybookTarget(user, app=app_name), lambda service: service.store.branches(service.scope)
    )
    print_items(found, branches_view, as_json=as_json)


@branches.command()
def create(
    name: _Name,
    *,
    version: Annotated[int | None, typer.Option(min=0, help="Version to start from.")] = None,
    app_name: App = APP_NAME,
    user: User = None,
    branch: Annotated[str | None, typer.Option("--from", help="Branch to start from.")] = None,
    as_json: Json = False,
) -> None:
    """Create a branch."""

    async def work(service: PlaybookService) -> StoredPlaybook:
        return await service.store.fork(service.scope, name, by=service.author, version=version)

    _report(
        with_playbook(PlaybookTarget(user, branch, app_name), work),
        f"branch {name} created",
        as_json=as_json,
    )


@branches.command()
def promote(
    name: _Name,
    *,
    onto: Annotated[
        int | None, typer.Option(min=0, help="Version of main that the promotion must follow.")
    ] = None,
    app_name: App = APP_NAME,
    user: User = None,
    as_json: Json = False,
) -> None:
    """Replace the main playbook's bullets with a branch's."""

    async def work(service: PlaybookService) -> StoredPlaybook:
        return await service.store.promote(service.scope, by=service.author, expected_version=onto)

    done = with_playbook(_named(user, name, app_name), work)
    _report(done, f"branch {name} is now the main playbook", as_json=as_json)


@branches.command()
def drop(
    name: _Name, *, app_name: App = APP_NAME, user: User = None, as_json: Json = False
) -> None:
    """Delete a branch and its log."""

    async def work(service: PlaybookService) -> None:
        await service.store.load(service.scope)
        await service.store.drop(service.scope)

    with_playbook(_named(user, name, app_name), work)
    if as_json:
        print(json_line({"dropped": name}))
    else:
        stdout_console().print(f"branch {name} was deleted")


def _report(stored: StoredPlaybook, said: str, *, as_json: bool) -> None:
    count = len(stored.playbook.bullets)
    if as_json:
        print(json_line({"version": stored.version, "digest": stored.digest, "bullets": count}))
    else:
        stdout_console().print(f"{said}: version {stored.version}, {count} bullets")


def _named(user: str | None, name: str, app_name: str) -> PlaybookTarget:
    if not name:
        raise InputError("give a branch name")
    return PlaybookTarget(user, name, app_name)
