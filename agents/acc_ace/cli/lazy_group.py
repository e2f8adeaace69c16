"""Groups of commands that are imported when they are used."""

from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from itertools import chain

from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from acc_ace.hooks import COMMANDS, offering


def lazy_group(*modules: str, group: str | None = None) -> type[TyperGroup]:
    """A command group made of each module's `app`, behind what extensions add to `group`.

    The modules are imported when the group is used, so that other commands start without them.
    """

    class LazyGroup(TyperGroup):
        @cached_property
        def waiting(self) -> Iterator[str]:
            """The modules that are not imported yet."""
            return chain(_added_to(group), modules)

        def list_commands(self, ctx: object) -> list[str]:
            self._load()
            return list(self.commands)

        def get_command(self, ctx: object, cmd_name: str) -> TyperCommand | TyperGroup | None:
            self._load(cmd_name)
            command = self.commands.get(cmd_name)
            return command if isinstance(command, TyperCommand | TyperGroup) else None

        def _load(self, wanted: str = "") -> None:
            """Import the modules up to the one with the command that is wanted, or all."""
            while wanted not in self.commands and (name := next(self.waiting, "")):
                # `get_group` also makes a group of a module with one command.
                self.commands.update(get_group(import_module(name).app).commands)

    return LazyGroup


def _added_to(group: str | None) -> Iterator[str]:
    if group is not None:
        for entry in offering(COMMANDS):
            yield from entry.commands(group)
