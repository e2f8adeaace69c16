"""`acc-ace playground`, imported when it is used."""

import typer

from acc_ace.cli.lazy_group import lazy_group

app = typer.Typer(rich_markup_mode=None)
_HELP = "Let the survivor try out scripts in a sandbox (off until it is set up)."
_GROUP = typer.Typer(cls=lazy_group(f"{__package__}.playground_commands"), help=_HELP)
app.add_typer(_GROUP, name="playground", no_args_is_help=True)


@app.callback()
def root() -> None:
    """Keep `playground` a group of its own."""
