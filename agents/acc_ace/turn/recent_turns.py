"""A session's turns read backwards, as far as somebody has use for them."""

from collections import deque

from acc_ace.schemas.interaction import Interaction, Outcome
from acc_ace.schemas.message import Message
from acc_ace.schemas.tenancy import SessionKey
from acc_ace.strategies.transcript import estimate_message, messages_of
from acc_ace.turn.evidence_store import EvidenceStore

_PAGE = 20


class NewestTurns:
    """The answered turns after one, newest first; goes on where the last reading ended."""

    def __init__(self, evidence: EvidenceStore, key: SessionKey, *, after_turn: int) -> None:
        self._evidence, self._key, self._after = evidence, key, after_turn
        self._found: list[Interaction] = []
        self._ahead: deque[Interaction] = deque()
        self._before: str | None = None
        self._last_page = False
        self.tokens = 0
        """Of what was read, by the estimate."""
        self.all_read = False
        """Whether there is nothing more."""

    async def read(self, tokens: int) -> None:
        """Read on until what is read now exceeds `tokens`: whole turns, at least one.

        Raises StoreError.
        """
        limit = self.tokens + tokens
        while self.tokens <= limit and (turn := await self._next()) is not None:
            if turn.outcome is Outcome.ANSWERED:
                self._found.append(turn)
                self.tokens += sum(map(estimate_message, messages_of([turn])))

    def messages(self) -> list[Message]:
        """The messages of what was read, oldest first."""
        return messages_of(reversed(self._found))

    async def _next(self) -> Interaction | None:
        if not self._ahead and not self._last_page:
            page = await self._evidence.list(self._key, limit=_PAGE, before=self._before)
            self._ahead.extend(page)
            self._last_page = len(page) < _PAGE
            self._before = page[-1].invocation_id if page else None
        if not self._ahead or self._ahead[0].turn <= self._after:
            self.all_read = True
            return None
        return self._ahead.popleft()
