"""`acc-ace learn` and `acc-ace bench`: the options; what they do is imported when they run."""

from pathlib import Path
from typing import Annotated

import typer

from acc_ace.cli.options import APP_NAME, App

app = typer.Typer(rich_markup_mode=None)
bench = typer.Typer(help="Run benchmarks on your own data.", no_args_is_help=True)
app.add_typer(bench, name="bench")

_Json = Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")]


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
        float, typer.Option(min=0, max=0.9, help="Fraction held out to choose the best version.")
    ] = 0.2,
    test: Annotated[
        str | None, typer.Option(metavar="FILE|SHARE", help="Test set: a file or a fraction (0.2).")
    ] = None,
    online: Annotated[
        bool, typer.Option("--online", help="Score each sample in order, then learn from it.")
    ] = False,
    warm_up: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Learn from it offline, then online.")
    ] = None,
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
            test=test,
            online=online,
            warm_up=warm_up,
            seed=seed,
            feedback=feedback,
            limit=limit,
            resume=resume,
            restart=restart,
            as_json=as_json,
        )
    )
