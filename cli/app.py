"""`acc-ace`: the commands and their options."""

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from cli import jobs_commands
from cli.failure import exit_code, told
from cli.playbook.commands import playbook
from cli.streams import use_utf8
from core.errors import AccAceError

app = typer.Typer(
    name="acc-ace",
    help="Conversations whose memory is bounded and whose playbook grows.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # Plain help takes half the time to start.
)
memory = typer.Typer(help="What is stored about a user.", no_args_is_help=True)
app.add_typer(playbook, name="playbook")
app.add_typer(memory, name="memory")
bench = typer.Typer(help="Measure, on data of yours.", no_args_is_help=True)
app.add_typer(bench, name="bench")
app.add_typer(jobs_commands.app, name="jobs")

_Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, nothing else.")]


def main() -> None:
    """Run a command. Exit codes: 0 ok, 1 a model failed or doctor has findings, 2 bad input."""
    use_utf8()
    try:
        app()
    except AccAceError as error:
        print(told(error), file=sys.stderr)
        sys.exit(exit_code(error))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"acc-ace {version('acc-ace')}")
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    """Read the options that stand before the command."""


@app.command()
def chat(
    *,
    session: Annotated[
        str | None, typer.Option(help="Session to resume or to start; a new id if left out.")
    ] = None,
    user: Annotated[str, typer.Option(help="Whose memory it is.")] = "user",
    script: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|-",
            help="Play inputs: a text file (one a line; # comments), a YAML file, or - for stdin.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per turn on stdout.")
    ] = False,
    keep_going: Annotated[
        bool, typer.Option(help="In a script, go on after a turn that failed.")
    ] = False,
    memory: Annotated[
        str | None,
        typer.Option(help="acc (the default), replay, window, summary or retrieval."),
    ] = None,
) -> None:
    """Talk with the agent; /help inside lists the commands."""
    from cli.chat_command import ChatOptions  # noqa: PLC0415 — keeps --help quick
    from cli.chat_command import chat as run  # noqa: PLC0415 — keeps --help quick

    raise typer.Exit(run(ChatOptions(session, user, script, as_json, keep_going, memory)))


@app.command()
def serve() -> None:
    """Serve the web UI and the HTTP API, as `python main.py` does."""
    from main import main as run  # noqa: PLC0415 — keeps --help quick

    raise typer.Exit(run())


@app.command()
def doctor(
    as_json: _Json = False,
    online: Annotated[bool, typer.Option(help="Also ask Gemini whether it answers.")] = False,
) -> None:
    """Check settings, keys, database and models, and say how to fix each finding."""
    from cli.doctor import run_doctor  # noqa: PLC0415 — keeps --help quick

    raise typer.Exit(run_doctor(as_json=as_json, online=online))


@bench.command("recall")
def bench_recall(
    data: Annotated[Path, typer.Option(metavar="FILE", help="LoCoMo or JSQuAD, as JSON.")],
    limit: Annotated[int | None, typer.Option(min=1, help="Questions of each dialogue.")] = None,
    embed: Annotated[
        bool, typer.Option("--embed", help="Measure recall with an embedder, too.")
    ] = False,
    as_json: _Json = False,
) -> None:
    """Measure how much evidence recall finds, beside ADK's two memory services."""
    from cli.bench import run_recall  # noqa: PLC0415 — keeps --help quick

    run_recall(data, limit=limit, as_json=as_json, embed=embed)


_Whose = Annotated[str, typer.Option("--user", help="Whose memory it is.")]
_App = Annotated[
    str | None,
    typer.Option(
        "--app", help="Only what this app holds; every app that holds anything otherwise."
    ),
]


@memory.command("import")
def memory_import(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Text, Markdown, JSONL, or folders.")
    ],
    *,
    user: _Whose = "user",
    form: Annotated[
        str | None, typer.Option("--format", help="text or jsonl; by the suffix if left out.")
    ] = None,
    encoding: Annotated[
        str, typer.Option(help="Of files without a byte order mark, e.g. cp932.")
    ] = "utf-8",
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Replace bytes that are no text by U+FFFD.")
    ] = False,
    as_json: _Json = False,
) -> None:
    """Put documents into a user's memory; the same ones again change nothing."""
    from cli.documents import checked_form, import_files  # noqa: PLC0415 — keeps --help quick

    import_files(
        paths,
        user=user,
        form=checked_form(form),
        encoding=encoding,
        lenient=lenient,
        as_json=as_json,
    )


@memory.command("list")
def memory_list(user: _Whose = "user", as_json: _Json = False) -> None:
    """List the documents in a user's memory."""
    from cli.documents import list_stored  # noqa: PLC0415 — keeps --help quick

    list_stored(user=user, as_json=as_json)


@memory.command("show")
def memory_show(
    name: Annotated[str, typer.Argument(help="Name of a document, or id of an artifact.")],
    user: _Whose = "user",
    as_json: _Json = False,
) -> None:
    """Print a document as memory holds it, part by part, or one artifact."""
    from cli.documents import show_stored  # noqa: PLC0415 — keeps --help quick

    show_stored(name, user=user, as_json=as_json)


@memory.command("remove")
def memory_remove(
    name: Annotated[str, typer.Argument(help="Name of a document, as `list` shows it.")],
    user: _Whose = "user",
    as_json: _Json = False,
) -> None:
    """Delete a document from a user's memory."""
    from cli.documents import remove_stored  # noqa: PLC0415 — keeps --help quick

    remove_stored(name, user=user, as_json=as_json)


@app.command()
def learn(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="JSON lines with question or context, target.")
    ],
    *,
    epochs: Annotated[int, typer.Option(min=1, max=100, help="Times to go over the data.")] = 1,
    heldout: Annotated[
        float, typer.Option(min=0, max=0.9, help="Share kept apart to score versions on.")
    ] = 0.2,
    seed: Annotated[int, typer.Option(min=0, help="Of the split and of the order.")] = 0,
    feedback: Annotated[
        str,
        typer.Option(help="What the Reflector is told: truth, reward (how right), or none."),
    ] = "truth",
    limit: Annotated[int | None, typer.Option(min=1, help="Take the first samples only.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with this run.")] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Begin this run anew.")] = False,
    as_json: _Json = False,
) -> None:
    """Learn from a data set; held-out samples decide which version becomes current."""
    from cli.learn import LearnOptions, checked_feedback, run_learn  # noqa: PLC0415 — quick --help

    mode = checked_feedback(feedback)
    options = LearnOptions(epochs, heldout, seed, mode, limit, resume, restart, as_json)
    raise typer.Exit(run_learn(data, options))


@memory.command("erase")
def memory_erase(
    user: Annotated[str, typer.Option(help="Whose memory to delete.")],
    app_name: _App = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: _Json = False,
) -> None:
    """Delete everything stored about a user, in every app: sessions, states, artifacts, files."""
    from cli.manage import erase_user  # noqa: PLC0415 — keeps --help quick

    erase_user(user, app=app_name, yes=yes, as_json=as_json)


@memory.command("export")
def memory_export(
    user: Annotated[str, typer.Option(help="Whose memory to export.")],
    app_name: _App = None,
    out: Annotated[Path | None, typer.Option(help="New file to write; stdout if left out.")] = None,
) -> None:
    """Write all that is stored about a user, one JSON record a line; the last one is `end`."""
    from cli.manage import export_user  # noqa: PLC0415 — keeps --help quick

    export_user(user, out, app=app_name)
