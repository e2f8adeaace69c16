"""Playbooks as files, for people and other programs to read: an export, never read back as truth.

    playbook/current/NAME/playbook.json, playbook.md    the newest version
    playbook/deltas/NAME/00000012.jsonl                 the records of a version, one a line
    playbook/archive/NAME/bullets.jsonl                 archived bullets, newest first

NAME is the app, with '+user' for a user's own playbook and '@branch' for a branch. Every file is
written beside its place, flushed to disk and renamed, `playbook.json` last: a reader sees a whole
file, old or new, and what a crash left behind is caught up with at the next change.
"""

import asyncio
import hashlib
import json
import logging
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from acc_ace.errors import AccAceError, StoreError
from acc_ace.playbook.formats.file_form import Form
from acc_ace.playbook.formats.playbook_file import write
from acc_ace.playbook.playbook_store import PlaybookReader
from acc_ace.schemas.base import PlaybookScope, Tenant
from acc_ace.schemas.delta import DeltaKind
from acc_ace.schemas.playbook import DeltaRecord, StoredPlaybook
from acc_ace.storage.atomic_files import exclusive, remove_tree, write_if_new
from acc_ace.storage.fair_lock import LoopLock
from acc_ace.storage.sql_rows import encode

FOLDER = "playbook"
"""Where the files are in the data directory."""

_LONGEST = 72
"""Bytes of one part of a name; three of them stay below what file systems take."""


def name_of(scope: PlaybookScope) -> str:
    """'app', 'app+user', 'app@branch' or 'app+user@branch', each part escaped."""
    user = "" if scope.user is None else f"+{part(scope.user)}"
    branch = f"@{part(scope.branch)}" if scope.branch else ""
    return f"{part(scope.app)}{user}{branch}"


def directories_of(root: Path, tenant: Tenant) -> list[str]:
    """The names of a user's own playbooks, branches included, that have files."""
    own = name_of(PlaybookScope(tenant.app, tenant.user))
    found = {
        path.name for part in ("current", "deltas", "archive") for path in root.glob(f"{part}/*")
    }
    return sorted(name for name in found if name == own or name.startswith(f"{own}@"))


def is_of_other_app(path: Path, app: str) -> bool:
    """Whether a path below the data directory is a file of the playbooks of another app."""
    if len(path.parts) < 3 or path.parts[0] != FOLDER:
        return False
    return path.parts[2].partition("+")[0].partition("@")[0] != part(app)


def part(text: str) -> str:
    """A part with no separator, no path and no surprise; a long one ends in its digest."""
    name = quote(text, safe="", errors="surrogatepass").replace(".", "%2E").replace("~", "%7E")
    if len(name) <= _LONGEST:
        return name
    return f"{name[:40]}%{hashlib.sha256(name.encode()).hexdigest()[:30]}"


KEPT_VERSIONS = 512
"""Versions of a playbook whose records are kept as files; the store has all of them."""

MOST_ARCHIVED = 1_000
MOST_RECORDS = 50_000
"""Records written at once, after a time in which nobody followed."""

_LOCK = ".lock"
_WAIT_S = 10.0
"""The longest that a turn waits for others of its process, which take some 50 ms each."""

_PAGES = (64, 1_000)
"""Records asked for at first, which is mostly enough, and then."""

_NOT_OF_THE_ARCHIVE = frozenset(
    {
        DeltaKind.ADD,
        DeltaKind.UPDATE,
        DeltaKind.REMOVE,
        DeltaKind.MERGE,
        DeltaKind.TAG,
        DeltaKind.PIN,
        DeltaKind.UNPIN,
        DeltaKind.EDIT,
        DeltaKind.UNREADABLE,
    }
)
"""Kinds that bring no bullet into the archive, nor out of it."""

_KNOWN_SCOPES = 4_096
_log = logging.getLogger(__name__)


class _Mark(NamedTuple):
    """How far the files are: the version, its digest, and the last record of the log."""

    version: int = 0
    digest: str = ""
    seq: int = 0


