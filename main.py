"""The server: `python main.py`, or `uvicorn main:app`. It is put together in `acc_ace.server`.

`app` is made when it is first asked for, so importing this module reads no setting and opens
no store.
"""

import sys
from typing import TYPE_CHECKING

from acc_ace.server import main as _server
from acc_ace.server.main import main

if TYPE_CHECKING:
    from fastapi import FastAPI

    app: FastAPI

__all__ = ["app", "main"]


def __getattr__(name: str) -> object:
    """`app`, made on first use."""
    if name != "app":
        raise AttributeError(f"module 'main' has no attribute {name!r}")
    return getattr(_server, name)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
