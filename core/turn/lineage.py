"""Which turns a version of a journal stands on: going back and forth leaves several lines."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from core.ports.journal import Journal
from schemas.commit import CommitKind, CommittedState, JournalEntry
from schemas.tenancy import SessionKey

_PAGE = 50


@dataclass(frozen=True)
class Way:
    """The way from one version to another: back to where their lines part, then forth."""

    turn: int
    """The last turn that both stand on; later ones are left."""
    joined: frozenset[int] = frozenset()
    """Versions of the turns that only the other one stands on."""
    history_from: int | None = None
    """The turn of the newest reset of the other one, or 0, when a reset lies on the way."""


async def line(journal: Journal, key: SessionKey, version: int) -> AsyncIterator[JournalEntry]:
    """What led to a version, newest first, its own entry included. Raises StoreError."""
    reading = _Reading(journal, key)
    while (entry := await reading.at(version)) is not None:
        yield entry
        version = await reading.before(entry)


async def way(journal: Journal, key: SessionKey, here: int, there: int) -> Way:
    """The way from a version to another; reads only what lies on it. Raises StoreError.

    Across a reset the line is read on, until the reset before it.
    """
    reading = _Reading(journal, key)
    joined: set[int] = set()
    left_reset, joined_reset = False, None
    # The larger of the two goes back, so each page is read once.
    while here != there and (entry := await reading.at(max(here, there))) is not None:
        resets = await reading.is_reset(entry)
        if here > there:
            left_reset = left_reset or resets
            here = await reading.before(entry)
            continue
        if resets and joined_reset is None:
            joined_reset = entry.state.turn
        joined.add(there)
        there = await reading.before(entry)
    base = await reading.at(min(here, there))
    begin = joined_reset
    if left_reset and begin is None:
        begin = await _last_reset(journal, key, base.state.version) if base else 0
    return Way(base.state.turn if base else 0, frozenset(joined), begin)


async def _last_reset(journal: Journal, key: SessionKey, version: int) -> int:
    reading = _Reading(journal, key)
    async for entry in line(journal, key, version):
        if await reading.is_reset(entry):
            return entry.state.turn
    return 0


async def is_reset(journal: Journal, key: SessionKey, entry: JournalEntry) -> bool:
    """Whether an entry emptied the state and left its turns as they were. Raises StoreError."""
    return await _Reading(journal, key).is_reset(entry)


class _Reading:
    """Reads a journal backwards, a page at a time."""

    def __init__(self, journal: Journal, key: SessionKey) -> None:
        self._journal, self._key = journal, key
        self._page: dict[int, JournalEntry] = {}

    async def at(self, version: int) -> JournalEntry | None:
        """The entry of a version; None for 0, which is before the first one."""
        if version < 1:
            return None
        if version not in self._page:
            page = await self._journal.history(self._key, limit=_PAGE, before_version=version + 1)
            self._page = {entry.state.version: entry for entry in page}
        return self._page.get(version)

    async def before(self, entry: JournalEntry) -> int:
        """The version whose turns an entry went on from, or stands on again."""
        version = entry.state.version
        if entry.follows is not None:
            return entry.follows
        if entry.kind is CommitKind.ABORT:
            # It follows the version that it takes back.
            return version - 2
        if entry.kind is CommitKind.ROLLBACK and not await self.is_reset(entry):
            return await self._source(entry)
        return version - 1

    async def is_reset(self, entry: JournalEntry) -> bool:
        """Whether an entry emptied the state and left its turns as they were."""
        if entry.kind is not CommitKind.ROLLBACK or entry.follows is not None:
            return False
        earlier = await self.at(entry.state.version - 1)
        return (
            earlier is not None
            and earlier.state.turn == entry.state.turn
            and _content(entry.state) == CommittedState(turn=entry.state.turn)
        )

    async def _source(self, entry: JournalEntry) -> int:
        """What an entry went back to, of before that was noted: the newest of the same content."""
        for version in range(entry.state.version - 1, 0, -1):
            earlier = await self.at(version)
            if earlier is not None and _content(earlier.state) == _content(entry.state):
                return version
        return 0


def _content(state: CommittedState) -> CommittedState:
    return state.model_copy(update={"version": 0, "next_pin": 1})
