"""The option that every command over stored data has: `--app`. Imports nothing that is slow."""

from typing import Annotated, Final

import typer

APP_NAME: Final = "acc_ace"
"""Our own app, whose data the commands use by default."""

App = Annotated[
    str,
    typer.Option("--app", help="App whose data to use: acc_ace, or an app with the plugin."),
]
