"""Versions, digests and log rows of a playbook, whatever it is kept in."""

import hashlib
from collections.abc import Sequence

from acc_ace.errors import ConflictError, NotFoundError
from acc_ace.playbook.playbook_content import content_digest
from acc_ace.schemas.base import PlaybookScope
from acc_ace.schemas.delta import DeltaStatus
from acc_ace.schemas.playbook import Bullet, DeltaRecord, Playbook, StoredPlaybook


def stored(version: int, playbook: Playbook) -> StoredPlaybook:
    """A playbook with its version and the digest of its content."""
    return StoredPlaybook(version=version, digest=content_digest(playbook), playbook=playbook)


def playbook_digest(playbook: Playbook) -> str:
    """SHA-256 of the whole canonical JSON: the digest that programs before branches stored."""
    return hashlib.sha256(playbook.dumps().encode("utf-8", "surrogatepass")).hexdigest()


def next_version(current: int, records: Sequence[DeltaRecord]) -> int:
    """The version that the records lead to: the current one if none was applied."""
    return current + any(record.status is DeltaStatus.APPLIED for record in records)


def numbered(records: Sequence[DeltaRecord], *, first_seq: int, version: int) -> list[DeltaRecord]:
    """The records with their place in the log."""
    return [
        record.model_copy(update={"seq": seq, "version": version})
        for seq, record in enumerate(records, start=first_seq)
    ]


def without_provenance(record: DeltaRecord) -> DeltaRecord:
    """The record without who, where and when; what was never applied loses its words too."""
    update: dict[str, object] = {"user": "", "session": "", "turn": 0, "job": ""}
    if record.status is not DeltaStatus.APPLIED:
        update |= {"before": None, "after": None, "proposed": None, "operation": None}
    return record.model_copy(update=update)


def without_user(record: DeltaRecord, user: str) -> DeltaRecord:
    """The record without a user: its provenance, and the origin of the bullets around it."""
    own = without_provenance(record) if record.user == user else record
    sides = {
        side: without_origin(bullet, user)
        for side in ("before", "after")
        if (bullet := getattr(own, side)) is not None
    }
    return own.model_copy(update=sides)


def without_origin(bullet: Bullet, user: str) -> Bullet:
    """The bullet, without its origin if that is a turn of the user's."""
    if bullet.origin is None or bullet.origin.user != user:
        return bullet
    return bullet.model_copy(update={"origin": None})


def check_playbook_version(
    scope: PlaybookScope,
    current: int,
    expected: int,
    *,
    advice: str = "load it and apply the operations again",
) -> None:
    """Raise ConflictError, which ends with the advice, unless current is the expected version."""
    if current != expected:
        raise ConflictError(
            f"playbook of {named(scope)} is at version {current}, not {expected}: another commit "
            f"came first; {advice}"
        )


def check_known_version(scope: PlaybookScope, current: int, version: int) -> None:
    """Raise NotFoundError for a version that never was."""
    if not 0 <= version <= current:
        raise NotFoundError(
            f"playbook of {named(scope)} has no version {version}; it has 0 to {current}"
        )


def named(scope: PlaybookScope) -> str:
    """Whose playbook it is, as messages say it."""
    user = f", user {scope.user!r}" if scope.user is not None else ""
    branch = f", branch {scope.branch!r}" if scope.branch else ""
    return f"app {scope.app!r}{user}{branch}"
