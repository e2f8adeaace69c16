"""Playbooks as files for people and other programs: an export that is never read back.

    playbook/current/NAME/playbook.json, playbook.md    the newest version
    playbook/deltas/NAME/00000012.jsonl                 the records of a version, one a line
    playbook/archive/NAME/bullets.jsonl                 archived bullets, newest first
    playbook/archive/NAME/sections.md                   sections beyond the newest ones

NAME is the app, with '+user' for a user's own playbook. Files are written in the background,
debounced over commits, and when the store is closed. Each is written to a temporary file and
renamed, `playbook.json` last, so readers see whole files. After a crash, the next process that
reads the playbook catches up.
"""

import asyncio
import json
import logging
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from acc_ace.core.playbook.playbook_form import Form
from acc_ace.core.playbook.playbook_store import PlaybookReader
from acc_ace.core.schemas.base import PlaybookScope
from acc_ace.core.schemas.delta import DeltaKind
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from acc_ace.errors import AccAceError
from acc_ace.ext.playbook_files.forms import write
from acc_ace.storage.playbooks.export_folders import (
    LOCK,
    exclusive,
    name_of,
    remove_files,
    write_if_new,
)
from acc_ace.storage.sql_rows import encode

KEPT_VERSIONS = 512
"""Newest versions whose records are exported; the store has all of them."""

MAX_SECTIONS = 50
"""Newest sections that are exported, unless the setting playbook_max_sections says otherwise."""

MAX_ARCHIVED = 1_000
MAX_RECORDS = 50_000
"""Maximum records of one catch-up."""

DELAY_S = 1.0
"""Maximum delay of the files behind the playbook, while the process runs."""

_PAGES = (64, 1_000)
"""Page sizes of records: the first page, which is usually enough, and later ones."""

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
"""Kinds that move no bullet into or out of the archive."""

_KNOWN_SCOPES = 4_096
_log = logging.getLogger(__name__)


class _Mark(NamedTuple):
    """Progress of the files: the version, its digest, and the log's last record."""

    version: int = 0
    digest: str = ""
    seq: int = 0


