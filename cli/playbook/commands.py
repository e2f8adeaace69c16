"""The commands of `acc-ace playbook` and their options."""

from pathlib import Path
from typing import Annotated

import typer

from cli.playbook.place import Place

playbook = typer.Typer(help="The playbook: lessons that the app keeps.", no_args_is_help=True)
branches = typer.Typer(help="Try a playbook beside the main one.", no_args_is_help=True)
playbook.add_typer(branches, name="branch")

_Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, nothing else.")]
_User = Annotated[
    str | None,
    typer.Option("--user", help="A user's own playbook; the one that chats use if left out."),
]
_Branch = Annotated[str | None, typer.Option("--branch", help="A branch of it.")]
_Bullet = Annotated[str, typer.Argument(metavar="BULLET", help="Id of a bullet, like b-00007.")]
_Limit = Annotated[int, typer.Option(min=1, max=1_000, help="Entries at most.")]


@playbook.command("show")
def show(
    *,
    version: Annotated[int | None, typer.Option(min=0, help="An earlier version.")] = None,
    user: _User = None,
    branch: _Branch = None,
    as_json: _Json = False,
) -> None:
    """Show the playbook."""
    from cli.playbook import reading  # noqa: PLC0415 — keeps --help quick

    reading.show(Place(user, branch), version=version, as_json=as_json)


@playbook.command("search")
def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Words, or an id.")],
    *,
    limit: _Limit = 10,
    user: _User = None,
    branch: _Branch = None,
    as_json: _Json = False,
) -> None:
    """Find bullets by their words."""
    from cli.playbook import reading  # noqa: PLC0415 — keeps --help quick

    reading.search(Place(user, branch), text, limit=limit, as_json=as_json)


@playbook.command("diff")
def diff(
    first: Annotated[int, typer.Argument(metavar="A", min=0, help="The earlier version.")],
    second: Annotated[
        int | None, typer.Argument(metavar="[B]", min=0, help="The later one; now if left out.")
    ] = None,
    *,
    user: _User = None,
    branch: _Branch = None,
    as_json: _Json = False,
) -> None:
    """Show what changed between two versions."""
    from cli.playbook import reading  # noqa: PLC0415 — keeps --help quick

    reading.diff(Place(user, branch), first, second, as_json=as_json)


@playbook.command("history")
def history(
    *,
    limit: _Limit = 20,
    operations: Annotated[
        bool, typer.Option("--operations", help="Every operation, also those not applied.")
    ] = False,
    user: _User = None,
    branch: _Branch = None,
    as_json: _Json = False,
) -> None:
    """List the versions, newest first."""
    from cli.playbook import reading  # noqa: PLC0415 — keeps --help quick

    reading.history(Place(user, branch), limit=limit, operations=operations, as_json=as_json)


@playbook.command("why")
def why(
    bullet: _Bullet, *, user: _User = None, branch: _Branch = None, as_json: _Json = False
) -> None:
    """Tell where a bullet comes from and what became of it."""
    from cli.playbook import reading  # noqa: PLC0415 — keeps --help quick

    reading.why(Place(user, branch), bullet, as_json=as_json)


@playbook.command("stats")
def stats(*, user: _User = None, branch: _Branch = None, as_json: _Json = False) -> None:
    """Count bullets, tags and what waits for a decision."""
    from cli.playbook import reading  # noqa: PLC0415 — keeps --help quick

    reading.stats(Place(user, branch), as_json=as_json)


@playbook.command("export")
def export(
    *,
    form: Annotated[
        str, typer.Option("--format", help="markdown, json, jsonl or ace.")
    ] = "markdown",
    out: Annotated[Path | None, typer.Option(help="New file to write; stdout if left out.")] = None,
    user: _User = None,
    branch: _Branch = None,
) -> None:
    """Write the playbook as a file. Markdown, JSON and JSONL lead back to the same playbook."""
    from cli.playbook import reading  # noqa: PLC0415 — keeps --help quick

    reading.export(Place(user, branch), form, out)


@playbook.command("apply")
def apply(
    source: Annotated[
        str, typer.Argument(metavar="FILE.jsonl|-", help="A DeltaBatch a line; - for stdin.")
    ],
    *,
    user: _User = None,
    branch: _Branch = None,
) -> None:
    """Apply delta batches from a file. Each is judged as the Curator's; one JSON result a line."""
    from cli.failure import ExitCode  # noqa: PLC0415 — keeps --help quick
    from cli.playbook import changing  # noqa: PLC0415 — keeps --help quick

    well = changing.apply(Place(user, branch), source)
    raise typer.Exit(ExitCode.OK if well else ExitCode.BAD_INPUT)


@playbook.command("pin")
def pin(
    bullet: _Bullet, *, user: _User = None, branch: _Branch = None, as_json: _Json = False
) -> None:
    """Let no model change or remove a bullet."""
    from cli.playbook import changing  # noqa: PLC0415 — keeps --help quick

    changing.pin(Place(user, branch), bullet, pinned=True, as_json=as_json)


