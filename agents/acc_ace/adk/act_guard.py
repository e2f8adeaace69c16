"""The guard of tool calls as the turn has it: asked before each call, imported at the first one."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, get_args

from google.adk.models import BaseLlm
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from acc_ace.adk.act_reading import read_before_act
from acc_ace.container import Container
from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.core.schemas.report import ReportedCheck
from acc_ace.errors import AccAceError, ConfigError
from acc_ace.hooks import GUARD, ToolGuardPort, absent, is_offered, only
from acc_ace.model_settings import GuardMode
from acc_ace.models.names import has_judge, note_on
from acc_ace.turn.turn_record import TurnRecord

_log = logging.getLogger(__name__)

READ_ONLY: Final = frozenset({"search_evidence", "calculate", "current_time", "read_file"})
"""Our own tools, which change nothing."""

_SILENT: Final = READ_ONLY | {"transfer_to_agent"}
"""Tools of which nothing is said beside a rule."""

_MOST_NOTED: Final = 3
"""Checks of a rule that the answer shows; the others stand at /rules."""


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
        Raises ConfigError for a wrong model or mode, and for a mode asked for that is not there.
        """
        settings = container.settings
        self._container, self._mode = container, settings.guard if mode is None else mode
        if self._mode not in get_args(GuardMode):
            modes = "', '".join(get_args(GuardMode))
            raise ConfigError(f"ACC_ACE_GUARD is {self._mode!r}; use one of '{modes}'")
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
        self._seen: dict[str, BaseTool] = {}
        self.list_tools: Callable[[], Awaitable[list[BaseTool]]] | None = None
        """Lists what the app declares, where that is known before a turn."""

    async def check(
        self, tool: BaseTool, args: Mapping[str, Any], context: ToolContext, record: TurnRecord
    ) -> dict[str, Any] | None:
        """The result to give in place of running the tool; None when it may run."""
        if not self._there:
            return None
        is_on = self._mode != "off"
        if is_on and record.unread and self._open().acts(tool):
            await read_before_act(record)
        # An answer to the guard's question holds even if it was switched off meanwhile.
        is_answered = context.tool_confirmation is not None
        may_ask = record.rules or record.tools.unkept or record.latest.questions or record.unread
        if not (is_answered or (is_on and may_ask)):
            return None
        return await self._open().check(tool, args, context, record)

    def note(self, record: TurnRecord, tools: Mapping[str, BaseTool]) -> None:
        """Say below the answer what the turn's new rules do at the tools of a request."""
        self._seen |= tools
        new = record.entry.diff.constraints_added if record.entry else ()
        for name, checks in self._checks(new, [*tools.values()]).items() if new else ():
            lines = [f"{name}: {check.text}" for check in checks]
            record.add_notes(*lines[:_MOST_NOTED], *(["… /rules"] if lines[_MOST_NOTED:] else []))

    async def checks(self, pins: Sequence[ConstraintPin]) -> Mapping[str, list[ReportedCheck]]:
        """What rules do at the tools of the app, by the rule's id."""
        tools = [*self._seen.values()]
        if self.list_tools is not None and pins:
            try:
                tools = await self.list_tools()
            except (AccAceError, OSError, ValueError):  # A server is away: what is known is shown.
                _log.exception("tools_not_listed")
        return self._checks(pins, tools)

    def _checks(
        self, pins: Sequence[ConstraintPin], tools: Sequence[BaseTool]
    ) -> Mapping[str, list[ReportedCheck]]:
        acting = [tool for tool in tools if tool.name not in _SILENT]
        asks = self._there and self._mode != "off" and (acting or any(pin.checks for pin in pins))
        return self._open().describe(pins, acting) if pins and asks else {}

    def _open(self) -> ToolGuardPort:
        if self._guard is None:
            entry = only(GUARD, "ACC_ACE_GUARD")
            self._guard = entry.open(self._container, self._judge, self._mode)
        return self._guard
