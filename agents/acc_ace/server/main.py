"""The server of this process: `acc-ace serve`, `python main.py`, or `uvicorn main:app`.

`app` is made when it is first asked for, so importing this module reads no setting and opens
no store.
"""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from acc_ace.config import ROLES, settings
from acc_ace.errors import AccAceError, ConfigError

if TYPE_CHECKING:
    from fastapi import FastAPI

    app: FastAPI


def __getattr__(name: str) -> object:
    """Make `app` on first use."""
    if name != "app":
        raise AttributeError(f"module 'acc_ace.server.main' has no attribute {name!r}")
    _write_privately()
    globals()["app"] = made = _make_app()
    return made


def main(arguments: Sequence[str] = ()) -> int:
    """Serve until a signal; returns the exit code: 2 for a wrong setting or any argument."""
    try:
        if arguments:
            raise ConfigError(f"unknown {arguments[0]!r}: set ACC_ACE_HOST or ACC_ACE_PORT instead")
        _write_privately()
        _serve()
    except AccAceError as error:
        sys.stderr.write(f"error ({error.code}): {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _write_privately() -> None:
    """What this process writes is its owner's alone; ADK reads the mask as it is imported."""
    os.umask(0o077)


def _make_app() -> "FastAPI":
    from acc_ace.bootstrap import process_container  # noqa: PLC0415 - see the module's docstring
    from acc_ace.server.app import create_app  # noqa: PLC0415 - see the module's docstring

    return create_app(process_container())


def _serve() -> None:
    # Before the imports, which take seconds: a wrong setting is reported at once.
    current = settings()
    from acc_ace.models.factory import describe  # noqa: PLC0415 - see the module's docstring
    from acc_ace.server import process  # noqa: PLC0415 - see the module's docstring

    process.check_exposure(current)
    models = [describe(role, current) for role in ROLES]
    with process.open_socket(current.host, current.port) as listener:
        text = process.startup_banner(process.url_of(listener), current, models)
        process.serve(_make_app(), listener, on_ready=lambda: print(text, flush=True))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