@playbook.command("unpin")
def unpin(
    bullet: _Bullet, *, user: _User = None, branch: _Branch = None, as_json: _Json = False
) -> None:
    """Let models change a bullet again."""
    from cli.playbook import changing  # noqa: PLC0415 — keeps --help quick

    changing.pin(Place(user, branch), bullet, pinned=False, as_json=as_json)


@playbook.command("edit")
def edit(
    bullet: _Bullet,
    *,
    content: Annotated[str | None, typer.Option(help="The new text, one line.")] = None,
    section: Annotated[str | None, typer.Option(help="The new section.")] = None,
    user: _User = None,
    branch: _Branch = None,
    as_json: _Json = False,
) -> None:
    """Reword a bullet or move it to another section."""
    from cli.playbook import changing  # noqa: PLC0415 — keeps --help quick

    changing.edit(Place(user, branch), bullet, content=content, section=section, as_json=as_json)


@playbook.command("restore")
def restore(
    bullet: _Bullet, *, user: _User = None, branch: _Branch = None, as_json: _Json = False
) -> None:
    """Bring back a bullet that was archived, removed or merged."""
    from cli.playbook import changing  # noqa: PLC0415 — keeps --help quick

    changing.restore(Place(user, branch), bullet, as_json=as_json)


@playbook.command("rollback")
def rollback(
    version: Annotated[int, typer.Argument(metavar="VERSION", min=0)],
    *,
    user: _User = None,
    branch: _Branch = None,
    as_json: _Json = False,
) -> None:
    """Go back to the content of a version. That is a new version, so nothing is lost."""
    from cli.playbook import changing  # noqa: PLC0415 — keeps --help quick

    changing.rollback(Place(user, branch), version, as_json=as_json)


@playbook.command("refine")
def refine(
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done.")
    ] = False,
    user: _User = None,
    branch: _Branch = None,
    as_json: _Json = False,
) -> None:
    """Merge duplicates and archive. Stale and harmful bullets leave; budgets are kept."""
    from cli.playbook import changing  # noqa: PLC0415 — keeps --help quick

    changing.refine(Place(user, branch), dry_run=dry_run, as_json=as_json)


@playbook.command("import")
def import_file(
    source: Annotated[str, typer.Argument(metavar="FILE|-", help="- for stdin.")],
    *,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="markdown, json, jsonl, ace or skillbook; told from the file if left out.",
        ),
    ] = None,
    user: _User = None,
    branch: _Branch = None,
    as_json: _Json = False,
) -> None:
    """Take in the lessons of a file. Each is screened as the Curator's are."""
    from cli.playbook import changing  # noqa: PLC0415 — keeps --help quick

    changing.import_file(Place(user, branch), source, form=form, as_json=as_json)


@playbook.command("review")
def review(
    *,
    list_only: Annotated[bool, typer.Option("--list", help="Only show what is held.")] = False,
    apply_one: Annotated[
        int | None, typer.Option("--apply", metavar="NUMBER", min=1, help="Apply this one.")
    ] = None,
    dismiss_one: Annotated[
        int | None, typer.Option("--dismiss", metavar="NUMBER", min=1, help="Turn this one down.")
    ] = None,
    user: _User = None,
    branch: _Branch = None,
    as_json: _Json = False,
) -> None:
    """Decide what was held, one after the other."""
    from cli.playbook import review as work  # noqa: PLC0415 — keeps --help quick

    where = Place(user, branch)
    if apply_one is not None:
        work.approve(where, apply_one, as_json=as_json)
    elif dismiss_one is not None:
        work.dismiss(where, dismiss_one, as_json=as_json)
    elif list_only or as_json:
        work.list_held(where, as_json=as_json)
    else:
        work.review(where)


_Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the branch.")]


@branches.command("list")
def branch_list(*, user: _User = None, as_json: _Json = False) -> None:
    """List the branches."""
    from cli.playbook import branching  # noqa: PLC0415 — keeps --help quick

    branching.list_branches(Place(user, None), as_json=as_json)


@branches.command("create")
def branch_create(
    name: _Name,
    *,
    version: Annotated[int | None, typer.Option(min=0, help="Version to begin with.")] = None,
    user: _User = None,
    branch: Annotated[str | None, typer.Option("--from", help="Branch to begin with.")] = None,
    as_json: _Json = False,
) -> None:
    """Begin a branch."""
    from cli.playbook import branching  # noqa: PLC0415 — keeps --help quick

    branching.create(Place(user, branch), name, version=version, as_json=as_json)


@branches.command("promote")
def branch_promote(
    name: _Name,
    *,
    onto: Annotated[
        int | None, typer.Option(min=0, help="Version of the main one that it is to follow.")
    ] = None,
    user: _User = None,
    as_json: _Json = False,
) -> None:
    """Make a branch's bullets those of the main playbook."""
    from cli.playbook import branching  # noqa: PLC0415 — keeps --help quick

    branching.promote(Place(user, name), expected_version=onto, as_json=as_json)


@branches.command("drop")
def branch_drop(name: _Name, *, user: _User = None, as_json: _Json = False) -> None:
    """Delete a branch with its log."""
    from cli.playbook import branching  # noqa: PLC0415 — keeps --help quick

    branching.drop(Place(user, name), as_json=as_json)
