"""`acc-ace playground` and `workspace`, imported when they are used."""

import typer

from acc_ace.cli.lazy_group import lazy_group

app = typer.Typer(rich_markup_mode=None)
_GROUPS = {
    "playground": "Let the survivor try out scripts in a sandbox (off until it is set up).",
    "workspace": "Lend the survivor a folder in stages, and let it live there.",
}
for name, says in _GROUPS.items():
    group = typer.Typer(cls=lazy_group(f"{__package__}.{name}_commands"), help=says)
    app.add_typer(group, name=name, no_args_is_help=True)


@app.callback()
def root() -> None:
    """Keep each a group of its own."""
