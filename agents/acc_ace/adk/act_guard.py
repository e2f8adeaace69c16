"""The guard of tool calls as the turn has it: asked before each call, imported at the first one."""

import logging
from collections.abc import Mapping
from typing import Any

from google.adk.models import BaseLlm
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from acc_ace.container import Container
from acc_ace.hooks import GUARD, ToolGuardPort, absent, is_offered, only
from acc_ace.model_settings import GuardMode
from acc_ace.models.names import has_judge, note_on
from acc_ace.turn.turn_record import TurnRecord

_log = logging.getLogger(__name__)


def build_judge(container: Container) -> BaseLlm | None:
    """The model that judges calls, where one is configured. Raises ConfigError for a wrong name."""
    settings = container.settings
    return container.parts.build_model("guard", settings) if has_judge(settings) else None


class ActGuard:
    """Asks the guard where it may have something to say; without the extension nothing guards."""

    def __init__(
        self,
        container: Container,
        judge: BaseLlm | None = None,
        *,
        compressor: BaseLlm | None = None,
        mode: GuardMode | None = None,
    ) -> None:
        """`judge` replaces the model of the settings, `mode` their ACC_ACE_GUARD.

        Without either, `compressor` judges, unless it is one of our own models.
        Raises ConfigError for a wrong model, and for a mode that was asked for and is not there.
        """
        settings = container.settings
        self._container, self._mode = container, mode or settings.guard
        self._there = is_offered(GUARD)
        if not self._there and self._mode != "off":
            if mode is not None or "guard" in settings.model_fields_set:
                raise absent(GUARD, f"ACC_ACE_GUARD={self._mode}")
            _log.warning("guard_missing tool calls are not checked against the rules")
        is_on = self._there and self._mode != "off"
        self.model = judge or (build_judge(container) if is_on else None)
        can_judge = compressor is not None and not note_on(compressor.model)
        is_own = bool(settings.guard_model.model)
        self._judge = self.model or (compressor if can_judge and not is_own else None)
        self._guard: ToolGuardPort | None = None

    async def check(
        self, tool: BaseTool, args: Mapping[str, Any], context: ToolContext, record: TurnRecord
    ) -> dict[str, Any] | None:
        """The result to give in place of running the tool; None when it may run."""
        # An answer to the guard's question holds even if it was switched off meanwhile.
        is_answered = context.tool_confirmation is not None
        asks = is_answered or (self._mode != "off" and bool(record.rules))
        if not self._there or not asks:
            return None
        if self._guard is None:
            entry = only(GUARD, "ACC_ACE_GUARD")
            self._guard = entry.open(self._container, self._judge, self._mode)
        return await self._guard.check(tool, args, context, record)
