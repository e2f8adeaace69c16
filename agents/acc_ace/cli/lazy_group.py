"""Groups of commands that are imported when they are used."""

from collections.abc import Iterator
from importlib import import_module

from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from acc_ace.hooks import COMMANDS, offering


def lazy_group(*modules: str, group: str | None = None) -> type[TyperGroup]:
    """A command group made of each module's `app`, behind what extensions add to `group`.

    The modules are imported when the group is used, so that other commands start without them.
    """

    class LazyGroup(TyperGroup):
        is_loaded = False

        def list_commands(self, ctx: object) -> list[str]:
            self._load()
            return list(self.commands)

        def get_command(self, ctx: object, cmd_name: str) -> TyperCommand | TyperGroup | None:
            if cmd_name not in self.commands:
                self._load()
            command = self.commands.get(cmd_name)
            return command if isinstance(command, TyperCommand | TyperGroup) else None

        def _load(self) -> None:
            if not self.is_loaded:
                self.is_loaded = True
                for name in (*_added_to(group), *modules):
                    # `get_group` also makes a group of a module with one command.
                    self.commands.update(get_group(import_module(name).app).commands)

    return LazyGroup


def _added_to(group: str | None) -> Iterator[str]:
    if group is not None:
        for entry in offering(COMMANDS):
            yield from entry.commands(group)
