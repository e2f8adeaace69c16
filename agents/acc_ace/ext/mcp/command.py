"""`acc-ace mcp`: serve the memory on stdio, or over HTTP."""

import logging.config
import sys
from importlib.util import find_spec
from typing import Annotated, Final

import typer

from acc_ace.cli.names import checked_name
from acc_ace.cli.options import APP_NAME, App
from acc_ace.config import load_settings
from acc_ace.errors import ConfigError, InputError
from acc_ace.hooks import how_to_install

app = typer.Typer(rich_markup_mode=None)

DEFAULT_PORT: Final = 8001
_PORT_HELP: Final = f"With --http; 0 = a free one (default: {DEFAULT_PORT})."
_AT_A_TERMINAL: Final = (
    "MCP on stdin and stdout: a client starts this command; docs/how-to/mcp.md says how. "
    "Ctrl-D ends it."
)


@app.command("mcp")
def mcp(
    *,
    app_name: App = APP_NAME,
    user: Annotated[str, typer.Option(help="User; over HTTP with tokens, the token's.")] = "user",
    session: Annotated[str, typer.Option(help="Session; use one for each project.")] = "mcp",
    http: Annotated[bool, typer.Option("--http", help="Serve HTTP instead of stdio.")] = False,
    host: Annotated[str | None, typer.Option(help="With --http (default: ACC_ACE_HOST).")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65_535, help=_PORT_HELP)] = None,
) -> None:
    """Serve the memory to any agent, by the Model Context Protocol."""
    if not http and (host is not None or port is not None):
        raise InputError("--host and --port go with --http; without it the server is on stdio")
    if find_spec("mcp_types") is None:  # Version 1 of the SDK has none.
        raise ConfigError(f"acc-ace mcp needs version 2 of the MCP SDK; {how_to_install('mcp')}")
    checked_name(app_name, "--app")
    settings = load_settings()
    from acc_ace.ext.mcp.lazy_memory import LazyMemory  # noqa: PLC0415 - the SDK may be absent
    from acc_ace.ext.mcp.tools import build_server  # noqa: PLC0415 - as above

    names = {"user": checked_name(user, "--user"), "session": checked_name(session, "--session")}
    memory = LazyMemory(settings, app=app_name, **names)
    if http:
        from acc_ace.ext.mcp.http import serve_http  # noqa: PLC0415 - stdio starts without it

        bound = settings.model_copy(update={"host": host or settings.host})
        serve_http(build_server(memory), bound, port=DEFAULT_PORT if port is None else port)
        return
    from acc_ace.server.logs import log_config  # noqa: PLC0415 - as above

    logging.config.dictConfig(log_config(settings))  # On stderr: stdout is the protocol's.
    if sys.stdin.isatty():
        print(_AT_A_TERMINAL, file=sys.stderr)
    build_server(memory).run()
