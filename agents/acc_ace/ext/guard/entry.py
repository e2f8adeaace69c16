"""What the guard offers: each tool call is checked against the rules in force before it runs."""

from typing import Final

from google.adk.models import BaseLlm

from acc_ace.config import GuardMode
from acc_ace.container import Container
from acc_ace.ext.guard.tool_guard import ToolGuard


class ToolGuardEntry:
    """The hook `guard`."""

    def open(self, container: Container, judge: BaseLlm | None, mode: GuardMode) -> ToolGuard:
        """A guard in that mode."""
        return ToolGuard(container, judge, mode=mode)


ENTRY: Final = ToolGuardEntry()
