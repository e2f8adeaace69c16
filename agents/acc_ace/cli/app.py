"""`acc-ace`: the commands and their options."""

import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from acc_ace.cli.options import APP_NAME, App
from acc_ace.cli.output import exit_code, reported, use_utf8
from acc_ace.cli.sessions import commands as sessions
from acc_ace.errors import AccAceError, ConfigError


def lazy_group(*modules: str) -> type[TyperGroup]:
    """A command group made of each module's `app`, in that order.

    The modules are imported when the group is used, so that other commands start without them.
    """

    class LazyGroup(TyperGroup):
        def list_commands(self, ctx: object) -> list[str]:
            self._load()
            return list(self.commands)

        def get_command(self, ctx: object, cmd_name: str) -> TyperCommand | TyperGroup | None:
            self._load()
            found = self.commands.get(cmd_name)
            return found if isinstance(found, TyperCommand | TyperGroup) else None

        def _load(self) -> None:
            if not self.commands:
                for name in modules:
                    # `get_group` also makes a group of a module with one command.
                    self.commands.update(get_group(import_module(name).app).commands)

    return LazyGroup


app = typer.Typer(
    name="acc-ace",
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
        cls=lazy_group("acc_ace.ext.documents.documents", "acc_ace.cli.user_commands"),
        help="Manage what is stored about a user.",
        no_args_is_help=True,
    ),
    name="memory",
)
bench = typer.Typer(help="Run benchmarks on your own data.", no_args_is_help=True)
app.add_typer(bench, name="bench")
app.add_typer(
    typer.Typer(
        cls=lazy_group("acc_ace.ext.background.jobs"),
        help="Inspect and manage background learning jobs.",
        no_args_is_help=True,
    ),
    name="jobs",
)
app.add_typer(sessions.app)

_Json = Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")]


def main() -> None:
    """Run a command. Exit codes: 0 ok, 1 a model failed or doctor has findings, 2 bad input."""
    use_utf8()
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


@bench.command("recall")
def bench_recall(
    data: Annotated[Path, typer.Option(metavar="FILE", help="LoCoMo or JSQuAD data, as JSON.")],
    limit: Annotated[
        int | None, typer.Option(min=1, help="Maximum questions per dialogue.")
    ] = None,
    embed: Annotated[bool, typer.Option("--embed", help="Also measure semantic search.")] = False,
    as_json: _Json = False,
) -> None:
    """Compare evidence recall with ADK's two memory services."""
    from acc_ace.ext.lab.learn import run_recall  # noqa: PLC0415 — keeps --help quick

    run_recall(data, limit=limit, as_json=as_json, embed=embed)


@app.command()
def learn(
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="JSON Lines with question or context, and target."),
    ],
    *,
    app_name: App = APP_NAME,
    epochs: Annotated[
        int, typer.Option(min=1, max=100, help="Number of passes over the data.")
    ] = 1,
    heldout: Annotated[
        float, typer.Option(min=0, max=0.9, help="Fraction of samples held out for scoring.")
    ] = 0.2,
    seed: Annotated[
        int, typer.Option(min=0, help="Random seed for the split and sample order.")
    ] = 0,
    feedback: Annotated[
        str,
        typer.Option(
            help="What the Reflector sees: truth (the target), reward (the score) or none."
        ),
    ] = "truth",
    limit: Annotated[int | None, typer.Option(min=1, help="Use only the first N samples.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted run.")] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Start over.")] = False,
    as_json: _Json = False,
) -> None:
    """Learn from a data set. Held-out scores decide which version becomes current."""
    from acc_ace.ext.lab.learn import run_learn  # noqa: PLC0415 — keeps --help quick

    raise typer.Exit(
        run_learn(
            data,
            app=app_name,
            epochs=epochs,
            heldout=heldout,
            seed=seed,
            feedback=feedback,
            limit=limit,
            resume=resume,
            restart=restart,
            as_json=as_json,
        )
    )


@app.command()
def survive(
    *,
    episodes: Annotated[int, typer.Option(min=1, help="Lives to live.")] = 1,
    ticks: Annotated[int, typer.Option(min=1, help="Most ticks of a life.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the world; a run of it goes on.")] = 0,
    model: Annotated[str | None, typer.Option(help="Model of every agent.")] = None,
    rule: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="Rule that binds it; repeatable.")
    ] = None,
    save_run: Annotated[
        Path | None, typer.Option(metavar="FILE.jsonl", help="Where to save each tick.")
    ] = None,
    save_report: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Where to save the measures.")
    ] = None,
    tick_delay: Annotated[
        float | None,
        typer.Option(min=0, metavar="SECONDS", help="Pause after a tick (20 for live models)."),
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, metavar="MONEY", help="US dollars to stop at.")
    ] = None,
    ui: Annotated[
        int | None,
        typer.Option(
            min=0, max=65_535, metavar="PORT", help="Serve the cockpit on it; 0 = a free one."
        ),
    ] = None,
    linger: Annotated[
        float | None,
        typer.Option(min=0, metavar="SECONDS", help="How long the page outlives the run (600)."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show only the result.")] = False,
    as_json: _Json = False,
) -> None:
    """Let the survivor live in its world, and learn fear and curiosity."""
    try:
        from acc_ace.ext.survivor.cli.survive import run_survive  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name not in {"gymnasium", "numpy"}:
            raise
        raise ConfigError(
            f"the survivor needs {error.name}; run: pip install 'acc-ace[survivor]'"
        ) from error
    code = run_survive(
        episodes=episodes,
        ticks=ticks,
        seed=seed,
        model=model,
        rules=tuple(rule or ()),
        save_run=save_run,
        save_report=save_report,
        tick_delay=tick_delay,
        max_cost=max_cost,
        ui=ui,
        linger=linger,
        as_json=as_json,
        quiet=quiet,
    )
    raise typer.Exit(code)


@app.command()
def analyze(
    run: Annotated[Path, typer.Argument(metavar="RUN.jsonl", help="A run that survive saved.")],
    *,
    html: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Write a page with plots, too.")
    ] = None,
    as_json: _Json = False,
) -> None:
    """Analyze a survivor's run: survival, fear, exploration, and what it learned."""
    from acc_ace.ext.survivor.cli.analyze import run_analyze  # noqa: PLC0415 — keeps --help quick

    run_analyze(run, as_json=as_json, html=html)
