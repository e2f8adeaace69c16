"""The prompt history of `acc-ace chat`: one file per user."""

import asyncio
import hashlib
from pathlib import Path
from typing import Final

from acc_ace.core.schemas.base import Tenant
from acc_ace.errors import StoreError

_DIRECTORY: Final = "history"

TERMINAL_APP: Final = "acc_ace"
"""The app of `acc-ace chat`, which owns its prompt history."""


def history_path(data_dir: Path, user: str) -> Path:
    """The history file of a user; its name does not identify them."""
    return data_dir / _DIRECTORY / f"{hashlib.sha256(user.encode()).hexdigest()[:16]}.txt"


class PromptHistory:
    """The history files of a data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir

    async def apps(self, user: str) -> set[str]:
        """The app of the prompt, if the user has a history."""
        typed = await asyncio.to_thread(history_path(self._data_dir, user).exists)
        return {TERMINAL_APP} if typed else set()

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the user's file; nothing for a single session. Raises StoreError."""
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
            f"prompt history {path} cannot be deleted ({error.strerror}); make the directory "
            "writable for this program, and erase again"
        ) from error
    return 1
