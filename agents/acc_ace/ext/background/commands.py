"""`acc-ace jobs`, imported when it is used."""

import typer

from acc_ace.cli.lazy_group import lazy_group

app = typer.Typer(rich_markup_mode=None)
app.add_typer(
    typer.Typer(
        cls=lazy_group("acc_ace.ext.background.jobs"),
        help="Inspect and manage background learning jobs.",
        no_args_is_help=True,
    ),
    name="jobs",
)


@app.callback()
def root() -> None:
    """Keep `jobs` a group of its own."""
