"""An LRU cache of the process's newest playbooks, which saves reading all of their rows."""

import threading
from collections import OrderedDict
from typing import NamedTuple, Self

from acc_ace.core.playbook.playbook_versions import Pieces, digest_of, pieces_of
from acc_ace.core.schemas.base import PlaybookScope
from acc_ace.core.schemas.playbook import Playbook, StoredPlaybook

_MAX_SCOPES = 64
_MAX_BULLETS = 50_000
"""In all cached playbooks together; the newest one is cached whatever its size."""


class CachedPlaybook(NamedTuple):
    """A stored playbook, and the pieces of its digest."""

    playbook_id: int
    stored: StoredPlaybook
    pieces: Pieces

    @classmethod
    def of(cls, playbook_id: int, version: int, playbook: Playbook) -> Self:
        """Cache entry of a version."""
        return cls._made(playbook_id, version, playbook, pieces_of(playbook))

    def after(self, playbook_id: int, version: int, playbook: Playbook) -> Self:
        """A later version; only the bullets that differ are serialised."""
        return self._made(playbook_id, version, playbook, pieces_of(playbook, self.pieces))

    @classmethod
    def _made(cls, playbook_id: int, version: int, playbook: Playbook, pieces: Pieces) -> Self:
        # Its parts are validated already; validating again would cost more than the rest of a
        # commit.
        stored = StoredPlaybook.model_construct(
            version=version, digest=digest_of(pieces), playbook=playbook
        )
        return cls(playbook_id, stored, pieces)

    @property
    def playbook(self) -> Playbook:
        """The playbook itself."""
        return self.stored.playbook


class PlaybookCache:
    """LRU cache of playbooks by scope. Thread-safe.

    Callers validate id, version and digest against the database: another process may have
    written, or a transaction may have been rolled back.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[PlaybookScope, CachedPlaybook] = OrderedDict()
        self._bullets = 0
        self._mutex = threading.Lock()

    def get(self, scope: PlaybookScope) -> CachedPlaybook | None:
        """The cached playbook, or None."""
        with self._mutex:
            known = self._known.get(scope)
            if known is not None:
                self._known.move_to_end(scope)
            return known

    def put(self, scope: PlaybookScope, known: CachedPlaybook) -> None:
        """Cache a playbook and evict the least recently used."""
        with self._mutex:
            self._drop(scope)
            self._known[scope] = known
            self._bullets += len(known.pieces)
            while len(self._known) > 1 and (
                len(self._known) > _MAX_SCOPES or self._bullets > _MAX_BULLETS
            ):
                self._drop(next(iter(self._known)))

    def clear(self) -> None:
        """Empty the cache."""
        with self._mutex:
            self._known.clear()
            self._bullets = 0

    def _drop(self, scope: PlaybookScope) -> None:
        known = self._known.pop(scope, None)
        if known is not None:
            self._bullets -= len(known.pieces)