class PlaybookFiles:
    """A PlaybookFollower that writes files under a directory. A failure is a warning."""

    def __init__(self, directory: Path) -> None:
        self._root = directory
        self._seen: dict[PlaybookScope, None] = {}
        # Threads that wait for the lock file would be those that its holder needs to go on.
        self._ours = LoopLock(str(directory), wait_s=_WAIT_S)

    async def opened(self, reader: PlaybookReader, scope: PlaybookScope) -> None:
        """Catch up, the first time that this process sees the playbook."""
        if scope in self._seen:
            return
        if len(self._seen) >= _KNOWN_SCOPES:
            self._seen.clear()
        await self.changed(reader, scope)

    async def changed(self, reader: PlaybookReader, scope: PlaybookScope) -> None:
        """Bring the files to the newest version."""
        self._seen[scope] = None
        try:
            await self._follow(reader, scope)
        except (AccAceError, OSError) as error:
            _log.warning(
                "playbook_files_behind directory=%s playbook=%s: %s",
                *(self._root, name_of(scope), error),
            )

    async def dropped(self, scope: PlaybookScope) -> None:
        """Remove the files of a branch."""
        self._seen.pop(scope, None)
        try:
            await asyncio.to_thread(self._remove, [name_of(scope)])
        except OSError as error:
            _log.warning(
                "playbook_files_left directory=%s playbook=%s: %s",
                *(self._root, name_of(scope), error),
            )

    async def erased(self, reader: PlaybookReader, tenant: Tenant) -> None:
        """Remove the user's own files; write those of the app's shared playbooks anew.

        Raises StoreError when a file cannot be removed or written.
        """
        shared = PlaybookScope(tenant.app)
        try:
            async with self._ours.hold():
                await asyncio.to_thread(self._remove_own, tenant)
            scopes = [shared, *(branch.scope for branch in await reader.branches(shared))]
            for scope in scopes:
                await asyncio.to_thread(self._remove, [name_of(scope)])
                # Reading it must not make it catch up as one that is seen first.
                self._seen[scope] = None
                await self._follow(reader, scope)
        except OSError as error:
            raise StoreError(
                f"playbook files in {self._root} cannot be erased ({error.strerror}); "
                "remove that directory, it is an export only"
            ) from error

    async def _follow(self, reader: PlaybookReader, scope: PlaybookScope) -> None:
        async with self._ours.hold():
            await self._follow_alone(reader, scope)

    async def _follow_alone(self, reader: PlaybookReader, scope: PlaybookScope) -> None:
        lock = await asyncio.to_thread(exclusive, self._root / _LOCK)
        try:
            # Read with the lock held, so that whoever writes last writes the newest.
            mark = await asyncio.to_thread(self._mark, scope)
            stored = await reader.load(scope)
            newest = await reader.deltas(scope, limit=1)
            now = _Mark(stored.version, stored.digest, newest[0].seq if newest else 0)
            if now == mark or now.seq == 0:
                return
            if now.version < mark.version or now.seq < mark.seq:
                # The store was brought back from a copy: these are files of another history.
                await asyncio.to_thread(self._remove, [name_of(scope)])
                mark = _Mark()
            log = await _log_from(reader, scope, mark.version)
            await asyncio.to_thread(self._write_log, scope, log)
            if mark.version == 0 or any(record.kind not in _NOT_OF_THE_ARCHIVE for record in log):
                archived = await reader.archived(scope, limit=MOST_ARCHIVED)
                path = self._root / "archive" / name_of(scope) / "bullets.jsonl"
                await asyncio.to_thread(write_if_new, path, _lines(archived))
            await asyncio.to_thread(self._write_current, scope, stored, now)
        finally:
            lock.close()

    def _write_log(self, scope: PlaybookScope, log: Iterable[DeltaRecord]) -> None:
        deltas = self._root / "deltas" / name_of(scope)
        for version, records in groupby(log, key=lambda record: record.version):
            write_if_new(deltas / f"{version:08d}.jsonl", _lines(records))
        for old in sorted(deltas.glob("*.jsonl"))[:-KEPT_VERSIONS]:
            old.unlink()

    def _write_current(self, scope: PlaybookScope, stored: StoredPlaybook, now: _Mark) -> None:
        name = name_of(scope)
        current = self._root / "current" / name
        write_if_new(current / "playbook.md", write(stored.playbook, Form.MARKDOWN))
        whole = {**now._asdict(), **stored.playbook.to_dict()}
        text = json.dumps(whole, ensure_ascii=False, indent=1)
        write_if_new(current / "playbook.json", text + "\n")

    def _mark(self, scope: PlaybookScope) -> _Mark:
        """How far the files are; from nowhere if that cannot be told."""
        path = self._root / "current" / name_of(scope) / "playbook.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            return _Mark(int(found["version"]), str(found["digest"]), int(found["seq"]))
        except FileNotFoundError:
            return _Mark()
        except (ValueError, KeyError, TypeError):
            _log.warning("playbook_file_unreadable file=%s", path)
            return _Mark()

    def _remove_own(self, tenant: Tenant) -> None:
        with exclusive(self._root / _LOCK):
            self._remove(directories_of(self._root, tenant))

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            # The mark goes first: without it everything is written anew.
            for part in ("current", "deltas", "archive"):
                remove_tree(self._root / part / name)


async def _log_from(
    reader: PlaybookReader, scope: PlaybookScope, version: int
) -> list[DeltaRecord]:
    """The records of the versions from `version` on, oldest first; of too many the newest."""
    records: list[DeltaRecord] = []
    before: int | None = None
    while page := await reader.deltas(scope, limit=_PAGES[before is not None], before=before):
        records += [record for record in page if record.version >= version]
        before = page[-1].seq
        if page[-1].version < version:
            break
        if len(records) >= MOST_RECORDS:
            # The oldest version among these may be half of one.
            whole = [record for record in records if record.version > records[-1].version]
            records = whole or records
            break
    return records[::-1]


def _lines(records: Iterable[DeltaRecord]) -> str:
    return "".join(f"{encode(record)}\n" for record in records)
