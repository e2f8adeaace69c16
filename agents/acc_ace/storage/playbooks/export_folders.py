"""The folders of exported playbooks: their names, their files, and their removal with a user."""

import asyncio
import glob
import hashlib
import shutil
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote, unquote

from filelock import BaseFileLock, FileLock, Timeout

from acc_ace.core.schemas.base import PlaybookScope, Tenant
from acc_ace.errors import StoreError
from acc_ace.storage.private_files import make_private

LOCK = ".lock"
_WAIT_S = 2.0

FOLDER = "playbook"
"""The export folder in the data directory."""

_MAX_PART = 72
"""Maximum bytes of one part of a name; three parts stay within file system limits."""


def name_of(scope: PlaybookScope) -> str:
    """'app' or 'app+user', each part escaped."""
    user = "" if scope.user is None else f"+{part(scope.user)}"
    return f"{part(scope.app)}{user}"


def directories_of(root: Path, tenant: Tenant) -> list[str]:
    """The names of a user's own playbook that have files."""
    return _names_of(root, PlaybookScope(tenant.app, tenant.user))


def _names_of(root: Path, scope: PlaybookScope) -> list[str]:
    """The names of a playbook's files, with those of branches by earlier programs."""
    main = name_of(scope)
    names = {
        path.name for part in ("current", "deltas", "archive") for path in root.glob(f"{part}/*")
    }
    return sorted(name for name in names if name == main or name.startswith(f"{main}@"))


def count_files(root: Path, scope: PlaybookScope) -> int:
    """The exported files of a playbook; 0 where none are exported."""
    files = root.glob(f"*/{glob.escape(name_of(scope))}/*")
    return sum(path.is_file() for path in files)


def remove_files(root: Path, names: Iterable[str]) -> int:
    """Remove playbooks' files by name; return how many had any. Raises OSError."""
    removed = 0
    for name in names:
        # `current` holds the mark and goes first: without it, all files are rewritten.
        folders = [root / part / name for part in ("current", "deltas", "archive")]
        removed += any(folder.exists() for folder in folders)
        for folder in folders:
            if folder.exists():
                shutil.rmtree(folder)
    return removed


class ErasedPlaybookFiles:
    """Erases the exports of a user's playbooks, even if exports are now off.

    Exports of the app's shared playbooks are removed too, since they may quote the user; they
    are rewritten where exports are on.
    """

    def __init__(self, directory: Path) -> None:
        self._root = directory

    async def apps(self, user: str) -> set[str]:
        """The apps in which this user's playbook has files."""
        own = f"+{part(user)}"
        names = {path.name.partition("@")[0] for path in self._root.glob("*/*")}
        return {unquote(name.removesuffix(own)) for name in names if name.endswith(own)}

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Remove the files of the user's own and of shared playbooks; return how many there were.

        Raises StoreError when one cannot be removed.
        """
        if session is not None or not self._root.is_dir():
            return 0
        try:
            return await asyncio.to_thread(self._erase, tenant)
        except OSError as error:
            raise StoreError(
                f"playbook files in {self._root} cannot be erased ({error.strerror}); "
                "remove that directory, it is an export only"
            ) from error

    def _erase(self, tenant: Tenant) -> int:
        lock = exclusive(self._root / LOCK)
        try:
            shared = _names_of(self._root, PlaybookScope(tenant.app))
            return remove_files(self._root, [*directories_of(self._root, tenant), *shared])
        finally:
            lock.release()


def part(text: str) -> str:
    """A name part escaped for file names; a long one is cut and ends in its digest."""
    name = quote(text, safe="", errors="surrogatepass").replace(".", "%2E").replace("~", "%7E")
    if len(name) <= _MAX_PART:
        return name
    return f"{name[:40]}%{hashlib.sha256(name.encode()).hexdigest()[:30]}"


def exclusive(path: Path) -> BaseFileLock:
    """Lock a file against other processes and threads until released.

    Raises StoreError when it is not free within two seconds, OSError when it cannot be made.
    """
    make_private(path.parent)
    lock = FileLock(path, timeout=_WAIT_S, mode=0o600, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        raise StoreError(f"{path} is locked by another process") from None
    return lock


def write_if_new(path: Path, text: str) -> None:
    """Atomically write a file with mode 0600, unless it has this text. Raises OSError.

    Readers see the old file or the new one. One writer at a time; see `exclusive`.
    """
    data = text.encode("utf-8", "surrogatepass")
    if path.is_file() and path.read_bytes() == data:
        return
    make_private(path.parent)
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.unlink(missing_ok=True)
    temporary.touch(0o600)
    temporary.write_bytes(data)
    temporary.replace(path)
