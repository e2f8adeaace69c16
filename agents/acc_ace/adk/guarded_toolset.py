"""A toolset that cannot be reached costs its tools and a warning, not the turn."""

import logging

from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset

from acc_ace.schemas.base import SessionKey
from acc_ace.turn.turn_record import TurnRecords

logger = logging.getLogger(__name__)


class GuardedToolset(BaseToolset):
    """Lists another toolset's tools; none, with a warning of the turn, when listing fails."""

    def __init__(self, inner: BaseToolset, name: str, records: TurnRecords) -> None:
        super().__init__()
        self._inner, self._name, self._records = inner, name, records

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """The tools with their prefix, or none."""
        try:
            return await self._inner.get_tools_with_prefix(readonly_context)
        except Exception as error:  # noqa: BLE001 - a server may fail in any way; see below
            # ADK would drop the toolset with a traceback and say nothing to the user.
            logger.warning("toolset_unreachable toolset=%s %s", self._name, type(error).__name__)
            self._warn(readonly_context)
            return []

    async def close(self) -> None:
        """Close the other toolset."""
        await self._inner.close()

    def _warn(self, context: ReadonlyContext | None) -> None:
        if context is None:
            return
        session = context.session
        record = self._records.get(SessionKey(session.app_name, session.user_id, session.id))
        record.warn(f"tools of '{self._name}' cannot be reached; answered without them")
