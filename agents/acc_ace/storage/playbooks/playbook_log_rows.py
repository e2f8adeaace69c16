"""The rows of a playbook's delta log, and of its versions."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from acc_ace.core.playbook.delta_log import Entry, not_pending
from acc_ace.core.schemas.delta import PlaybookVersion
from acc_ace.core.schemas.playbook import DeltaRecord
from acc_ace.errors import CorruptStoreError
from acc_ace.storage.playbooks.playbook_rows import (
    NEWEST,
    Head,
)
from acc_ace.storage.sql_rows import Rows, decode, encode, page_size, problem_of


def append_log(rows: Rows, playbook_id: int, entry: Entry) -> None:
    """Append an entry, and close the held records that it decides.

    A decision raises NotFoundError if the record was never held, ConflictError if it was decided.
    """
    rows.many(
        "INSERT INTO playbook_deltas (playbook, seq, version, user_id, kind, status, bullet_id, "
        "merged_into, standing, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                playbook_id,
                record.seq,
                record.version,
                record.user,
                record.kind.value,
                record.status.value,
                record.bullet_id,
                record.merged_into,
                record.seq in entry.standing,
                encode(record),
            )
            for record in entry.records
        ],
    )
    for record in entry.records:
        if record.resolves is not None:
            _decide(rows, playbook_id, record.resolves)


def settle_returned(rows: Rows, playbook_id: int, bullet_ids: Sequence[str]) -> None:
    """Clear the archive flag of restored bullets."""
    rows.many(
        "UPDATE playbook_deltas SET standing = false WHERE playbook = ? AND bullet_id = ? "
        "AND status = 'applied' AND standing",
        [(playbook_id, bullet_id) for bullet_id in bullet_ids],
    )


def read_log(rows: Rows, playbook_id: int, *, after: int, upto: int) -> list[DeltaRecord]:
    """The records of versions after `after`, up to and including `upto`."""
    records = rows.all(
        "SELECT seq, body FROM playbook_deltas WHERE playbook = ? AND version > ? "
        "AND version <= ? ORDER BY seq",
        (playbook_id, after, upto),
    )
    return records_of(records)


def read_page(
    rows: Rows, where: str, values: Sequence[object], *, limit: int, before: int | None
) -> list[DeltaRecord]:
    """A page of the records that match `where`, newest first."""
    records = rows.all(
        f"SELECT seq, body FROM playbook_deltas WHERE {where} AND seq < ? "  # noqa: S608 - constants
        "ORDER BY seq DESC LIMIT ?",
        (*values, NEWEST if before is None else before, page_size(limit)),
    )
    return records_of(records)


def read_history(
    rows: Rows, playbook_id: int, bullet_id: str, *, limit: int, before: int | None
) -> list[DeltaRecord]:
    """A page of the records about a bullet, with those of bullets merged into it, newest first."""
    about = (playbook_id, bullet_id)
    pages = [
        read_page(rows, f"playbook = ? AND {column} = ?", about, limit=limit, before=before)
        for column in ("bullet_id", "merged_into")
    ]
    by_seq = {record.seq: record for page in pages for record in page}
    return [by_seq[seq] for seq in sorted(by_seq, reverse=True)][: page_size(limit)]


def records_of(rows: Iterable[tuple[Any, ...]]) -> list[DeltaRecord]:
    """Rows of (seq, body) as records; raises a CorruptStoreError that names the row."""
    return [decode(DeltaRecord, body, what=f"playbook delta {seq}") for seq, body in rows]


def write_version(
    rows: Rows, head: Head, *, at: datetime, bullets: int, counts: Mapping[str, int]
) -> None:
    """Store a version's metadata: digest, time, number of bullets, and counts of operations."""
    rows.run(
        "INSERT INTO playbook_versions (playbook, version, digest, created_at, bullets, counts) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (head.id, head.version, head.digest, at.isoformat(), bullets, json.dumps(counts)),
    )


def read_versions(
    rows: Rows, playbook_id: int, *, limit: int, before: int | None
) -> list[PlaybookVersion]:
    """A page of the versions, newest first; raises CorruptStoreError."""
    records = rows.all(
        "SELECT version, digest, created_at, bullets, counts FROM playbook_versions "
        "WHERE playbook = ? AND version < ? ORDER BY version DESC LIMIT ?",
        (playbook_id, NEWEST if before is None else before, page_size(limit)),
    )
    try:
        return [
            PlaybookVersion(
                version=version, digest=digest, at=at, bullets=bullets, counts=json.loads(counts)
            )
            for version, digest, at, bullets, counts in records
        ]
    except ValueError as error:
        raise CorruptStoreError(
            f"playbook versions cannot be read: {problem_of(error)}"
        ) from None  # Its trace would show the content.


def digest_of_version(rows: Rows, playbook_id: int, version: int) -> str | None:
    """The stored digest of a version, or None."""
    records = rows.all(
        "SELECT digest FROM playbook_versions WHERE playbook = ? AND version = ?",
        (playbook_id, version),
    )
    return records[0][0] if records else None


def _decide(rows: Rows, playbook_id: int, seq: int) -> None:
    """Mark a held record as decided."""
    changed = rows.run(
        "UPDATE playbook_deltas SET standing = false WHERE playbook = ? AND seq = ? "
        "AND status = 'held' AND standing",
        (playbook_id, seq),
    )
    if changed:
        return
    records = rows.all(
        "SELECT 1 FROM playbook_deltas WHERE playbook = ? AND seq = ? AND status = 'held'",
        (playbook_id, seq),
    )
    raise not_pending(seq, was_held=bool(records))


def read_fates(
    rows: Rows, playbook_id: int, bullet_ids: Sequence[str], *, upto: int
) -> dict[str, DeltaRecord]:
    """The newest applied record of each bullet up to a version: how it was removed."""
    fates: dict[str, DeltaRecord] = {}
    for bullet_id in bullet_ids:
        records = rows.all(
            "SELECT seq, body FROM playbook_deltas WHERE playbook = ? AND bullet_id = ? "
            "AND status = 'applied' AND version <= ? ORDER BY seq DESC LIMIT 1",
            (playbook_id, bullet_id, upto),
        )
        fates.update((bullet_id, record) for record in records_of(records))
    return fates


def read_redirect(rows: Rows, playbook_id: int, bullet_id: str) -> str | None:
    """The bullet that a removed one was merged into, if its newest record is a merge."""
    fate = rows.one(
        "SELECT merged_into FROM playbook_deltas WHERE playbook = ? AND bullet_id = ? "
        "AND status = 'applied' ORDER BY seq DESC LIMIT 1",
        (playbook_id, bullet_id),
    )
    merged_into: str | None = fate[0] if fate else None
    return merged_into
