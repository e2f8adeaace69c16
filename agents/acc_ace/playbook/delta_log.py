"""What a whole delta log, oldest record first, says about bullets and operations."""

from collections import Counter
from collections.abc import Sequence

from acc_ace.errors import ConflictError, NotFoundError
from acc_ace.schemas.delta import DeltaKind, DeltaStatus
from acc_ace.schemas.playbook import DeltaRecord, StoredPlaybook
from acc_ace.schemas.playbook_version import PlaybookVersion


def held_in(log: Sequence[DeltaRecord]) -> list[DeltaRecord]:
    """The held operations that nobody decided. One whose words were erased cannot be decided."""
    decided = {record.resolves for record in log}
    return [
        record
        for record in log
        if record.status is DeltaStatus.HELD and record.seq not in decided and not _erased(record)
    ]


def archived_in(log: Sequence[DeltaRecord]) -> list[DeltaRecord]:
    """The records that archived a bullet which did not come back."""
    last = {record.bullet_id: record for record in log if _applied(record)}
    found = [record for record in last.values() if archives(record)]
    return sorted(found, key=lambda record: record.seq)


def archives(record: DeltaRecord) -> bool:
    """Whether a record took a bullet out and into the archive."""
    return _applied(record) and record.kind is DeltaKind.ARCHIVE and record.after is None


def fates_at(log: Sequence[DeltaRecord], version: int) -> dict[str, DeltaRecord]:
    """For every bullet, the newest applied record up to a version."""
    return {
        record.bullet_id: record
        for record in log
        if _applied(record) and record.version <= version and record.bullet_id is not None
    }


def redirect_in(log: Sequence[DeltaRecord], bullet_id: str, *, upto: int) -> DeltaRecord | None:
    """The newest word on a bullet, if there is any."""
    return fates_at(log, upto).get(bullet_id)


def check_decisions(log: Sequence[DeltaRecord], records: Sequence[DeltaRecord]) -> None:
    """Raise NotFoundError or ConflictError for a decision on what is not held, or not any more."""
    held = {record.seq for record in log if record.status is DeltaStatus.HELD}
    undecided = {record.seq for record in held_in(log)}
    for record in records:
        seq = record.resolves
        if seq is None:
            continue
        if seq not in undecided:
            raise not_undecided(seq, was_held=seq in held)
        undecided.discard(seq)


def not_undecided(seq: int, *, was_held: bool) -> ConflictError | NotFoundError:
    """The error for a decision on an operation that waits for none."""
    if was_held:
        return ConflictError(f"held operation {seq} was decided already")
    return NotFoundError(f"no held operation {seq} in this playbook")


def counts_of(records: Sequence[DeltaRecord]) -> dict[str, int]:
    """How many of the records were applied, by kind."""
    return dict(Counter(record.kind.value for record in records if _applied(record)))


def version_of(stored: StoredPlaybook, records: Sequence[DeltaRecord]) -> PlaybookVersion:
    """The version that records led to."""
    return PlaybookVersion(
        version=stored.version,
        digest=stored.digest,
        at=max(record.created_at for record in records if _applied(record)),
        bullets=len(stored.playbook.bullets),
        counts=counts_of(records),
    )


def _applied(record: DeltaRecord) -> bool:
    return record.status is DeltaStatus.APPLIED


def _erased(record: DeltaRecord) -> bool:
    return not record.user and record.operation is None and record.proposed is None
