"""Versions, digests and log rows of a playbook, independent of the store.

Digests are incremental: only changed bullets are serialised again.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import NamedTuple

from acc_ace.core.schemas.base import SCHEMA_VERSION, PlaybookScope
from acc_ace.core.schemas.bullet import id_number
from acc_ace.core.schemas.delta import DeltaStatus
from acc_ace.core.schemas.playbook import Bullet, DeltaRecord, Playbook, StoredPlaybook
from acc_ace.errors import ConflictError, NotFoundError


class BulletJson(NamedTuple):
    """A bullet's canonical JSON, with the value it was made from as cache key."""

    bullet: Bullet
    text: bytes
    number: int


Pieces = Mapping[str, BulletJson]
"""The pieces of a playbook by bullet id, in order."""

_NONE: Pieces = {}


def pieces_of(playbook: Playbook, known: Pieces = _NONE) -> Pieces:
    """The canonical JSON of each bullet; reused from `known` if the bullet is identical."""
    pieces: dict[str, BulletJson] = {}
    for bullet in playbook.bullets:
        piece = known.get(bullet.id)
        if piece is None or piece.bullet is not bullet:
            piece = BulletJson(bullet, _canonical(bullet), id_number(bullet.id))
        pieces[bullet.id] = piece
    return pieces


def digest_of(pieces: Pieces) -> str:
    """SHA-256, in hex, of the playbook content in canonical JSON."""
    lowest = 1 + max([piece.number for piece in pieces.values()], default=0)
    content = b",".join([piece.text for piece in pieces.values()])
    digest = hashlib.sha256(b'{"bullets":[')
    digest.update(content)
    digest.update(b'],"next_id":%d,"schema_version":%d}' % (lowest, SCHEMA_VERSION))
    return digest.hexdigest()


def content_digest(playbook: Playbook) -> str:
    """The digest of the content of a playbook."""
    return digest_of(pieces_of(playbook))


def _canonical(bullet: Bullet) -> bytes:
    plain = bullet.model_dump(mode="json", exclude={"origin"})
    text = json.dumps(plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def stored(version: int, playbook: Playbook) -> StoredPlaybook:
    """A playbook with its version and the digest of its content."""
    return StoredPlaybook(version=version, digest=content_digest(playbook), playbook=playbook)


def without_provenance(record: DeltaRecord) -> DeltaRecord:
    """The record without its provenance; one that was not applied loses its texts too."""
    update: dict[str, object] = {"user": "", "session": "", "turn": 0, "job": "", "rationale": ""}
    if record.status is not DeltaStatus.APPLIED:
        update |= {"before": None, "after": None, "proposed": None, "operation": None}
    return record.model_copy(update=update)


def without_user(record: DeltaRecord, user: str) -> DeltaRecord:
    """The record without a user's provenance and bullet origins."""
    own = without_provenance(record) if record.user == user else record
    sides = {
        side: without_origin(bullet, user)
        for side in ("before", "after")
        if (bullet := getattr(own, side)) is not None
    }
    return own.model_copy(update=sides)


def without_origin(bullet: Bullet, user: str) -> Bullet:
    """The bullet without its origin, if that is one of the user's turns."""
    if bullet.origin is None or bullet.origin.user != user:
        return bullet
    return bullet.model_copy(update={"origin": None})


def check_playbook_version(scope: PlaybookScope, current: int, expected: int) -> None:
    """Raise ConflictError unless current is the expected version."""
    if current != expected:
        raise ConflictError(
            f"playbook of {named(scope)} is at version {current}, not {expected}: another commit "
            "came first; load it and apply the operations again"
        )


def check_known_version(scope: PlaybookScope, current: int, version: int) -> None:
    """Raise NotFoundError for an unknown version."""
    if not 0 <= version <= current:
        raise NotFoundError(
            f"playbook of {named(scope)} has no version {version}; it has 0 to {current}"
        )


def named(scope: PlaybookScope) -> str:
    """The playbook's app and user for messages."""
    user = f", user {scope.user!r}" if scope.user is not None else ""
    return f"app {scope.app!r}{user}"
