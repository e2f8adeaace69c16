"""The commands of `acc-ace playbook` and their options."""

from pathlib import Path
from typing import Annotated

import typer

from acc_ace.cli.playbook.read_commands import Place

playbook = typer.Typer(help="Inspect and manage the playbook of lessons.", no_args_is_help=True)
branches = typer.Typer(help="Manage playbook branches.", no_args_is_help=True)
playbook.add_typer(branches, name="branch")

_Json = Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")]
_User = Annotated[
    str | None,
    typer.Option("--user", help="Use this user's own playbook (default: the one chats use)."),
]
_Branch = Annotated[str | None, typer.Option("--branch", help="Use this branch.")]
_Bullet = Annotated[str, typer.Argument(metavar="BULLET", help="Bullet id, e.g. b-00007.")]
_Limit = Annotated[int, typer.Option(min=1, max=1_000, help="Maximum results.")]


@playbook.command("show")
def show(
    *,
    version: Annotated[int | None, typer.Option(min=0, help="Show an earlier version.")] = None,
    user: _User = None,
    branch: _Branch = None,
    as_json: _Json = False,
) -> None:
    """Show the playbook."""
    from acc_ace.cli.playbook import read_commands  # noqa: PLC0415 — keeps --help quick

    read_commands.show(Place(user, branch), version=version, as_json=as_json)


@playbook.command("search")
def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Words or a bullet id.")],
    *,
    limit: _Limit = 10,
    user: _User = None,
    branch: _Branch = None,
    as_json: _Json = False,
) -> None:
    """Search the bullets."""
    from acc_ace.cli.playbook import read_commands  # noqa: PLC0415 — keeps --help quick

    read_commands.search(Place(user, branch), text, limit=limit, as_json=as_json)


@playbook.command("diff")
def diff(
    first: Annotated[int, typer.Argument(metavar="A", min=0, help="The earlier version.")],
    second: Annotated[
        int | None,
        typer.Argument(metavar="[B]", min=0, help="The later version (default: current)."),
    ] = None,
    *,
    user: _User = None,
    branch: _Branch = None,
    as_json: _Json = False,
) -> None:
    """Show what changed between two versions."""
    from acc_ace.cli.playbook import read_commands  # noqa: PLC0415 — keeps --help quick

    read_commands.diff(Place(user, branch), first, second, as_json=as_json)


@playbook.command("history")
def history(
    *,
    limit: _Limit = 20,
    operations: Annotated[
        bool,
        typer.Option("--operations", help="List every operation, including those not applied."),
    ] = False,
    user: _User = None,
    branch: _Branch = None,
    as_json: _Json = False,
) -> None:
    """List the versions, newest first."""
    from acc_ace.cli.playbook import read_commands  # noqa: PLC0415 — keeps --help quick

    read_commands.history(Place(user, branch), limit=limit, operations=operations, as_json=as_json)


@playbook.command("why")
def why(
    bullet: _Bullet, *, user: _User = None, branch: _Branch = None, as_json: _Json = False
) -> None:
    """Show a bullet's origin and history."""
    from acc_ace.cli.playbook import read_commands  # noqa: PLC0415 — keeps --help quick

    read_commands.why(Place(user, branch), bullet, as_json=as_json)


@playbook.command("stats")
def stats(*, user: _User = None, branch: _Branch = None, as_json: _Json = False) -> None:
    """Show counts of bullets, tags and pending changes."""
    from acc_ace.cli.playbook import read_commands  # noqa: PLC0415 — keeps --help quick

    read_commands.stats(Place(user, branch), as_json=as_json)


@playbook.command("export")
def export(
    *,
    form: Annotated[
        str, typer.Option("--format", help="File format: markdown, json, jsonl or ace.")
    ] = "markdown",
    out: Annotated[Path | None, typer.Option(help="New file to write (default: stdout).")] = None,
    user: _User = None,
    branch: _Branch = None,
) -> None:
    """Export the playbook. Markdown, JSON and JSONL can be imported without loss."""
    from acc_ace.cli.playbook import read_commands  # noqa: PLC0415 — keeps --help quick

    read_commands.export(Place(user, branch), form, out)


@playbook.command("apply")
def apply(
    source: Annotated[
        str, typer.Argument(metavar="FILE.jsonl|-", help="One DeltaBatch per line; - for stdin.")
    ],
    *,
    user: _User = None,
    branch: _Branch = None,
) -> None:
    """Apply delta batches from a file. Each passes the Curator's checks."""
    from acc_ace.cli.output import ExitCode  # noqa: PLC0415 — keeps --help quick
    from acc_ace.cli.playbook import change_commands  # noqa: PLC0415 — keeps --help quick

    well = change_commands.apply(Place(user, branch), source)
    raise typer.Exit(ExitCode.OK if well else ExitCode.BAD_INPUT)


@playbook.command("pin")
def pin(
    bullet: _Bullet, *, user: _User = None, branch: _Branch = None, as_json: _Json = False
) -> None:
    """Protect a bullet from automatic changes."""
    from acc_ace.cli.playbook import change_commands  # noqa: PLC0415 — keeps --help quick

    change_commands.pin(Place(user, branch), bullet, pinned=True, as_json=as_json)


@playbook.command("unpin")
def unpin(
    bullet: _Bullet, *, user: _User = None, branch: _Branch = None, as_json: _Json = False
) -> None:
    """Allow automatic changes to a bullet again."""
    from acc_ace.cli.playbook import change_commands  # noqa: PLC0415 — keeps --help quick

    change_commands.pin(Place(user, branch), bullet, pinned=False, as_json=as_json)


