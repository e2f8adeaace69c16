"""A tool that acts on the world: each restart is a line of a file, which no crash takes back."""

import asyncio
import os
from pathlib import Path

ACTS = "ACTS_FILE"
"""The environment variable that names the file."""

TAKES_S = 0.02


async def restart(server: str) -> str:
    """Restart a server."""
    await asyncio.sleep(TAKES_S / 2)
    _act(server)
    await asyncio.sleep(TAKES_S / 2)
    return f"{server} restarted"


def _act(server: str) -> None:
    with Path(os.environ[ACTS]).open("a", encoding="utf-8") as acts:
        acts.write(f"{server}\n")
