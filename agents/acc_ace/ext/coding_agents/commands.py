"""`acc-ace hook`: install, remove and show the hooks; `run` is what a client calls."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from acc_ace.ext.coding_agents.clients import CLIENTS, Client, client_named

app = typer.Typer(rich_markup_mode=None)
hook = typer.Typer(rich_markup_mode=None)
app.add_typer(
    hook,
    name="hook",
    help="Keep your rules in Claude Code, Codex and Gemini CLI.",
    no_args_is_help=True,
)

_NAMES = "claude-code, codex or gemini-cli."
_ClientName = Annotated[str, typer.Argument(metavar="CLIENT", help=_NAMES)]
_Project = Annotated[Path, typer.Option(help="Folder of the project.")]
_User = Annotated[bool, typer.Option("--user", help="Use your user settings, for every project.")]


@app.callback()
def root() -> None:
    """Keep it a group."""


@hook.command()
def install(client: _ClientName, project: _Project = Path(), user: _User = False) -> None:
    """Add the hooks to the client's settings; a second run changes nothing."""
    from acc_ace.ext.coding_agents import settings_files  # noqa: PLC0415 — keeps --help quick

    named, folder = client_named(client), _folder(project, user)
    is_new = settings_files.install(named, folder)
    print(f"{'installed in' if is_new else 'already in'} {_shown(named, folder)}")
    print(named.next_step)


@hook.command()
def remove(client: _ClientName, project: _Project = Path(), user: _User = False) -> None:
    """Remove the hooks from the client's settings; rules and memory stay."""
    from acc_ace.ext.coding_agents import settings_files  # noqa: PLC0415 — keeps --help quick

    named, folder = client_named(client), _folder(project, user)
    is_gone = settings_files.remove(named, folder)
    print(f"{'removed from' if is_gone else 'nothing of ours in'} {_shown(named, folder)}")


@hook.command()
def status(project: _Project = Path()) -> None:
    """Show where the hooks are installed, and where the project's memory is."""
    from acc_ace.ext.coding_agents import settings_files  # noqa: PLC0415 — keeps --help quick
    from acc_ace.ext.coding_agents.project_memory import open_project, rules_of  # noqa: PLC0415

    start = project.resolve()
    for client in CLIENTS.values():
        for folder in dict.fromkeys((start, Path.home())):
            events = ", ".join(settings_files.installed(client, folder)) or "not installed"
            print(f"{client.name}: {_shown(client, folder)}: {events}")
    memory = open_project(start)
    _, rules = rules_of(memory)
    data_dir, session = str(memory.settings.data_dir), memory.key.session
    print(f"memory: {data_dir}, session {session}, {len(rules)} rules; to see and correct them:")
    print(
        f"ACC_ACE_DATA_DIR={shlex.quote(data_dir)} acc-ace rules --session {shlex.quote(session)}"
    )


@hook.command()
def run(
    client: _ClientName,
    project: Annotated[str | None, typer.Argument(help="Folder of the project.")] = None,
) -> None:
    """Answer one call of a client: JSON on stdin, the answer on stdout."""
    from acc_ace.ext.coding_agents.hook_run import main  # noqa: PLC0415 — keeps --help quick

    main(client, project)


def _folder(project: Path, user: bool) -> Path:
    return Path.home() if user else project.resolve()


def _shown(client: Client, folder: Path) -> Path:
    return folder / client.file