@playbook.command("edit")
def edit(
    bullet: _Bullet,
    *,
    content: Annotated[str | None, typer.Option(help="New text, on one line.")] = None,
    section: Annotated[str | None, typer.Option(help="New section.")] = None,
    user: _User = None,
    branch: _Branch = None,
    as_json: _Json = False,
) -> None:
    """Reword a bullet or move it to another section."""
    from acc_ace.cli.playbook import change_commands  # noqa: PLC0415 — keeps --help quick

    change_commands.edit(
        Place(user, branch), bullet, content=content, section=section, as_json=as_json
    )


@playbook.command("restore")
def restore(
    bullet: _Bullet, *, user: _User = None, branch: _Branch = None, as_json: _Json = False
) -> None:
    """Restore an archived, removed or merged bullet."""
    from acc_ace.cli.playbook import change_commands  # noqa: PLC0415 — keeps --help quick

    change_commands.restore(Place(user, branch), bullet, as_json=as_json)


@playbook.command("rollback")
def rollback(
    version: Annotated[int, typer.Argument(metavar="VERSION", min=0, help="Version to restore.")],
    *,
    user: _User = None,
    branch: _Branch = None,
    as_json: _Json = False,
) -> None:
    """Restore the content of an earlier version, as a new version."""
    from acc_ace.cli.playbook import change_commands  # noqa: PLC0415 — keeps --help quick

    change_commands.rollback(Place(user, branch), version, as_json=as_json)


@playbook.command("refine")
def refine(
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change without changing it.")
    ] = False,
    user: _User = None,
    branch: _Branch = None,
    as_json: _Json = False,
) -> None:
    """Merge duplicates, archive stale and harmful bullets, and enforce budgets."""
    from acc_ace.cli.playbook import change_commands  # noqa: PLC0415 — keeps --help quick

    change_commands.refine(Place(user, branch), dry_run=dry_run, as_json=as_json)


@playbook.command("import")
def import_file(
    source: Annotated[str, typer.Argument(metavar="FILE|-", help="Playbook file; - for stdin.")],
    *,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="markdown, json, jsonl, ace or skillbook (default: detect).",
        ),
    ] = None,
    user: _User = None,
    branch: _Branch = None,
    as_json: _Json = False,
) -> None:
    """Import lessons from a file; each passes the Curator's checks."""
    from acc_ace.cli.playbook import change_commands  # noqa: PLC0415 — keeps --help quick

    change_commands.import_file(Place(user, branch), source, form=form, as_json=as_json)


@playbook.command("review")
def review(
    *,
    list_only: Annotated[
        bool, typer.Option("--list", help="List pending changes and exit.")
    ] = False,
    apply_one: Annotated[
        int | None, typer.Option("--apply", metavar="NUMBER", min=1, help="Apply this change.")
    ] = None,
    dismiss_one: Annotated[
        int | None, typer.Option("--dismiss", metavar="NUMBER", min=1, help="Dismiss this change.")
    ] = None,
    user: _User = None,
    branch: _Branch = None,
    as_json: _Json = False,
) -> None:
    """Review pending changes interactively."""
    from acc_ace.cli.playbook import review as work  # noqa: PLC0415 — keeps --help quick

    where = Place(user, branch)
    if apply_one is not None:
        work.approve(where, apply_one, as_json=as_json)
    elif dismiss_one is not None:
        work.dismiss(where, dismiss_one, as_json=as_json)
    elif list_only or as_json:
        work.list_held(where, as_json=as_json)
    else:
        work.review(where)


_Name = Annotated[str, typer.Argument(metavar="NAME", help="Branch name.")]


@branches.command("list")
def branch_list(*, user: _User = None, as_json: _Json = False) -> None:
    """List the branches."""
    from acc_ace.cli.playbook import change_commands  # noqa: PLC0415 — keeps --help quick

    change_commands.list_branches(Place(user, None), as_json=as_json)


@branches.command("create")
def branch_create(
    name: _Name,
    *,
    version: Annotated[int | None, typer.Option(min=0, help="Version to start from.")] = None,
    user: _User = None,
    branch: Annotated[str | None, typer.Option("--from", help="Branch to start from.")] = None,
    as_json: _Json = False,
) -> None:
    """Create a branch."""
    from acc_ace.cli.playbook import change_commands  # noqa: PLC0415 — keeps --help quick

    change_commands.create(Place(user, branch), name, version=version, as_json=as_json)


@branches.command("promote")
def branch_promote(
    name: _Name,
    *,
    onto: Annotated[
        int | None, typer.Option(min=0, help="Version of main that the promotion must follow.")
    ] = None,
    user: _User = None,
    as_json: _Json = False,
) -> None:
    """Replace the main playbook's bullets with a branch's."""
    from acc_ace.cli.playbook import change_commands  # noqa: PLC0415 — keeps --help quick

    change_commands.promote(Place(user, name), expected_version=onto, as_json=as_json)


@branches.command("drop")
def branch_drop(name: _Name, *, user: _User = None, as_json: _Json = False) -> None:
    """Delete a branch and its log."""
    from acc_ace.cli.playbook import change_commands  # noqa: PLC0415 — keeps --help quick

    change_commands.drop(Place(user, name), as_json=as_json)
