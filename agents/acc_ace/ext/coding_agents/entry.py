"""What it offers: `acc-ace hook`."""

from collections.abc import Sequence
from typing import Final


class CodingAgentsEntry:
    """The hook `commands`."""

    builds_on = ("guard",)

    def commands(self, group: str) -> Sequence[str]:
        """`hook`."""
        return ("acc_ace.ext.coding_agents.commands",) if group == "" else ()


ENTRY: Final = CodingAgentsEntry()
