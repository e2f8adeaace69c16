"""`acc-ace survive` and `analyze`: the options; what they do is imported when they run."""

from pathlib import Path
from typing import Annotated

import typer

from acc_ace.errors import ConfigError
from acc_ace.hooks import how_to_install

app = typer.Typer(rich_markup_mode=None)

Episodes = Annotated[int, typer.Option(min=1, help="Number of lives.")]
Ticks = Annotated[int, typer.Option(min=1, help="Maximum ticks per life.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the world; resumes its last run.")]
Model = Annotated[str | None, typer.Option(help="Model of every agent.")]
Rules = Annotated[
    list[str] | None, typer.Option("--rule", metavar="TEXT", help="Rule for the run; repeatable.")
]
TickDelay = Annotated[
    float | None,
    typer.Option(min=0, metavar="SECONDS", help="Pause after a tick (20 for live models)."),
]
MaxCost = Annotated[
    float | None, typer.Option(min=0, metavar="MONEY", help="US dollars at which to stop.")
]
Ui = Annotated[
    int | None,
    typer.Option(
        min=0, max=65_535, metavar="PORT", help="Serve the cockpit there; 0 = any free port."
    ),
]
_Json = Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")]


@app.command()
def survive(
    *,
    episodes: Episodes = 8,
    ticks: Ticks = 1_000,
    seed: Seed = 0,
    model: Model = None,
    rule: Rules = None,
    save_run: Annotated[
        Path | None, typer.Option(metavar="FILE.jsonl", help="Where to save each tick.")
    ] = None,
    save_report: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Where to save the measures.")
    ] = None,
    tick_delay: TickDelay = None,
    max_cost: MaxCost = None,
    ui: Ui = None,
    linger: Annotated[
        float | None,
        typer.Option(min=0, metavar="SECONDS", help="How long the page stays after the run (600)."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show only the result.")] = False,
    as_json: _Json = False,
) -> None:
    """Let the survivor live in its world, and learn fear and curiosity."""
    try:
        from acc_ace.ext.survivor.cli.survive import run_survive  # noqa: PLC0415
        from acc_ace.ext.survivor.loop import RULES, LoopOptions  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name not in {"gymnasium", "numpy"}:
            raise
        raise ConfigError(
            f"the survivor needs {error.name}; {how_to_install('survivor')}"
        ) from error
    code = run_survive(
        LoopOptions(seed, episodes, ticks, (*RULES, *(rule or ())), tick_delay),
        model=model,
        save_run=save_run,
        save_report=save_report,
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
    other: Annotated[
        Path | None, typer.Argument(metavar="OTHER.jsonl", help="Another run to compare.")
    ] = None,
    *,
    as_json: _Json = False,
) -> None:
    """Analyze a survivor's run: survival, fear, exploration, and what it learned."""
    from acc_ace.ext.survivor.cli.analyze import run_analyze  # noqa: PLC0415 — keeps --help quick

    run_analyze(run, other, as_json=as_json)