class PlaybookFiles:
    """A PlaybookObserver that writes files under a directory. A failure is a warning."""

    def __init__(
        self, directory: Path, *, delay_s: float = DELAY_S, max_sections: int = MAX_SECTIONS
    ) -> None:
        """`current` shows the `max_sections` sections that were changed last."""
        self._root, self._delay_s, self._max_sections = directory, delay_s, max_sections
        self._seen: dict[PlaybookScope, None] = {}
        self._due: dict[PlaybookScope, PlaybookReader] = {}
        self._writing: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def opened(self, reader: PlaybookReader, scope: PlaybookScope) -> None:
        """Schedule a catch-up when this process first reads the playbook."""
        if scope not in self._seen:
            if len(self._seen) >= _KNOWN_SCOPES:
                self._seen.clear()
            self.changed(reader, scope)

    def changed(self, reader: PlaybookReader, scope: PlaybookScope) -> None:
        """Schedule a write of the newest version."""
        self._seen[scope] = None
        self._due[scope] = reader
        if not self._is_writing():
            self._closing = asyncio.Event()
            self._writing = asyncio.create_task(self._write_later())

    async def settle(self) -> None:
        """Write all due files now."""
        if self._writing is not None and self._is_writing():
            self._closing.set()
            await asyncio.wait([self._writing])
        await self._write_due()

    def _is_writing(self) -> bool:
        """Whether a task of this event loop will write; other loops run in other threads."""
        task = self._writing
        return (
            task is not None and not task.done() and task.get_loop() is asyncio.get_running_loop()
        )

    async def _write_later(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), self._delay_s)
        await self._write_due()

    async def _write_due(self) -> None:
        while self._due:
            scope, reader = self._due.popitem()
            try:
                await self._follow(reader, scope)
            except (AccAceError, OSError) as error:
                _log.warning(
                    "playbook_files_behind directory=%s playbook=%s: %s",
                    *(self._root, name_of(scope), error),
                )

    async def _follow(self, reader: PlaybookReader, scope: PlaybookScope) -> None:
        lock = await asyncio.to_thread(exclusive, self._root / LOCK)
        try:
            # Read under the lock, so that the last writer writes the newest version.
            mark = await asyncio.to_thread(self._mark, scope)
            stored = await reader.load(scope)
            newest = await reader.deltas(scope, limit=1)
            now = _Mark(stored.version, stored.digest, newest[0].seq if newest else 0)
            if now == mark or now.seq == 0:
                return
            if now.version < mark.version or now.seq < mark.seq:
                # The store was restored from a backup: these files are of another history.
                await asyncio.to_thread(remove_files, self._root, [name_of(scope)])
                mark = _Mark()
            log = await _log_from(reader, scope, mark.version)
            await asyncio.to_thread(self._write_log, scope, log)
            if mark.version == 0 or any(record.kind not in _NOT_OF_THE_ARCHIVE for record in log):
                archived = await reader.archived(scope, limit=MAX_ARCHIVED)
                path = self._root / "archive" / name_of(scope) / "bullets.jsonl"
                await asyncio.to_thread(write_if_new, path, _lines(archived))
            await asyncio.to_thread(self._write_current, scope, stored, now)
        finally:
            lock.release()

    def _write_log(self, scope: PlaybookScope, log: Iterable[DeltaRecord]) -> None:
        deltas = self._root / "deltas" / name_of(scope)
        for version, records in groupby(log, key=lambda record: record.version):
            write_if_new(deltas / f"{version:08d}.jsonl", _lines(records))
        for old in sorted(deltas.glob("*.jsonl"))[:-KEPT_VERSIONS]:
            old.unlink()

    def _write_current(self, scope: PlaybookScope, stored: StoredPlaybook, now: _Mark) -> None:
        name = name_of(scope)
        current, archive = self._root / "current" / name, self._root / "archive" / name
        shown, older = _parted(stored.playbook, self._max_sections)
        if older.bullets or (archive / "sections.md").exists():
            write_if_new(archive / "sections.md", write(older, Form.MARKDOWN))
        write_if_new(current / "playbook.md", write(shown, Form.MARKDOWN))
        whole = {**now._asdict(), **shown.to_dict()}
        text = json.dumps(whole, ensure_ascii=False, indent=1)
        write_if_new(current / "playbook.json", text + "\n")

    def _mark(self, scope: PlaybookScope) -> _Mark:
        """The progress of the files; zero if it is unknown."""
        path = self._root / "current" / name_of(scope) / "playbook.json"
        try:
            mark = json.loads(path.read_text(encoding="utf-8"))
            return _Mark(int(mark["version"]), str(mark["digest"]), int(mark["seq"]))
        except FileNotFoundError:
            return _Mark()
        except (ValueError, KeyError, TypeError):
            _log.warning("playbook_file_unreadable file=%s", path)
            return _Mark()


def _parted(playbook: Playbook, most: int) -> tuple[Playbook, Playbook]:
    """The `most` sections that were changed last, and the older ones."""
    changed: dict[str, tuple[datetime, int]] = {}
    for at, bullet in enumerate(playbook.bullets):
        own = (bullet.updated_at, at)
        changed[bullet.section] = max(own, changed.get(bullet.section, own))
    newest = set(sorted(changed, key=changed.__getitem__)[-most:])
    shown = tuple(bullet for bullet in playbook.bullets if bullet.section in newest)
    older = tuple(bullet for bullet in playbook.bullets if bullet.section not in newest)
    return (
        playbook.model_copy(update={"bullets": shown}),
        playbook.model_copy(update={"bullets": older}),
    )


async def _log_from(
    reader: PlaybookReader, scope: PlaybookScope, version: int
) -> list[DeltaRecord]:
    """Records from `version` on, oldest first; only the newest if there are too many."""
    records: list[DeltaRecord] = []
    before: int | None = None
    while page := await reader.deltas(scope, limit=_PAGES[before is not None], before=before):
        records += [record for record in page if record.version >= version]
        before = page[-1].seq
        if page[-1].version < version:
            break
        if len(records) >= MAX_RECORDS:
            # The oldest version among these may be incomplete.
            whole = [record for record in records if record.version > records[-1].version]
            records = whole or records
            break
    return records[::-1]


def _lines(records: Iterable[DeltaRecord]) -> str:
    return "".join(f"{encode(record)}\n" for record in records)
