"""Evidence in memory, for tests and for `store=memory`."""

from collections.abc import Sequence

from schemas.interaction import Interaction, Outcome
from schemas.tenancy import SessionKey, Tenant


class InMemoryEvidenceStore:
    """An EvidenceStore that forgets at exit."""

    def __init__(self) -> None:
        self._sessions: dict[SessionKey, dict[str, Interaction]] = {}

    async def record(self, key: SessionKey, interaction: Interaction) -> None:
        """Store an interaction; the same (session, invocation_id) again replaces it."""
        self._sessions.setdefault(key, {})[interaction.invocation_id] = interaction

    async def last(self, key: SessionKey) -> Interaction | None:
        """The newest interaction that was answered and not undone, or None."""
        answered = (item for item in self._newest(key) if item.outcome is Outcome.ANSWERED)
        return next(answered, None)

    async def find(self, key: SessionKey, invocation_id: str) -> Interaction | None:
        """The interaction of an invocation, or None."""
        return self._sessions.get(key, {}).get(invocation_id)

    async def list(
        self,
        key: SessionKey,
        *,
        limit: int = 50,
        before_turn: int | None = None,
        before: str | None = None,
    ) -> Sequence[Interaction]:
        """A page of interactions, newest first, at most `limit`."""
        newest = self._newest(key)
        if before is not None:
            names = [item.invocation_id for item in newest]
            newest = newest[names.index(before) + 1 :] if before in names else []
        return [i for i in newest if before_turn is None or i.turn < before_turn][: max(limit, 0)]

    async def mark_undone(self, key: SessionKey, after_turn: int) -> int:
        """Mark the answered interactions of turns later than `after_turn` UNDONE; how many."""
        session = self._sessions.get(key, {})
        marked = [
            item
            for item in session.values()
            if item.turn > after_turn and item.outcome is Outcome.ANSWERED
        ]
        for item in marked:
            session[item.invocation_id] = item.model_copy(update={"outcome": Outcome.UNDONE})
        return len(marked)

    def tenants(self) -> set[Tenant]:
        """The users that something is kept of."""
        return {key.tenant for key in self._sessions}

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the tenant's interactions (of one session); how many."""
        doomed = [
            key for key in self._sessions if key.tenant == tenant and session in (None, key.session)
        ]
        return sum(len(self._sessions.pop(key)) for key in doomed)

    def _newest(self, key: SessionKey) -> Sequence[Interaction]:
        recorded = self._sessions.get(key, {}).values()
        ordered = sorted(enumerate(recorded), key=lambda item: (item[1].turn, item[0]))
        return [interaction for _, interaction in reversed(ordered)]
