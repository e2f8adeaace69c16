"""`acc-ace learn`: the options; what it does is imported when it runs."""

from pathlib import Path
from typing import Annotated

import typer

from acc_ace.cli.options import APP_NAME, App

app = typer.Typer(rich_markup_mode=None)

_Json = Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")]


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
        Path | None, typer.Option(metavar="FILE", help="Learn offline from this file first.")
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
