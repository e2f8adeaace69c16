"""The digest of what a playbook says, at a cost of what changed.

The content is the canonical JSON of the playbook without where its lessons came from, so that
erasing a user changes no digest; and with the lowest counter of ids that its bullets allow. The
true counter only grows: a rollback restores the digest of its target, yet gives no id twice.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from acc_ace.schemas.base import SCHEMA_VERSION
from acc_ace.schemas.bullet import id_number
from acc_ace.schemas.delta import DeltaStatus
from acc_ace.schemas.playbook import Bullet, DeltaRecord, Playbook


class Piece(NamedTuple):
    """A bullet's canonical JSON, beside the very value that it was made of."""

    bullet: Bullet
    text: bytes
    number: int


Pieces = Mapping[str, Piece]
"""The pieces of a playbook by bullet id, in order."""

_NONE: Pieces = {}


def pieces_of(playbook: Playbook, known: Pieces = _NONE) -> Pieces:
    """The canonical JSON of each bullet; taken from `known` where the bullet is the same value."""
    pieces: dict[str, Piece] = {}
    for bullet in playbook.bullets:
        piece = known.get(bullet.id)
        if piece is None or piece.bullet is not bullet:
            piece = Piece(bullet, _canonical(bullet), id_number(bullet.id))
        pieces[bullet.id] = piece
    return pieces


def pieces_after(pieces: Pieces, playbook: Playbook, records: Iterable[DeltaRecord]) -> Pieces:
    """The pieces of a playbook that records led to, from those of the one before."""
    changed = dict(pieces)
    for record in records:
        if record.status is not DeltaStatus.APPLIED:
            continue
        if record.order is not None:
            return pieces_of(playbook, changed)
        if record.after is not None:
            bullet = record.after
            changed[bullet.id] = Piece(bullet, _canonical(bullet), id_number(bullet.id))
        elif record.bullet_id is not None:
            changed.pop(record.bullet_id, None)
    return changed


def digest_of(pieces: Pieces) -> str:
    """SHA-256, in hex, of the content that the pieces make up."""
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
