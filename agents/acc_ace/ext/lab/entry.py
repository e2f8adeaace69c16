"""What the lab offers: learning from a data set, and a bench of recall on data of one's own."""

from collections.abc import Sequence
from typing import Final

_COMMANDS: Final = {"": ("acc_ace.ext.lab.commands", "acc_ace.ext.lab.dialogues.commands")}


class LabEntry:
    """The hook `commands`."""

    works_with = ("embedded",)

    def commands(self, group: str) -> Sequence[str]:
        """`learn`, `bench recall` and `eval`."""
        return _COMMANDS.get(group, ())


ENTRY: Final = LabEntry()
