"""The lines that users typed at the prompt of `acc-ace chat`: a file for each user."""

import asyncio
import hashlib
from pathlib import Path
from typing import Final

from acc_ace.errors import StoreError
from acc_ace.schemas.base import Tenant

_DIRECTORY: Final = "history"

TERMINAL_APP: Final = "acc_ace"
"""The app that the prompt of `acc-ace chat` talks to: what is typed there is of it."""


def history_path(data_dir: Path, user: str) -> Path:
    """The history file of a user; the name does not tell who."""
    return data_dir / _DIRECTORY / f"{hashlib.sha256(user.encode()).hexdigest()[:16]}.txt"


class PromptHistory:
    """The history files of a data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir

    async def apps(self, user: str) -> set[str]:
        """The app of the prompt, when the user typed anything."""
        typed = await asyncio.to_thread(history_path(self._data_dir, user).exists)
        return {TERMINAL_APP} if typed else set()

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the user's file, which is of no single session. Raises StoreError."""
        if tenant.app != TERMINAL_APP or session is not None:
            return 0
        return await asyncio.to_thread(_unlink, history_path(self._data_dir, tenant.user))


def _unlink(path: Path) -> int:
    """Delete the file; 1 if there was one."""
    try:
        path.unlink()
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise StoreError(
            f"typed lines in {path} cannot be deleted ({error.strerror}); make the directory "
            "writable for this program, and erase again"
        ) from error
    return 1
