"""Groups of commands whose modules are imported when one of them is asked for.

So `acc-ace --help` and other commands start without them.
"""

from importlib import import_module

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group


def commands() -> typer.Typer:
    """An empty list of commands. Plain help takes half the time to start."""
    return typer.Typer(rich_markup_mode=None)


def lazy_group(*modules: str) -> type[TyperGroup]:
    """A group of the commands of each module's `app`, in that order."""

    class LazyGroup(TyperGroup):
        def list_commands(self, ctx: object) -> list[str]:
            self._load()
            return list(self.commands)

        def get_command(self, ctx: object, cmd_name: str) -> TyperCommand | TyperGroup | None:
            self._load()
            found = self.commands.get(cmd_name)
            return found if isinstance(found, TyperCommand | TyperGroup) else None

        def _load(self) -> None:
            if not self.commands:
                for name in modules:
                    # A module with one command is a group as well.
                    self.commands.update(get_group(import_module(name).app).commands)

    return LazyGroup
