"""The newest playbooks of a process, so that using one does not mean reading all of its rows."""

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple, Self

from acc_ace.playbook.playbook_versions import Pieces, digest_of, pieces_after, pieces_of
from acc_ace.schemas.base import PlaybookScope
from acc_ace.schemas.playbook import DeltaRecord, Playbook, StoredPlaybook

_MOST_SCOPES = 64
_MOST_BULLETS = 50_000
"""All remembered playbooks together; the newest one is remembered however large it is."""


class CachedPlaybook(NamedTuple):
    """A playbook as the store held it, and the pieces that its digest is made of."""

    playbook_id: int
    stored: StoredPlaybook
    pieces: Pieces

    @classmethod
    def of(cls, playbook_id: int, version: int, playbook: Playbook) -> Self:
        """A version of a playbook."""
        return cls._made(playbook_id, version, playbook, pieces_of(playbook))

    def after(
        self, playbook_id: int, version: int, playbook: Playbook, records: Iterable[DeltaRecord]
    ) -> Self:
        """The version that records lead to, at the cost of what they change."""
        return self._made(
            playbook_id, version, playbook, pieces_after(self.pieces, playbook, records)
        )

    @classmethod
    def _made(cls, playbook_id: int, version: int, playbook: Playbook, pieces: Pieces) -> Self:
        # Its parts were validated when they were made; doing it again would cost more than all
        # the rest of a commit.
        stored = StoredPlaybook.model_construct(
            version=version, digest=digest_of(pieces), playbook=playbook
        )
        return cls(playbook_id, stored, pieces)

    @property
    def playbook(self) -> Playbook:
        """The playbook itself."""
        return self.stored.playbook


class PlaybookCache:
    """Playbooks by scope, the one used longest ago leaves first. For any thread.

    Whoever asks compares id, version and digest with the database: another process may have
    written, or a transaction may not have been committed.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[PlaybookScope, CachedPlaybook] = OrderedDict()
        self._bullets = 0
        self._mutex = threading.Lock()

    def get(self, scope: PlaybookScope) -> CachedPlaybook | None:
        """What is remembered."""
        with self._mutex:
            known = self._known.get(scope)
            if known is not None:
                self._known.move_to_end(scope)
            return known

    def put(self, scope: PlaybookScope, known: CachedPlaybook) -> None:
        """Remember, and forget what is too much."""
        with self._mutex:
            self._drop(scope)
            self._known[scope] = known
            self._bullets += len(known.pieces)
            while len(self._known) > 1 and (
                len(self._known) > _MOST_SCOPES or self._bullets > _MOST_BULLETS
            ):
                self._drop(next(iter(self._known)))

    def clear(self) -> None:
        """Forget everything."""
        with self._mutex:
            self._known.clear()
            self._bullets = 0

    def _drop(self, scope: PlaybookScope) -> None:
        known = self._known.pop(scope, None)
        if known is not None:
            self._bullets -= len(known.pieces)
