"""`acc-ace`: the commands and their options."""

import os
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from acc_ace.cli.lazy_group import lazy_group
from acc_ace.cli.output import exit_code, reported, use_utf8
from acc_ace.cli.sessions import commands as sessions
from acc_ace.errors import AccAceError

app = typer.Typer(
    name="acc-ace",
    cls=lazy_group(group=""),
    help="Agents with bounded memory and a self-improving playbook.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # Plain help takes half the time to start.
)
app.add_typer(
    typer.Typer(
        cls=lazy_group(
            "acc_ace.cli.playbook.read_commands",
            "acc_ace.cli.playbook.change_commands",
            "acc_ace.cli.playbook.review",
        ),
        help="Inspect and manage the playbook of lessons.",
        no_args_is_help=True,
    ),
    name="playbook",
)
app.add_typer(
    typer.Typer(
        cls=lazy_group(
            "acc_ace.cli.search_command",
            "acc_ace.cli.erase_command",
            "acc_ace.cli.user_commands",
            "acc_ace.cli.transfer_commands",
            group="memory",
        ),
        help="Search and manage what is stored about a user.",
        no_args_is_help=True,
    ),
    name="memory",
)
app.add_typer(sessions.app)

_Json = Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")]


def main() -> None:
    """Run a command. Exit codes: 0 ok, 1 a model failed or doctor has findings, 2 bad input."""
    use_utf8()
    os.umask(0o077)  # What it writes is its owner's alone; ADK reads the mask as it is imported.
    try:
        app()
    except AccAceError as error:
        print(reported(error), file=sys.stderr)
        sys.exit(exit_code(error))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"acc-ace {version('acc-ace')}")
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Handle the options before the command."""


@app.command()
def chat(
    *,
    session: Annotated[
        str | None, typer.Option(help="Session to resume or start (default: a new id).")
    ] = None,
    user: Annotated[str, typer.Option(help="User whose memory to use.")] = "user",
    script: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|-",
            help="Play inputs from a text file (one per line, # for comments), YAML, or - (stdin).",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per turn on stdout.")
    ] = False,
    keep_going: Annotated[
        bool, typer.Option(help="In a script, continue after a failed turn.")
    ] = False,
) -> None:
    """Chat with the agent. Type /help for commands."""
    from acc_ace.cli.chat_command import chat as run  # noqa: PLC0415 — keeps --help quick

    raise typer.Exit(
        run(
            session=session,
            user=user,
            script=script,
            as_json=as_json,
            keep_going=keep_going,
        )
    )


@app.command()
def serve() -> None:
    """Serve the web UI and the HTTP API, as `python main.py` does."""
    from acc_ace.server.main import main as run  # noqa: PLC0415 — keeps --help quick

    raise typer.Exit(run())


@app.command()
def demo(
    *,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port; 0 = a free one.")] = 0,
    pace: Annotated[float, typer.Option(min=0, max=60, help="Seconds between turns.")] = 1.5,
    language: Annotated[str, typer.Option(help="Conversation to play: en or ja.")] = "en",
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Open the cockpit with a bundled conversation playing live; needs no key."""
    from acc_ace.cli.demo import run_demo  # noqa: PLC0415 — keeps --help quick

    run_demo(port=port, pace=pace, language=language, browser=browser)


@app.command()
def doctor(
    as_json: _Json = False,
    online: Annotated[
        bool, typer.Option(help="Also send test requests to Gemini and OpenAI-compatible models.")
    ] = False,
) -> None:
    """Check settings, keys, database and models, and say how to fix each finding."""
    from acc_ace.cli.checks.doctor import run_doctor  # noqa: PLC0415 — keeps --help quick

    raise typer.Exit(run_doctor(as_json=as_json, online=online))
