"""What the lab offers: evaluations, and learning from a data set."""

from collections.abc import Sequence
from typing import Final

_COMMANDS: Final = {"": ("acc_ace.ext.lab.commands", "acc_ace.ext.lab.dialogues.commands")}


class LabEntry:
    """The hook `commands`."""

    builds_on = ("embedded",)

    def commands(self, group: str) -> Sequence[str]:
        """`learn` and `eval`."""
        return _COMMANDS.get(group, ())


ENTRY: Final = LabEntry()
